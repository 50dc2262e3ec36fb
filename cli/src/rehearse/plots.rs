//! The report as a page, and its plots.

use crate::html_report::{HtmlPart, HtmlReport, HtmlSection, HtmlTable};
use crate::plot::{Plot, PlotAxis, PlotSeries, PlotShape, thousands};

use super::measured::{LatencyBar, RouteLatency};
use super::report::{RehearsalReport, VisitEnds};

/// At most so many points of a series, so that a page of a long rehearsal stays small.
const MOST_POINTS: usize = 600;

pub(crate) fn html(report: &RehearsalReport) -> String {
    let facts = &report.facts;
    let VisitEnds { entered, lost, .. } = report.ends;
    let number = |value: usize| thousands(value as f64);
    let mut numbers = vec![
        ("visitors", number(facts.visitors)),
        ("entered", number(entered)),
        ("lost", number(lost)),
        ("rate", format!("{} a minute", thousands(facts.rate.into()))),
        ("arrivals", facts.arrivals.clone()),
        ("seed", facts.seed.to_string()),
        ("began", facts.began.to_string()),
    ];
    if let Some(others) = report.others.filter(|others| *others > 0) {
        numbers.push(("others, who joined and lost their places", thousands(others as f64)));
    }
    let sections = vec![
        section("What was promised", vec![HtmlPart::Table(checks(report))]),
        section("Where everybody is", vec![HtmlPart::Table(ends(report))]),
        section("Waits", vec![HtmlPart::Table(waits(report))]),
        section(
            "Releases",
            vec![
                HtmlPart::Paragraph(
                    "When each visitor was admitted, by the room's clock: an admission's end, which the poll tells, minus its \
                     length."
                        .into(),
                ),
                HtmlPart::Plot(releases_plot(report)),
                HtmlPart::Table(windows(report)),
            ],
        ),
        section(
            "Answers",
            [HtmlPart::Table(latencies(report))]
                .into_iter()
                .chain(report.latency.iter().map(|route| HtmlPart::Plot(histogram(route))))
                .collect(),
        ),
        section("Errors", vec![errors(report)]),
    ];
    let report = HtmlReport {
        title: format!("Rehearsal of {}", facts.room),
        summary: format!("{}.", report.heading()),
        facts: numbers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        sections,
    };
    report.render()
}

/// How many were released in each second, and how many an even share of the plan is.
pub(super) fn releases_plot(report: &RehearsalReport) -> Plot {
    let releases = &report.releases;
    let seconds: Vec<_> = releases.seconds.iter().map(|second| (second.at, second.released)).collect();
    let together = seconds.len().div_ceil(MOST_POINTS).max(1);
    let width = 1000 * together as u64;
    let mut bars = std::collections::BTreeMap::<u64, u32>::new();
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

fn histogram(route: &RouteLatency) -> Plot {
    // The bars take different times and are drawn equally wide, each between two marks.
    let ends = route.histogram.iter().map(|bar| bar.up_to.map_or_else(|| "longer".into(), milliseconds));
    let marks = std::iter::once("0".into()).chain(ends).collect();
    let is_filled = |bar: &LatencyBar| bar.requests > 0;
    let last = route.histogram.iter().rposition(is_filled).map_or(0, |last| last + 1);
    let bars = route.histogram[..last].iter().enumerate().skip_while(|(_, bar)| !is_filled(bar));
    let points = bars.map(|(index, bar)| (index as f64, bar.requests as f64)).collect();
    Plot {
        title: format!("How long \"{}\" took", route.route.as_str()),
        unit: "requests".into(),
        x: PlotAxis::Marks { unit: "between two marks".into(), marks },
        series: vec![PlotSeries { name: "requests".into(), shape: PlotShape::Bars, points }],
    }
}

/// A short time: `0.5 ms`, `20 s`.
fn milliseconds(millis: f64) -> String {
    if millis < 1000.0 { format!("{millis} ms") } else { format!("{} s", millis / 1000.0) }
}

fn section(heading: &str, parts: Vec<HtmlPart>) -> HtmlSection {
    HtmlSection { heading: heading.into(), parts }
}

fn table(caption: &str, columns: &[&str], rows: impl Iterator<Item = Vec<String>>) -> HtmlTable {
    let columns = columns.iter().map(|&column| column.to_owned()).collect();
    HtmlTable { caption: caption.into(), columns, rows: rows.collect() }
}

fn checks(report: &RehearsalReport) -> HtmlTable {
    let rows = report.checks.iter().map(|check| {
        let kept = if check.is_kept { "kept" } else { "broken" };
        vec![kept.to_owned(), check.name.to_owned(), check.found.clone()]
    });
    table("Each promise of the room", &["", "promise", "found"], rows)
}

fn ends(report: &RehearsalReport) -> HtmlTable {
    let VisitEnds { entered, waiting, lost, refused, failed, not_come } = report.ends;
    let rows = [
        ("entered", entered),
        ("still waiting", waiting),
        ("lost", lost),
        ("refused", refused),
        ("failed", failed),
        ("not come yet", not_come),
        ("all", report.facts.visitors),
    ];
    let rows = rows.into_iter().map(|(name, count)| vec![name.to_owned(), thousands(count as f64)]);
    table("Every visitor", &["end", "visitors"], rows)
}

fn waits(report: &RehearsalReport) -> HtmlTable {
    let waits = [("until admitted", report.waits.admitted), ("until told", report.waits.called)];
    let rows = waits.into_iter().filter_map(|(until, spread)| {
        let spread = spread?;
        let seconds = [spread.median, spread.p95, spread.longest].map(|seconds| format!("{seconds:.1}"));
        Some(std::iter::once(until.to_owned()).chain(seconds).collect())
    });
    table(
        "Seconds from the answer with the place until the room admitted the visitor, and until a poll told it",
        &["", "median", "95 %", "longest"],
        rows,
    )
}

fn windows(report: &RehearsalReport) -> HtmlTable {
    let rows = report.releases.windows.iter().map(|window| {
        let counts = [window.planned.to_string(), window.released.to_string(), window.seen.to_string()];
        [window.number.to_string(), window.start.to_string()].into_iter().chain(counts).collect()
    });
    table("Windows", &["number", "from", "planned", "released", "seen by visitors"], rows)
}

fn latencies(report: &RehearsalReport) -> HtmlTable {
    let rows = report.latency.iter().map(|route| {
        let times = [route.median, route.p95, route.p99, route.longest].map(|millis| format!("{millis:.1}"));
        [route.route.as_str().to_owned(), thousands(route.requests as f64)].into_iter().chain(times).collect()
    });
    table(
        "Milliseconds until the whole answer was there",
        &["route", "requests", "median", "95 %", "99 %", "longest"],
        rows,
    )
}

fn errors(report: &RehearsalReport) -> HtmlPart {
    if report.errors.is_empty() {
        return HtmlPart::Paragraph("None.".into());
    }
    let rows = report
        .errors
        .iter()
        .map(|error| vec![error.route.as_str().to_owned(), error.kind.clone(), error.count.to_string()]);
    HtmlPart::Table(table(
        "Requests without an answer that can be used. The visitors tried again, except at the shop.",
        &["route", "kind", "times"],
        rows,
    ))
}
