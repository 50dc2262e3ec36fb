//! What a report says in words.

use std::collections::BTreeMap;

use control::HistoryLine;
use document::words::{count, things, time};
use waitroom::{AuditEntry, Timestamp};

use super::event::{EventReport, ReportRange};
use super::minutes::ReportedMinute;
use super::summary::{ObservedSummary, ReportedTurnout};

impl EventReport {
    /// What the report is about, in a sentence.
    pub(crate) fn about(&self) -> String {
        let range = match self.range {
            _ if self.is_empty() => "Nobody came",
            ReportRange::LastEvent if self.rehearsal => "The last rehearsal",
            ReportRange::LastEvent => "The last event",
            ReportRange::Since => "What happened",
            ReportRange::Kept => "What the room has kept",
        };
        format!("{range}, from {} to {}.", self.from, self.to)
    }

    /// The facts, with what they are called.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
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
            minutes => things(minutes, "minute"),
        };
        let mut facts = vec![
            ("joined", format!("{about}{}", count(summary.joined))),
            ("released", count(summary.released)),
            ("came for pass", summary.entered.map_or("not counted".into(), count)),
            (
                "longest line",
                format!("{about}{}{}", count(summary.longest_line), at(summary.longest_line_at)),
            ),
            ("longest wait", format!("{wait}{}", at(summary.longest_wait_at))),
            ("line empty", drained),
            ("throttled", minutes),
            ("orders", count(summary.orders)),
        ];
        if let Some(turnout) = summary.turnout {
            facts.insert(3, ("turnout", turnout_told(turnout, about)));
        }
        if let Some(waited) = summary.turned_away.filter(|waited| *waited > 0) {
            facts.push(("turned away", format!("{about}{}, who still waited at the end", count(waited))));
        }
        if let Some(lost) = summary.lost_in_resets {
            facts.push(("lost in reset", format!("{about}{}, who waited until then", count(lost))));
        }
        facts.extend(summary.observed.iter().flat_map(|observed| self.observed(observed)));
        if self.rough {
            facts.push(("alarms", count(summary.alarms)));
        }
        let rehearsed: u64 = self.rehearsed().map(|minute| minute.count.joined).sum();
        if rehearsed > 0 {
            let counted = match rehearsed {
                _ if self.rehearsal => "",
                1 => ", who counts in no other number",
                _ => ", who count in no other number",
            };
            facts.push(("rehearsed", format!("{about}{}{counted}", things(rehearsed, "visitor"))));
        }
        facts
    }

    /// What the line would have been.
    fn observed(&self, observed: &ObservedSummary) -> Vec<(&'static str, String)> {
        let came = things(observed.came, "visitor");
        let busiest = format!("{} came by {}", count(observed.busiest), self.clock(observed.busiest_at));
        if observed.waited == 0 {
            return vec![
                ("observed", format!("of {came}, nobody would have waited")),
                ("busiest minute", busiest),
            ];
        }
        let up_to = |most: String, at: Timestamp| format!("{most}, by {}", self.clock(at));
        vec![
            ("observed", format!("of {came}, {} would have waited", count(observed.waited))),
            ("would-be line", up_to(count(observed.longest_line), observed.longest_line_at)),
            ("would-be wait", up_to(time(observed.longest_wait), observed.longest_wait_at)),
            (
                "busiest minute",
                format!("{busiest}: at this rate, nobody would have waited longer than a minute"),
            ),
        ]
    }

    /// What a reader must know of the numbers.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "Times are UTC. A minute is named by when it ended. The median wait is an estimate, as if nobody overtook and \
             visitors came and went evenly within a minute."
                .to_owned(),
        ];
        if self.rough {
            notes.push("On AWS, joined and waiting are counted roughly.".into());
        }
        if self.summary.observed.is_some() {
            notes.push(
                "While the room observed, everybody passed. Who would have waited is computed from how many came in each five \
                 seconds, at the rate in force."
                    .into(),
            );
        }
        if let Some(at) = self.stopped_at {
            notes.push(format!("The room wasn't running: this is how it stood at {at}."));
        }
        if self.rehearsal {
            notes.push("Only rehearsals brought visitors in this time, so the numbers are theirs.".into());
        } else if self.rehearsed().next().is_some() {
            notes.push("Minutes marked as a rehearsal are in no number and no plot above.".into());
        }
        if let Some(reason) = &self.entered_missing {
            notes.push(format!("Who came for their pass was not counted: {reason}."));
        }
        if self.orders_missing {
            notes.push("The first orders are missing: a room keeps the last 500.".into());
        }
        if self.alarms_may_be_missing() {
            notes.push("The first changes of an alarm may be missing: the latest 500 are read.".into());
        }
        notes
    }

    /// The minutes of rehearsals.
    fn rehearsed(&self) -> impl Iterator<Item = &ReportedMinute> {
        self.minutes.iter().filter(|minute| minute.count.rehearsal)
    }

    /// Whether an alarm has as many changes as are read of one.
    fn alarms_may_be_missing(&self) -> bool {
        let mut changes: BTreeMap<&str, usize> = BTreeMap::new();
        for line in &self.orders {
            if let HistoryLine::Alarm(change) = line {
                *changes.entry(&change.alarm).or_default() += 1;
            }
        }
        changes.values().any(|changes| *changes >= usize::from(AuditEntry::KEPT))
    }

    /// `12:07:31`, with the day if the report tells of more than one.
    pub(crate) fn clock(&self, at: Timestamp) -> String {
        let text = at.to_string();
        text[if self.is_one_day() { 11 } else { 0 }..19].to_owned()
    }

    /// Whether all minutes and orders are of the same day.
    fn is_one_day(&self) -> bool {
        let minutes = [self.minutes.first(), self.minutes.last()].into_iter().flatten();
        let orders = [self.orders.first(), self.orders.last()].into_iter().flatten();
        let times = minutes.map(|minute| minute.count.at).chain(orders.map(HistoryLine::at));
        let day = |at: Timestamp| at.as_secs() / (24 * 60 * 60);
        times.chain([self.to]).all(|at| day(at) == day(self.from))
    }
}

/// How many came of those who were let in, and what made up for the others.
fn turnout_told(turnout: ReportedTurnout, about: &str) -> String {
    let ReportedTurnout { came, released, most_surplus, surplus_minutes } = turnout;
    let told = format!("{about}{} of {} whom the room let in came to the door", count(came), count(released));
    if most_surplus == 0 {
        return told;
    }
    let more = count(most_surplus.into());
    format!("{told}; for {} it let in up to {more} a minute more", things(surplus_minutes, "minute"))
}
