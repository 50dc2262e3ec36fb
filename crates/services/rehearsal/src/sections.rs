//! What a rehearsal says, for a person.

use std::collections::BTreeMap;
use std::iter::once;

use document::words::{count, milliseconds, span, things};
use document::{
    CheckLine, CheckMark, Document, DocumentPart, DocumentSection, DocumentTable, Plot, PlotAxis, PlotSeries,
    PlotShape,
};

use crate::crowd::CrowdEnd;
use crate::measured::{LatencyBar, RouteLatency};
use crate::releases::RehearsedReleases;
use crate::report::{RehearsalCheck, RehearsalReport, VisitEnds};

/// At most so many points of a series, so that a page of a long rehearsal stays small.
const MOST_POINTS: usize = 600;

impl RehearsalReport {
    pub fn document(&self) -> Document {
        let releases = vec![
            DocumentPart::Paragraph(
                "When each visitor was admitted, by the room's clock: an admission's end, which the poll tells, minus its length."
                    .into(),
            ),
            DocumentPart::Plot(releases_plot(&self.releases)),
            DocumentPart::Table(self.windows()),
        ];
        let answers = [latencies(&self.latency), histogram(&self.latency)].map(DocumentPart::Table);
        let sections = [
            ("What was promised", vec![DocumentPart::Checks(self.checks.iter().map(line).collect())]),
            ("Waits", vec![DocumentPart::Table(self.waits_table())]),
            ("Releases", releases),
            ("Answers", answers.into()),
            ("Errors", vec![self.errors_part()]),
        ];
        Document {
            title: self.title(),
            summary: self.summary(),
            facts: self.numbers(),
            sections: sections.map(|(heading, parts)| DocumentSection { heading, parts }).into(),
        }
    }

    /// The result in a few words.
    fn title(&self) -> String {
        let is_broken = self.checks.iter().any(|check| !check.is_kept);
        let result = match self.facts.end {
            CrowdEnd::Interrupted if !is_broken => "did not end",
            _ if self.passed => "passed",
            _ => "failed",
        };
        format!("Rehearsal of {} {result}", self.facts.room)
    }

    fn summary(&self) -> Vec<String> {
        let took = span(self.facts.seconds);
        let ended = match self.facts.end {
            CrowdEnd::AllDone => format!("It took {took}."),
            CrowdEnd::TimeOver => format!("The time was over after {took}, before all had entered."),
            CrowdEnd::Interrupted => format!("It was interrupted after {took}."),
            CrowdEnd::MarkLost => {
                format!("It stopped after {took}, because the room does not show its mark any more.")
            }
        };
        let slowed = self.slowed_to.map(|rate| {
            format!(
                "The throttle held the rate down, to {rate} a minute at least: your shop was slow or failed."
            )
        });
        let late = self.latest_start;
        let busy = (late > 1.0)
            .then(|| format!("This machine was busy: a visitor came {late:.1} s later than planned."));
        once(ended).chain(slowed).chain(busy).collect()
    }

    /// The numbers that matter most.
    fn numbers(&self) -> Vec<(&'static str, String)> {
        let VisitEnds { entered, waiting, lost, refused, failed, too_late, not_come } = self.ends;
        let (facts, releases, order) = (&self.facts, &self.releases, &self.order);
        let rare = [
            ("still waiting", waiting),
            ("refused", refused),
            ("failed", failed),
            ("came too late", too_late),
            ("not come yet", not_come),
        ];
        let rare = rare.into_iter().filter(|(_, visitors)| *visitors > 0);
        let rare = rare.map(|(name, visitors)| (name, count(visitors)));
        let others = self.others.filter(|others| *others > 0);
        let others =
            others.map(|others| ("others", format!("{} joined, and lost their places", count(others))));
        let windows = things(releases.windows.len() as u64, "window");
        let early = match order.early {
            0 => "nobody before a lower ticket".into(),
            early => {
                format!(
                    "{} before a lower ticket, by {} places at most",
                    count(early),
                    count(order.most_places)
                )
            }
        };
        [
            ("visitors", format!("{}, {}", count(facts.visitors), facts.arrivals)),
            ("entered", count(entered)),
            ("lost", count(lost)),
        ]
        .into_iter()
        .chain(rare)
        .chain(others)
        .chain([
            ("released", format!("at most {} in a second; {windows}", releases.highest_second)),
            ("order", early),
            ("rate", format!("{} a minute", count(facts.rate.into()))),
            ("seed", facts.seed.to_string()),
            ("began", facts.began.to_string()),
        ])
        .collect()
    }

