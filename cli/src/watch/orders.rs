use control::{Course, entry_text};
use ratatui::style::Style;
use ratatui::text::Line;
use waitroom::{AuditEntry, Timestamp};

use super::fit::{by_words, fit};

/// The most orders that are shown.
const MOST: usize = 5;

/// The latest orders and decisions of the throttle, newest last: as many as have room in this many lines.
pub(super) fn orders(course: &Course, width: u16, lines: usize) -> Vec<Line<'static>> {
    let today = day(course.at);
    let mut shown: Vec<Line<'static>> = Vec::new();
    for entry in course.entries.iter().rev().take(MOST) {
        let text = in_a_line(entry, &today);
        let entry = fit(by_words(&text, Style::new()), width);
        // The borders need two lines.
        if shown.len() + entry.len() + 2 > lines {
            break;
        }
        shown.splice(0..0, entry);
    }
    shown
}

/// The time alone, if it was today.
fn in_a_line(entry: &AuditEntry, today: &str) -> String {
    let at = entry.at.to_string();
    let at = at.strip_prefix(today).unwrap_or(&at).trim_start();
    format!("{at} {} {}", entry.who, entry_text(entry))
}

fn day(at: Timestamp) -> String {
    at.to_string().split(' ').next().unwrap_or_default().to_owned()
}
