//! The report for the terminal.

use crate::plot::thousands;
use crate::wording::counted;

use super::plots::releases_plot;
use super::report::{RehearsalReport, VisitEnds};
use super::wire::VisitRoute;

pub(crate) fn text(report: &RehearsalReport, width: u16) -> String {
    let VisitEnds { entered, waiting, lost, refused, failed, not_come } = report.ends;
    let number = |value: usize| thousands(value as f64);
    let mut lines = vec![
        report.heading(),
        String::new(),
        format!("visitors       {}, {}", number(report.facts.visitors), report.facts.arrivals),
        format!("entered        {}", number(entered)),
    ];
    let others = [
        ("still waiting", waiting),
        ("lost", lost),
        ("refused", refused),
        ("failed", failed),
        ("not come yet", not_come),
    ];
    lines.extend(
        others
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{name:<14} {}", number(*count))),
    );
    if let Some(others) = report.others.filter(|others| *others > 0) {
        lines.push(format!("others         {} joined, and lost their places", thousands(others as f64)));
    }
    lines.extend(report.waits.admitted.map(|waits| format!("until admitted {waits}")));
    lines.extend(report.waits.called.map(|waits| format!("until told     {waits}")));
    let releases = &report.releases;
    lines.push(format!(
        "released       at most {} in a second; {}",
        releases.highest_second,
        counted(releases.windows.len() as u64, "window")
    ));
    lines.push(format!(
        "order          {} before a lower ticket, by {} places at most",
        number(report.order.early),
        number(report.order.most_places)
    ));
    lines.push(String::new());
    lines.push(format!(
        "{:<8}{:>10}{:>12}{:>12}{:>12}{:>12}",
        "route", "requests", "median ms", "95 %", "99 %", "longest"
    ));
    for route in &report.latency {
        lines.push(format!(
            "{:<8}{:>10}{:>12.1}{:>12.1}{:>12.1}{:>12.1}",
            route.route.as_str(),
            number(route.requests),
            route.median,
            route.p95,
            route.p99,
            route.longest
        ));
    }
    for error in &report.errors {
        lines.push(format!("error at {}: {}, {} times", error.route.as_str(), error.kind, error.count));
    }
    if report.errors.iter().any(|error| error.route != VisitRoute::Shop) {
        lines.push("The visitors tried again after each error of the room, as the page does.".into());
    }
    if report.latest_start > 1.0 {
        lines.push(format!(
            "This machine was busy: a visitor came {:.1} s later than planned.",
            report.latest_start
        ));
    }
    lines.push(String::new());
    lines.push(releases_plot(report).text(width));
    for check in &report.checks {
        let mark = if check.is_kept { "kept  " } else { "BROKEN" };
        lines.push(format!("{mark}  {}: {}", check.name, check.found));
    }
    lines.join("\n")
}
