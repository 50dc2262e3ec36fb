//! What a report says in words, the same as text and as a page.

use waitroom::Timestamp;

use super::event::{EventReport, ReportRange};
use crate::plot::thousands;
use crate::wording::time;

impl EventReport {
    /// What the report is about, in a sentence.
    pub(super) fn about(&self) -> String {
        let range = match self.range {
            _ if self.is_empty() => "Nobody came",
            ReportRange::LastEvent => "The last event",
            ReportRange::Since => "What happened",
            ReportRange::Kept => "What the room has kept",
        };
        format!("{range}, from {} to {}.", self.from, self.to)
    }

    /// The facts, with what they are called.
    pub(super) fn facts(&self) -> Vec<(String, String)> {
        let summary = &self.summary;
        let about = if self.rough { "about " } else { "" };
        let at = |at: Option<Timestamp>| at.map(|at| format!(" at {}", self.clock(at))).unwrap_or_default();
        let wait = summary.longest_wait.map_or("none".into(), time);
        let drained = match (summary.drained_at, summary.longest_line) {
            (_, 0) => "nobody waited".into(),
            (Some(at), _) => self.clock(at),
            (None, _) => "not yet".into(),
        };
        let minutes = match summary.throttled_minutes {
            0 => "never".into(),
            1 => "1 minute".into(),
            minutes => format!("{minutes} minutes"),
        };
        let mut facts = vec![
            ("joined", format!("{about}{}", number(summary.joined))),
            ("released", number(summary.released)),
            ("came for pass", summary.entered.map_or("not counted".into(), number)),
            (
                "longest line",
                format!("{about}{}{}", number(summary.longest_line), at(summary.longest_line_at)),
            ),
            ("longest wait", format!("{wait}{}", at(summary.longest_wait_at))),
            ("line empty", drained),
            ("throttled", minutes),
            ("orders", number(summary.orders)),
        ];
        if self.rough {
            facts.push(("alarms", number(summary.alarms)));
        }
        facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// What a reader must know of the numbers.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "Times are UTC. A minute is named by when it ended. The middle wait is an estimate: it takes it that nobody \
             overtakes, and that within a minute visitors come and go evenly."
                .to_owned(),
        ];
        if self.rough {
            notes.push("On AWS, joined and waiting are counted roughly.".into());
        }
        if let Some(reason) = &self.entered_missing {
            notes.push(format!("Who came for their pass was not counted: {reason}."));
        }
        if self.orders_missing {
            notes.push("The first orders are missing: a room keeps the last 500.".into());
        }
        notes
    }

    /// `12:07:31`, with the day if the report is about more than one.
    pub(super) fn clock(&self, at: Timestamp) -> String {
        let text = at.to_string();
        let is_one_day = self.from.to_string()[..10] == self.to.to_string()[..10];
        text[if is_one_day { 11 } else { 0 }..19].to_owned()
    }
}

#[expect(clippy::cast_precision_loss, reason = "no event has 2^52 visitors")]
pub(super) fn number(count: u64) -> String {
    thousands(count as f64)
}
