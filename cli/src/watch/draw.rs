//! Draws the charts of a room. The same readings always give the same picture.

use operator::{AlarmState, Status};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Bar, BarChart, BarGroup, Block, Chart, Dataset, GraphType, Paragraph};
use waitroom::RoomState;
use waitroom::throttle_rules::Verdict;

use super::course::Course;
use crate::wording::{alarms, found, joined, rate, urls, waits};

/// A colour is never the only sign: a word always says the same.
#[derive(Clone, Copy)]
struct Palette {
    has_colours: bool,
}

impl Palette {
    fn of(self, colour: Color) -> Style {
        if self.has_colours { Style::new().fg(colour) } else { Style::new() }
    }

    fn strong(self, colour: Color) -> Style {
        self.of(colour).add_modifier(Modifier::BOLD)
    }
}

/// Below this width there is one chart, because two would have no room for their numbers.
const TWO_CHARTS: u16 = 60;
/// Below this height only the latest finding of the throttle is shown.
const THREE_FINDINGS: u16 = 30;

pub(super) fn draw(frame: &mut Frame<'_>, course: &Course, has_colours: bool) {
    let palette = Palette { has_colours };
    let status = &course.latest;
    let area = frame.area();
    // Without the borders.
    let width = area.width.saturating_sub(2);
    let is_narrow = area.width < TWO_CHARTS;
    let facts = facts(course, palette, width, is_narrow);
    let shop = shop(status, palette, width, if area.height < THREE_FINDINGS { 1 } else { 3 });
    let fixed = |lines: &[Line<'_>]| Constraint::Length(u16::try_from(lines.len()).unwrap_or(u16::MAX) + 2);
    let [above, charts, below, footer] =
        Layout::vertical([fixed(&facts), Constraint::Min(6), fixed(&shop), Constraint::Length(1)])
            .areas(area);
    let title = format!(" {} ({}) ", status.room.settings.title, course.name);
    frame.render_widget(Paragraph::new(facts).block(Block::bordered().title(title)), above);
    if is_narrow {
        draw_waiting(frame, course, palette, charts);
    } else {
        let [left, right] =
            Layout::horizontal([Constraint::Percentage(55), Constraint::Percentage(45)]).areas(charts);
        draw_waiting(frame, course, palette, left);
        draw_windows(frame, course, palette, right);
    }
    frame.render_widget(Paragraph::new(shop).block(Block::bordered().title(" shop and alarms ")), below);
    frame.render_widget(footer_line(course, palette), footer);
}

/// Breaks facts into lines of at most `width` columns. Each fact comes with what separates it from the one before. A line
/// ends between two facts, so that no number is cut in two. Only a fact that is longer than a line is broken.
fn fit(facts: impl IntoIterator<Item = (&'static str, Span<'static>)>, width: u16) -> Vec<Line<'static>> {
    let width = usize::from(width.max(1));
    let mut lines: Vec<Line<'static>> = Vec::new();
    for (gap, fact) in facts {
        if let Some(line) = lines.last_mut()
            && line.width() + gap.len() + fact.width() <= width
        {
            line.push_span(gap);
            line.push_span(fact);
            continue;
        }
        let letters: Vec<char> = fact.content.chars().collect();
        let pieces =
            letters.chunks(width).map(|piece| Span::styled(piece.iter().collect::<String>(), fact.style));
        lines.extend(pieces.map(Line::from));
    }
    lines
}

/// A text as facts: it may be broken between any two words.
fn words(text: &str, style: Style) -> impl Iterator<Item = (&'static str, Span<'static>)> {
    text.split(' ').map(move |word| (" ", Span::styled(word.to_owned(), style)))
}

