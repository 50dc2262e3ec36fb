use std::time::Duration;

use waitroom::Timestamp;

use super::event::EventReport;
use super::minutes::ReportedMinute;
use crate::html_report::{HtmlPart, HtmlReport, HtmlSection, HtmlTable};
use crate::plot::{Plot, PlotAxis, PlotSeries, PlotShape, number};
use crate::wording::time;

impl EventReport {
    /// A page with plots and tables.
    pub(crate) fn html(&self) -> String {
        let mut plots: Vec<_> = self.plots().into_iter().map(HtmlPart::Plot).collect();
        plots.extend(self.notes().into_iter().map(HtmlPart::Paragraph));
        let sections =
            [("The event", plots), ("Orders", self.orders_table()), ("Minutes", self.minutes_table())];
        let sections = sections.map(|(heading, parts)| HtmlSection { heading: heading.into(), parts });
        let capital = |(name, value): (String, String)| (name[..1].to_uppercase() + &name[1..], value);
        let report = HtmlReport {
            title: format!("{} ({})", self.title, self.room),
            summary: self.about(),
            facts: self.facts().into_iter().map(capital).collect(),
            sections: sections.into(),
        };
        report.render()
    }

    pub(super) fn plots(&self) -> Vec<Plot> {
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
        vec![
            plot("The line", "visitors who wait", vec![waiting]),
            plot("Each minute", "visitors", each_minute),
            plot("Waits of those released", "seconds", vec![longest, median]),
        ]
    }

    fn orders_table(&self) -> Vec<HtmlPart> {
        if self.orders.is_empty() {
            return vec![HtmlPart::Paragraph("No orders were given.".into())];
        }
        let row = |line: &crate::history_line::HistoryLine| {
            vec![self.clock(line.at()), line.who().to_owned(), line.what()]
        };
        vec![HtmlPart::Table(HtmlTable {
            caption: "Who changed what".into(),
            columns: ["at", "who", "what"].map(String::from).into(),
            rows: self.orders.iter().map(row).collect(),
        })]
    }

    fn minutes_table(&self) -> Vec<HtmlPart> {
        let row = |minute: &ReportedMinute| {
            let count = minute.count;
            let wait = |wait: Option<u64>| wait.map(time).unwrap_or_default();
            let throttled = if minute.throttled { ", throttled" } else { "" };
            let rehearsal = if count.rehearsal { ", rehearsal" } else { "" };
            vec![
                format!("{}{rehearsal}", self.clock(count.at)),
                number(count.joined),
                number(count.released),
                count.entered.map(number).unwrap_or_default(),
                number(count.waiting),
                count.rate.map_or_else(
                    || minute.closed().into(),
                    |rate| format!("{}{throttled}", number(rate.get().into())),
                ),
                wait(count.longest_wait),
                wait(minute.median_wait),
            ]
        };
        let columns =
            ["until", "joined", "released", "came", "waiting", "rate", "longest wait", "median wait"];
        vec![HtmlPart::Table(HtmlTable {
            caption: "Each minute".into(),
            columns: columns.map(String::from).into(),
            rows: self.minutes.iter().map(row).collect(),
        })]
    }
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