    fn waits_table(&self) -> DocumentTable {
        let waits = [("admitted", self.waits.admitted), ("told", self.waits.called)];
        let rows = waits.into_iter().filter_map(|(until, spread)| {
            let spread = spread?;
            let seconds = [spread.median, spread.p95, spread.longest].map(|seconds| format!("{seconds:.1}"));
            Some(once(until.to_owned()).chain(seconds).collect())
        });
        DocumentTable::new(
            "Seconds from the answer with the place until the room admitted the visitor, and until a poll told it",
            &["until", "median", "95%", "longest"],
            rows,
        )
    }

    fn windows(&self) -> DocumentTable {
        let rows = self.releases.windows.iter().map(|window| {
            vec![
                count(window.number),
                window.start.to_string(),
                count(window.planned.into()),
                count(window.released),
                count(window.seen),
            ]
        });
        DocumentTable::new("Windows", &["number", "from", "planned", "released", "seen by visitors"], rows)
    }

    fn errors_part(&self) -> DocumentPart {
        if self.errors.is_empty() {
            return DocumentPart::Paragraph("None.".into());
        }
        let rows = self
            .errors
            .iter()
            .map(|error| vec![error.route.as_str().to_owned(), error.kind.clone(), count(error.count)]);
        DocumentPart::Table(DocumentTable::new(
            "Requests without an answer that can be used. The visitors tried again, except at the shop.",
            &["route", "kind", "times"],
            rows,
        ))
    }
}

fn line(check: &RehearsalCheck) -> CheckLine {
    let (mark, word) = if check.is_kept { (CheckMark::Good, "kept") } else { (CheckMark::Bad, "BROKEN") };
    CheckLine { mark, word, name: check.name, found: check.found.clone() }
}

fn latencies(routes: &[RouteLatency]) -> DocumentTable {
    let rows = routes.iter().map(|route| {
        let times = [route.median, route.p95, route.p99, route.longest].map(|millis| format!("{millis:.1}"));
        [route.route.as_str().to_owned(), count(route.requests)].into_iter().chain(times).collect()
    });
    DocumentTable::new(
        "Milliseconds until the whole answer was there",
        &["route", "requests", "median", "95%", "99%", "longest"],
        rows,
    )
}

/// A row for each bar, from the first that any route has to the last.
fn histogram(routes: &[RouteLatency]) -> DocumentTable {
    let columns: Vec<_> = once("up to").chain(routes.iter().map(|route| route.route.as_str())).collect();
    let bars = |index: usize| routes.iter().map(move |route| route.histogram[index]);
    let all = routes.first().map_or(0, |route| route.histogram.len());
    let is_filled = |index: &usize| bars(*index).any(|bar| bar.requests > 0);
    let first = (0..all).find(is_filled).unwrap_or(all);
    let last = (0..all).rfind(is_filled).map_or(first, |last| last + 1);
    let rows = (first..last).map(|index| {
        let up_to = |bar: LatencyBar| bar.up_to.map_or_else(|| "longer".into(), milliseconds);
        bars(index).take(1).map(up_to).chain(bars(index).map(|bar| count(bar.requests))).collect()
    });
    DocumentTable::new("How many answers took at most so long, and longer than the row above", &columns, rows)
}

/// How many were released in each second, and how many an even share of the plan is.
fn releases_plot(releases: &RehearsedReleases) -> Plot {
    let seconds: Vec<_> = releases.seconds.iter().map(|second| (second.at, second.released)).collect();
    let together = seconds.len().div_ceil(MOST_POINTS).max(1);
    let width = 1000 * together as u64;
    let mut bars = BTreeMap::<u64, u32>::new();
    for (at, released) in seconds {
        *bars.entry(at / width * width).or_default() += released;
    }
    // Bars are as wide as the time between two, so seconds in which nobody was released are bars too.
    if let (Some(&first), Some(&last)) = (bars.keys().next(), bars.keys().next_back()) {
        for at in (first..last).step_by(1000 * together) {
            bars.entry(at).or_default();
        }
    }
    let points = bars.into_iter().map(|(at, released)| (at as f64, f64::from(released) / together as f64));
    let share = releases.windows.iter().flat_map(|window| {
        let (start, end) = (window.start.as_millis() as f64, window.end.as_millis() as f64);
        let share = f64::from(window.planned) / ((end - start) / 1000.0).max(0.001);
        [(start, share), (end, share)]
    });
    Plot {
        title: "Released".into(),
        unit: "visitors a second".into(),
        x: PlotAxis::Clock,
        series: vec![
            PlotSeries { name: "released".into(), shape: PlotShape::Bars, points: points.collect() },
            PlotSeries { name: "planned".into(), shape: PlotShape::Steps, points: share.collect() },
        ],
    }
}
