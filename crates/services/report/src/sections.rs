//! What a report says, for a person.

use std::time::Duration;

use control::HistoryLine;
use document::words::{self, time};
use document::{
    Document, DocumentPart, DocumentSection, DocumentTable, Plot, PlotAxis, PlotSeries, PlotShape, TableRow,
};
use waitroom::Timestamp;

use super::event::EventReport;
use super::minutes::ReportedMinute;

impl EventReport {
    /// For a person: the numbers, the course and its plots, and what to know of them.
    pub fn document(&self) -> Document {
        let plots: Vec<_> = self.plots().into_iter().map(DocumentPart::Plot).collect();
        let course = self.course().map(DocumentPart::Table).into_iter().collect();
        let notes = self.notes().into_iter().map(DocumentPart::Paragraph).collect();
        let sections =
            [("The event", plots), ("Minute by minute", course), ("About the numbers", notes)].into_iter();
        let sections = sections.filter(|(_, parts)| !parts.is_empty());
        Document {
            title: format!("{} ({})", self.title, self.room),
            summary: vec![self.about()],
            facts: self.facts(),
            sections: sections.map(|(heading, parts)| DocumentSection { heading, parts }).collect(),
        }
    }

    pub(crate) fn plots(&self) -> Vec<Plot> {
        if self.is_empty() {
            return Vec::new();
        }
        let of = |name: &str, shape, value: fn(&ReportedMinute) -> Option<u64>| {
            let points = self.counted().filter_map(|minute| Some((minute, value(minute)?)));
            PlotSeries {
                name: name.into(),
                shape,
                points: points
                    .map(|(minute, value)| (place(minute.count.at, shape), as_f64(value)))
                    .collect(),
            }
        };
        let plot = |title: &str, unit: &str, series| Plot {
            title: title.into(),
            unit: unit.into(),
            x: PlotAxis::Clock,
            series,
        };
        let waiting = of("waiting", PlotShape::Line, |minute| Some(minute.count.waiting));
        let released = of("released", PlotShape::Bars, |minute| Some(minute.count.released));
        let joined = of("joined", PlotShape::Steps, |minute| Some(minute.count.joined));
        let rate = of("rate in force", PlotShape::Steps, |minute| {
            Some(minute.count.rate.map_or(0, |rate| rate.get().into()))
        });
        let longest = of("longest", PlotShape::Line, |minute| minute.count.longest_wait);
        let median = of("median, estimated", PlotShape::Line, |minute| minute.median_wait);
        let mut each_minute = vec![joined, released, rate];
        let came = of("came for pass", PlotShape::Steps, |minute| minute.count.entered);
        if !came.points.is_empty() {
            each_minute.push(came);
        }
        let mut line = vec![waiting];
        let would_wait = of("would wait", PlotShape::Line, |minute| {
            minute.count.observed.map(|observed| observed.waiting)
        });
        if !would_wait.points.is_empty() {
            line.push(would_wait);
        }
        vec![
            plot("The line", "visitors who wait", line),
            plot("Each minute", "visitors", each_minute),
            plot("Waits of those released", "seconds", vec![longest, median]),
        ]
    }

    /// The minutes, and the orders between them. None if there is neither.
    fn course(&self) -> Option<DocumentTable> {
        const COLUMNS: [&str; 9] =
            ["until", "joined", "released", "came", "waiting", "rate", "longest", "median", "note"];

        let is_noted = self.minutes.iter().any(|minute| !marks(minute).is_empty());
        let columns = &COLUMNS[..COLUMNS.len() - usize::from(!is_noted)];
        // An order that changed nothing is in the history, and says nothing about the event.
        let is_news = |line: &&HistoryLine| match line {
            HistoryLine::Entry(entry) => entry.change.is_change(),
            HistoryLine::Alarm(_) => true,
        };
        let orders = self.orders.iter().filter(is_news).map(|line| {
            let text = format!("{} {}", line.who(), line.what());
            (line.at(), TableRow::Note { at: self.clock(line.at()), text })
        });
        let minutes = self.minutes.iter().map(|minute| {
            let mut cells = self.cells(minute);
            cells.truncate(columns.len());
            (minute.count.at, TableRow::Cells(cells))
        });
        // Orders first, so that one of the same instant is before the minute's record.
        let mut rows: Vec<_> = orders.chain(minutes).collect();
        rows.sort_by_key(|(at, _)| *at);
        let caption = "Each minute, with the longest and the median wait of those released";
        let table = DocumentTable::new(caption, columns, []);
        (!rows.is_empty())
            .then(|| DocumentTable { rows: rows.into_iter().map(|(_, row)| row).collect(), ..table })
    }

    /// What the columns say of a minute.
    fn cells(&self, minute: &ReportedMinute) -> Vec<String> {
        let count = minute.count;
        let or_none = |value: Option<String>| value.unwrap_or("-".into());
        let rate =
            count.rate.map_or_else(|| minute.why_no_rate().into(), |rate| words::count(rate.get().into()));
        vec![
            self.clock(count.at),
            words::count(count.joined),
            words::count(count.released),
            or_none(count.entered.map(words::count)),
            words::count(count.waiting),
            rate,
            or_none(count.longest_wait.map(time)),
            or_none(minute.median_wait.map(time)),
            marks(minute),
        ]
    }
}

/// What was special about a minute.
fn marks(minute: &ReportedMinute) -> String {
    let marks = [(minute.throttled, "throttled"), (minute.count.rehearsal, "rehearsal")];
    let marks = marks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| mark.to_owned());
    let waited = minute.count.observed.map_or(0, |observed| observed.waited);
    let observed = (waited > 0).then(|| format!("{} would have waited", words::count(waited)));
    marks.chain(observed).collect::<Vec<_>>().join(", ")
}

/// Where a minute that ended at this time is in a plot: what happened in it begins with it, and what is true at its end is
/// there.
#[expect(clippy::cast_precision_loss, reason = "milliseconds of this age are less than 2^52")]
fn place(ended: Timestamp, shape: PlotShape) -> f64 {
    let at = if shape == PlotShape::Line { ended } else { ended - Duration::from_mins(1) };
    at.as_millis() as f64
}

#[expect(clippy::cast_precision_loss, reason = "no event has 2^52 visitors")]
fn as_f64(count: u64) -> f64 {
    count as f64
}