fn facts(course: &Course, palette: Palette, width: u16, with_window: bool) -> Vec<Line<'static>> {
    const GAP: &str = "   ";

    let status = &course.latest;
    let (room, line) = (&status.room, &status.line);
    let (state, colour) = match room.state {
        // What follows is the last that was known.
        _ if course.problem.is_some() => ("NO ANSWER".into(), Color::Red),
        RoomState::On => (room.state.as_str().to_uppercase(), Color::Green),
        RoomState::Paused => (room.state.as_str().to_uppercase(), Color::Yellow),
        RoomState::Off => (room.state.as_str().to_uppercase(), Color::Red),
    };
    let mut numbers = vec![
        Span::styled(state, palette.strong(colour)),
        Span::raw(format!("joined {}", joined(status))),
        Span::raw(format!("waiting {}", line.waiting)),
        Span::raw(format!("released {}", status.released)),
    ];
    numbers.extend(waits(status).map(Span::raw));
    numbers.push(Span::raw(format!("served up to {}", line.served)));
    if let Some(window) = status.windows.first().filter(|_| with_window) {
        numbers.push(Span::raw(format!("window {}/{}", window.released, window.planned)));
    }
    if room.stretch != waitroom::Stretch::USUAL {
        numbers.push(Span::raw(format!("stretch {}", room.stretch)));
    }
    let held = if line.slow { palette.strong(Color::Yellow) } else { Style::new() };
    let mut lines = fit(numbers.into_iter().map(|number| (GAP, number)), width);
    lines.extend(fit(words(&format!("rate {}", rate(status)), held), width));
    let message = room.settings.message.as_str();
    if !message.is_empty() {
        lines.extend(fit(words(&format!("message {message:?}"), Style::new()), width));
    }
    lines.extend(fit(words(&urls(status).0, Style::new()), width));
    lines
}

fn shop(status: &Status, palette: Palette, width: u16, findings: usize) -> Vec<Line<'static>> {
    let plain = |text: &str| fit(words(text, Style::new()), width);
    let mut lines = Vec::new();
    if status.findings.is_empty() {
        lines.extend(plain("no measurements: the throttle is off"));
    } else {
        let marks = status.findings.iter().enumerate().map(|(at, finding)| {
            let (mark, colour) = match finding.verdict {
                _ if finding.refused => ("-", Color::Yellow),
                Verdict::Well => ("·", Color::Green),
                Verdict::Slow => ("s", Color::Yellow),
                Verdict::Failing => ("F", Color::Red),
            };
            (if at == 0 { " " } else { "" }, Span::styled(mark, palette.strong(colour)))
        });
        let label = "last hour, one mark a minute (· well, s slow, F failing, - not measured):";
        lines.extend(fit(words(label, Style::new()).chain(marks), width));
        lines.extend(status.findings.iter().rev().take(findings).flat_map(|finding| plain(&found(finding))));
    }
    if let Some(dead_letters) = status.dead_letters {
        let watched = alarms(status).map_or_else(|| "no alarms".into(), |alarms| format!("alarms: {alarms}"));
        let both = [format!("dead letters {dead_letters}"), watched];
        lines.extend(fit(both.map(|fact| ("   ", Span::raw(fact))), width));
    }
    for alarm in status.alarms.iter().filter(|alarm| alarm.state == AlarmState::Ringing).take(3) {
        let rings = format!("{}: {}", alarm.name, alarm.reason);
        lines.extend(fit(words(&rings, palette.strong(Color::Red)), width));
    }
    lines
}

fn draw_waiting(frame: &mut Frame<'_>, course: &Course, palette: Palette, area: Rect) {
    let points: Vec<_> = course.waiting.iter().copied().collect();
    let (first, last) =
        (points.first().map_or(0.0, |point| point.0), points.last().map_or(0.0, |point| point.0));
    let most = points.iter().map(|point| point.1).fold(1.0, f64::max);
    let line = Dataset::default()
        .data(&points)
        .marker(Marker::Braille)
        .graph_type(GraphType::Line)
        .style(palette.of(Color::Cyan));
    let ago = last - first;
    let since = if ago < 120.0 { format!("{ago:.0} s ago") } else { format!("{:.0} min ago", ago / 60.0) };
    let chart = Chart::new(vec![line])
        .block(Block::bordered().title(" waiting "))
        // Bounds of at least one second, so that a single reading is drawn as a line.
        .x_axis(Axis::default().bounds([first, last.max(first + 1.0)]).labels([since, "now".into()]))
        .y_axis(Axis::default().bounds([0.0, most]).labels(["0".into(), format!("{most:.0}")]));
    frame.render_widget(chart, area);
}

