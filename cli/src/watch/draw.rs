//! Draws the charts of a room. The same readings always give the same picture.

use operator::{AlarmState, Status};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Bar, BarChart, BarGroup, Block, Chart, Dataset, GraphType, Paragraph, Wrap};
use waitroom::RoomState;
use waitroom::throttle_rules::Verdict;

use super::course::Course;
use crate::wording::{alarms, found, rate, urls};

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

pub(super) fn draw(frame: &mut Frame<'_>, course: &Course, has_colours: bool) {
    let palette = Palette { has_colours };
    let status = &course.latest;
    let facts = facts(status, palette);
    let shop = shop(status, palette);
    let fixed = |lines: &[Line<'_>]| Constraint::Length(u16::try_from(lines.len()).unwrap_or(u16::MAX) + 2);
    let [above, charts, below, footer] =
        Layout::vertical([fixed(&facts), Constraint::Min(6), fixed(&shop), Constraint::Length(1)])
            .areas(frame.area());
    let title = format!(" {} ({}) ", status.room.settings.title, course.name);
    frame.render_widget(Paragraph::new(facts).block(Block::bordered().title(title)), above);
    let [left, right] =
        Layout::horizontal([Constraint::Percentage(55), Constraint::Percentage(45)]).areas(charts);
    draw_waiting(frame, course, palette, left);
    draw_windows(frame, course, palette, right);
    let shop = Paragraph::new(shop).wrap(Wrap { trim: false });
    frame.render_widget(shop.block(Block::bordered().title(" shop and alarms ")), below);
    frame.render_widget(footer_line(course, palette), footer);
}

fn facts(status: &Status, palette: Palette) -> Vec<Line<'static>> {
    let room = &status.room;
    let colour = match room.state {
        RoomState::On => Color::Green,
        RoomState::Paused => Color::Yellow,
        RoomState::Off => Color::Red,
    };
    let mut first = vec![
        Span::styled(room.state.as_str().to_uppercase(), palette.strong(colour)),
        Span::raw(format!(
            "   waiting {}   served up to {}   released {}",
            status.line.waiting, status.line.served, status.released
        )),
    ];
    if room.stretch != waitroom::Stretch::USUAL {
        first.push(Span::raw(format!("   stretch {}", room.stretch)));
    }
    let held = if status.line.slow { palette.strong(Color::Yellow) } else { Style::new() };
    let rate = Span::styled(format!("rate {}", rate(status)), held);
    let mut lines = vec![Line::from(first), Line::from(rate)];
    let message = room.settings.message.as_str();
    if !message.is_empty() {
        lines.push(Line::from(format!("message {message:?}")));
    }
    lines.push(Line::from(urls(status).0));
    lines
}

fn shop(status: &Status, palette: Palette) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if status.findings.is_empty() {
        lines.push(Line::from("no measurements: the throttle is off"));
    } else {
        let marks = status.findings.iter().map(|finding| {
            let (mark, colour) = match finding.verdict {
                _ if finding.refused => ("-", Color::Yellow),
                Verdict::Well => ("·", Color::Green),
                Verdict::Slow => ("s", Color::Yellow),
                Verdict::Failing => ("F", Color::Red),
            };
            Span::styled(mark, palette.strong(colour))
        });
        let label = "last hour, one mark a minute (· well, s slow, F failing, - not measured): ";
        lines.push(std::iter::once(Span::raw(label)).chain(marks).collect());
        lines.extend(status.findings.iter().rev().take(3).map(|finding| Line::from(found(finding))));
    }
    if let Some(dead_letters) = status.dead_letters {
        let watched = alarms(status).map_or_else(|| "no alarms".into(), |alarms| format!("alarms: {alarms}"));
        lines.push(Line::from(format!("dead letters {dead_letters}   {watched}")));
    }
    for alarm in status.alarms.iter().filter(|alarm| alarm.state == AlarmState::Ringing).take(3) {
        let rings = format!("{}: {}", alarm.name, alarm.reason);
        lines.push(Line::from(Span::styled(rings, palette.strong(Color::Red))));
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
    const WIDTH: u16 = 6;
    const GAP: u16 = 1;

    let fit = usize::from(area.width.saturating_sub(2) / (WIDTH + GAP)).max(1);
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
        .bar_width(WIDTH)
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
        (status.dead_letters, status.released) = (None, 0);
        let mut course = Course::new("demo".parse().unwrap(), status);
        course.problem = Some("could not reach the room demo".into());
        let expected = snapbox::file!["opened.txt"];
        snapbox::assert_data_eq!(picture(&course, 80, 24), expected.raw());
    }

    #[test]
    fn any_size_can_be_drawn() {
        for (width, height) in [(1, 1), (5, 3), (20, 8), (300, 100)] {
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