fn draw_windows(frame: &mut Frame<'_>, course: &Course, palette: Palette, area: Rect) {
    const GAP: u16 = 1;

    // As wide as the longest number, at least for a usual rate.
    let planned = course.windows.values().map(|window| window.planned.to_string().len() + 1).max();
    let width = u16::try_from(planned.unwrap_or_default()).unwrap_or(u16::MAX).max(6);
    let fit = usize::from(area.width.saturating_sub(2) / (width + GAP)).max(1);
    let windows: Vec<_> = course.windows.values().rev().take(fit).collect();
    let bars: Vec<_> = windows
        .iter()
        .rev()
        .map(|window| {
            Bar::default()
                .value(window.released)
                .text_value(window.released.to_string())
                .label(Line::from(format!("/{}", window.planned)))
        })
        .collect();
    let most = windows.iter().map(|window| window.released.max(window.planned.into())).max().unwrap_or(1);
    let chart = BarChart::default()
        .block(Block::bordered().title(" released/planned per window "))
        .data(BarGroup::default().bars(&bars))
        .bar_width(width)
        .bar_gap(GAP)
        .bar_style(palette.of(Color::Green))
        .value_style(Style::new().add_modifier(Modifier::REVERSED))
        .max(most.max(1));
    frame.render_widget(chart, area);
}

fn footer_line(course: &Course, palette: Palette) -> Line<'static> {
    match &course.problem {
        Some(problem) => {
            Line::from(Span::styled(format!("out of date: {problem}"), palette.strong(Color::Red)))
        }
        None => Line::from("q quits"),
    }
}

#[cfg(test)]
mod tests {
    use operator::WindowCount;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::fixture::suffering;

    /// A room watched for ten minutes while its line grew.
    fn watched() -> Course {
        let mut course = Course::new("spring-sale".parse().unwrap(), suffering());
        for minute in 1..=10u32 {
            let mut status = suffering();
            status.line.waiting = 9120 + u64::from(minute * minute) * 40;
            let number = 15 + u64::from(minute);
            let released = 300 - u64::from(minute) * 13;
            status.windows = vec![WindowCount { number, released, planned: 300 }];
            course.note(status, f64::from(minute) * 60.0);
        }
        course
    }

    fn picture(course: &Course, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, course, false)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let rows = buffer.content().chunks(usize::from(width));
        let rows = rows.map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>());
        rows.map(|row| row.trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn a_room_that_suffers() {
        let expected = snapbox::file!["suffering.txt"];
        snapbox::assert_data_eq!(picture(&watched(), 100, 30), expected.raw());
    }

    #[test]
    fn a_room_on_this_machine_that_was_just_opened() {
        let mut status = suffering();
        (status.room.throttled, status.room.stretch) = (None, waitroom::Stretch::USUAL);
        status.room.settings.message = waitroom::Message::default();
        status.line = waitroom::LineStatus::of(&status.room, 0, 0);
        (status.findings, status.windows, status.alarms) = (Vec::new(), Vec::new(), Vec::new());
        (status.dead_letters, status.joined, status.released) = (None, 0, 0);
        (status.wait, status.longest_wait) = (Some(0), None);
        let mut course = Course::new("demo".parse().unwrap(), status);
        course.problem = Some("could not reach the room demo".into());
        let expected = snapbox::file!["opened.txt"];
        snapbox::assert_data_eq!(picture(&course, 80, 24), expected.raw());
    }

    #[test]
    fn a_narrow_terminal_cuts_no_number() {
        let expected = snapbox::file!["narrow.txt"];
        snapbox::assert_data_eq!(picture(&watched(), 40, 26), expected.raw());
        let mut fastest = watched();
        fastest.latest.line.waiting = 1_000_000;
        fastest.windows.insert(99, WindowCount { number: 99, released: 270_000, planned: 270_000 });
        for width in 40..=120 {
            let picture = picture(&fastest, width, 40);
            assert!(picture.contains("waiting 1000000"), "{picture}");
            assert!(width < TWO_CHARTS || picture.contains("/270000"), "{picture}");
        }
    }

    #[test]
    fn any_size_can_be_drawn() {
        for (width, height) in [(1, 1), (2, 2), (5, 3), (20, 8), (300, 100)] {
            picture(&watched(), width, height);
        }
    }

    #[test]
    fn there_are_no_colours_with_no_color() {
        let styled = |has_colours| {
            let mut terminal = Terminal::new(TestBackend::new(100, 30)).unwrap();
            terminal.draw(|frame| draw(frame, &watched(), has_colours)).unwrap();
            let cells = terminal.backend().buffer().content().to_vec();
            cells.iter().any(|cell| !matches!(cell.fg, Color::Reset))
        };
        assert!(styled(true));
        assert!(!styled(false), "NO_COLOR");
    }
}
