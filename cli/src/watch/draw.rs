//! Draws the charts of a room. The same readings always give the same picture.

use std::time::Duration;

use control::wording::{
    active, alarms, found, joined, limited, mode, rate, refusals, refusals_missing, rehearsal, stock, urls,
    waits,
};
use control::{AlarmState, Course, Status, finding_mark, state_mark};
use document::{CheckMark, words};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};
use waitroom::throttle_rules::Verdict;

use super::charts::{Palette, draw_minutes, draw_waiting};
use super::fit::{by_words, fit};
use super::orders::orders;

/// Below this width there is one chart, because two would have no room for their numbers.
const TWO_CHARTS: u16 = 60;
/// Below this height only the latest finding of the throttle is shown.
const THREE_FINDINGS: u16 = 30;
/// The least height of a chart with its borders, of a box's borders, and of the last line.
const CHART: u16 = 6;
const BORDERS: u16 = 2;
const FOOTER: u16 = 1;

/// `silent` is how long the room has not answered, if it should have.
pub(super) fn draw(frame: &mut Frame<'_>, course: &Course, silent: Option<Duration>, has_colours: bool) {
    let palette = Palette { has_colours };
    let status = &course.latest;
    let area = frame.area();
    // Without the borders.
    let width = area.width.saturating_sub(2);
    let is_narrow = area.width < TWO_CHARTS;
    let facts = facts(course, silent.is_some(), palette, width);
    let shop = shop(status, palette, width, if area.height < THREE_FINDINGS { 1 } else { 3 });
    let fixed =
        |lines: &[Line<'_>]| Constraint::Length(u16::try_from(lines.len()).unwrap_or(u16::MAX) + BORDERS);
    let shown = facts.len() + shop.len() + 2 * usize::from(BORDERS) + usize::from(CHART + FOOTER);
    let orders = orders(course, width, usize::from(area.height).saturating_sub(shown));
    // Without room for an order there is no box for orders.
    let for_orders = if orders.is_empty() { Constraint::Length(0) } else { fixed(&orders) };
    let [above, charts, in_between, below, footer] = Layout::vertical([
        fixed(&facts),
        Constraint::Min(CHART),
        for_orders,
        fixed(&shop),
        Constraint::Length(FOOTER),
    ])
    .areas(area);
    let title = format!(" {} ({}) ", status.room.settings.title, course.name);
    frame.render_widget(Paragraph::new(facts).block(Block::bordered().title(title)), above);
    if is_narrow {
        draw_waiting(frame, course, palette, charts);
    } else {
        let [left, right] =
            Layout::horizontal([Constraint::Percentage(55), Constraint::Percentage(45)]).areas(charts);
        draw_waiting(frame, course, palette, left);
        draw_minutes(frame, course, palette, right);
    }
    frame.render_widget(Paragraph::new(orders).block(Block::bordered().title(" orders ")), in_between);
    frame.render_widget(Paragraph::new(shop).block(Block::bordered().title(" shop and alarms ")), below);
    frame.render_widget(footer_line(course, silent, palette), footer);
}

fn facts(course: &Course, silent: bool, palette: Palette, width: u16) -> Vec<Line<'static>> {
    const GAP: &str = "   ";

    let status = &course.latest;
    let (room, line) = (&status.room, &status.line);
    let state = room.state.as_str().to_uppercase();
    // What follows is the last that was known.
    let (state, mark) = if silent || course.problem.is_some() {
        ("NO ANSWER".into(), CheckMark::Bad)
    } else {
        (state, state_mark(room.state))
    };
    let mut numbers = vec![
        Span::styled(state, palette.marked(mark)),
        Span::raw(format!("joined {}", joined(status))),
        Span::raw(format!("waiting {}", line.waiting)),
        Span::raw(format!("released {}", status.released)),
    ];
    numbers.extend(waits(status).map(Span::raw));
    if room.stretch != waitroom::Stretch::USUAL {
        numbers.push(Span::raw(format!("stretch {}", room.stretch)));
    }
    let mut lines = fit(numbers.into_iter().map(|number| (GAP, number)), width);

    let (plain, yellow) = (Style::new(), palette.strong(Color::Yellow));
    let yellow_if = |is_so| if is_so { yellow } else { plain };
    let misses_guard = status.active.is_some_and(|active| active.misses_guard(course.at));
    let message = room.settings.message.as_str();
    let mut told: Vec<(String, Style)> = Vec::new();
    told.extend(refusals(status).map(|refusals| (refusals, palette.strong(Color::Red))));
    told.extend(refusals_missing(status).map(|missing| (format!("refused {missing}"), plain)));
    told.extend(rehearsal(room).map(|left| (format!("rehearsal {left}"), yellow)));
    told.extend(mode(room).map(|mode| (mode.to_owned(), yellow)));
    told.extend(room.ahead().map(|(turns, at)| (format!("{turns} {}", words::at(at)), yellow)));
    told.extend(stock(status).map(|stock| (format!("stock {stock}"), yellow)));
    told.push((format!("rate {}", rate(status)), yellow_if(line.slow)));
    told.extend(
        active(status, course.at).map(|active| (format!("active {active}"), yellow_if(misses_guard))),
    );
    told.extend(limited(status).map(|limited| (limited, plain)));
    if !message.is_empty() {
        told.push((format!("message {message:?}"), plain));
    }
    told.push((urls(status).0, plain));
    lines.extend(told.iter().flat_map(|(text, style)| fit(by_words(text, *style), width)));
    lines
}

fn shop(status: &Status, palette: Palette, width: u16, findings: usize) -> Vec<Line<'static>> {
    let plain = |text: &str| fit(by_words(text, Style::new()), width);
    let mut lines = Vec::new();
    if status.findings.is_empty() {
        lines.extend(plain("no measurements lately: the throttle is off, starts or fails"));
    } else {
        let marks = status.findings.iter().enumerate().map(|(at, finding)| {
            let mark = match finding.verdict {
                _ if finding.refused => "-",
                Verdict::Well => "·",
                Verdict::Slow => "s",
                Verdict::Failing => "F",
            };
            let style = palette.marked(finding_mark(finding));
            (if at == 0 { " " } else { "" }, Span::styled(mark, style))
        });
        let label = "last hour, one mark a minute (· well, s slow, F failing, - not measured):";
        lines.extend(fit(by_words(label, Style::new()).chain(marks), width));
        lines.extend(status.findings.iter().rev().take(findings).flat_map(|finding| plain(&found(finding))));
    }
    let dead_letters = status.dead_letters.map(|letters| format!("dead letters {letters}"));
    let watched = alarms(status).map(|alarms| format!("alarms: {alarms}"));
    let watched = watched.or_else(|| dead_letters.is_some().then(|| "no alarms".into()));
    let both = dead_letters.into_iter().chain(watched);
    lines.extend(fit(both.map(|fact| ("   ", Span::raw(fact))), width));
    for alarm in status.alarms.iter().filter(|alarm| alarm.state == AlarmState::Ringing).take(3) {
        let rings = format!("{}: {}", alarm.name, alarm.told());
        lines.extend(fit(by_words(&rings, palette.strong(Color::Red)), width));
    }
    lines
}

fn footer_line(course: &Course, silent: Option<Duration>, palette: Palette) -> Line<'static> {
    let at = course.at.to_string();
    let (_, at) = at.split_once(' ').unwrap_or_default();
    let red = palette.strong(Color::Red);
    match (&course.problem, silent) {
        (Some(problem), _) => Line::from(Span::styled(format!("out of date since {at}: {problem}"), red)),
        (None, Some(silent)) => Line::from(vec![
            Span::styled(format!("no answer for {}", words::time(silent.as_secs())), red),
            Span::raw(format!("   as of {at}")),
        ]),
        (None, None) => Line::from(format!("q quits   as of {at}")),
    }
}

#[cfg(test)]
mod tests {
    use control::example::{minute_record, suffering};
    use control::{ActiveStatus, Reading};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use waitroom::{
        ActiveCount, AuditEntry, AuditedChange, Author, MinuteRecord, Mode, Rate, Refusals, Stretch,
        Timestamp,
    };

    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    fn reading(at: Timestamp, status: Status, records: Vec<MinuteRecord>) -> Reading {
        let entry = |number, minutes, who: &str, change| AuditEntry {
            number,
            at: at - minutes * MINUTE,
            who: Author::new(who),
            change,
            undoes: None,
        };
        let rate = |per_minute| Rate::new(per_minute).unwrap();
        let entries = vec![
            entry(1, 2000, "anna", AuditedChange::Stretch { from: Stretch::USUAL, to: Stretch::MAX }),
            entry(2, 9, "anna", AuditedChange::Rate { from: rate(300), to: rate(600) }),
            entry(3, 6, "throttle", AuditedChange::Throttle { from: rate(600), to: rate(300) }),
        ];
        Reading { at, status, records, entries }
    }

    /// A room whose history has ten minutes, in which its line grew.
    fn watched() -> Course {
        let start = Timestamp::from_millis(1_774_000_020_000);
        let record = |minute: u32| {
            let released = (1..=u64::from(minute)).map(|minute| 300 - minute * 13).sum();
            minute_record(start + minute * MINUTE, 9000 + u64::from(minute * minute) * 90, released)
        };
        let mut status = suffering();
        status.released = 2316;
        status.line.waiting = 15_800;
        status.joined = status.released + status.line.waiting;
        let now = start + 10 * MINUTE + MINUTE / 2;
        let records = (0..=10).map(record).collect();
        Course::new("spring-sale".parse().unwrap(), reading(now, status, records))
    }

    fn picture(course: &Course, width: u16, height: u16) -> String {
        picture_in_silence(course, None, width, height)
    }

    fn picture_in_silence(course: &Course, silent: Option<Duration>, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, course, silent, false)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let rows = buffer.content().chunks(usize::from(width));
        let rows = rows.map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>());
        rows.map(|row| row.trim_end().to_owned() + "\n").collect()
    }

    /// What is drawn in this colour, without the gaps between words.
    fn in_colour(course: &Course, colour: Color) -> String {
        let mut terminal = Terminal::new(TestBackend::new(100, 30)).unwrap();
        terminal.draw(|frame| draw(frame, course, None, true)).unwrap();
        let cells = terminal.backend().buffer().content().iter().filter(|cell| cell.fg == colour);
        cells.map(ratatui::buffer::Cell::symbol).collect()
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
        status.line = waitroom::LineStatus::of(&status.room, waitroom::LineReach::default(), 0, None);
        (status.findings, status.windows, status.alarms) = (Vec::new(), Vec::new(), Vec::new());
        (status.dead_letters, status.joined, status.released) = (None, 0, 0);
        (status.wait, status.longest_wait) = (Some(0), None);
        let now = Timestamp::from_millis(1_774_000_000_000);
        let opened = Reading { entries: Vec::new(), ..reading(now, status, Vec::new()) };
        let mut course = Course::new("demo".parse().unwrap(), opened);
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
        fastest.latest.line.rate = Rate::MAX;
        fastest.latest.released = 1_000_000;
        for width in 40..=120 {
            let picture = picture(&fastest, width, 40);
            assert!(picture.contains("waiting 1000000"), "{picture}");
            assert!(width < TWO_CHARTS || picture.contains("/270000"), "{picture}");
        }
    }

    #[test]
    fn a_room_that_opens_by_itself_says_when() {
        let mut course = watched();
        course.latest.room.open_at(waitroom::Timestamp::from_millis(1_804_244_400_000));
        let picture = picture(&course, 100, 30);
        assert!(picture.contains("PAUSED") && picture.contains("opens 2027-03-05 "), "{picture}");
    }

    #[test]
    fn a_room_that_refuses_visitors_says_so_in_red() {
        let mut course = watched();
        let refused = |reason: &str| {
            Some(Refusals { requests: 36_251, since: Timestamp::default(), reason: reason.into() })
        };
        course.latest.refusals = refused("the disk of /srv/room is full");
        course.latest.limited = refused("203.0.113.9 took too many places");
        let picture = picture(&course, 100, 30);
        assert!(
            picture.contains("│REFUSED 36251 in two minutes: the disk of /srv/room is full "),
            "{picture}"
        );
        assert!(picture.contains("│--join-limit refused 36251 in two minutes "), "{picture}");
        let red = in_colour(&course, Color::Red);
        assert!(red.contains("REFUSED"), "{red}");
    }

    #[test]
    fn a_full_shop_that_no_guard_reports_on_is_said_in_yellow() {
        let mut course = watched();
        let count =
            ActiveCount { sessions: 5, guards: 1, reported: Some(course.at), ..ActiveCount::default() };
        course.latest.active = Some(ActiveStatus { limit: 5, count });
        let (told, yellow) = (picture(&course, 100, 30), in_colour(&course, Color::Yellow));
        assert!(told.contains("│active 5 of 5: 5 in the shop and 0 on the way; the guard"), "{told}");
        assert!(!yellow.contains("active"), "{yellow}");
        course.latest.active =
            Some(ActiveStatus { limit: 5, count: ActiveCount { reported: None, ..count } });
        let (told, yellow) = (picture(&course, 100, 30), in_colour(&course, Color::Yellow));
        assert!(told.contains("no guard reports who is in the shop "), "{told}");
        assert!(yellow.contains("active5of5,"), "{yellow}");
    }

    #[test]
    fn a_room_that_observes_or_rehearses_says_so_in_yellow() {
        let mut course = watched();
        course.latest.room.settings.mode = Mode::Observe;
        course.latest.room.rehearsal = Some("abcdefghijkmnpqr".parse().unwrap());
        let picture = picture(&course, 100, 30);
        assert!(picture.contains("│observe: everybody passes "), "{picture}");
        assert!(
            picture.contains("│rehearsal under way, or left behind: `beekeeper reset` ends it "),
            "{picture}"
        );
        let yellow = in_colour(&course, Color::Yellow);
        assert!(yellow.contains("observe:everybodypasses") && yellow.contains("rehearsalunder"), "{yellow}");
    }

    #[test]
    fn a_room_that_hangs_is_said_to_give_no_answer() {
        let footer = |width| {
            let picture = picture_in_silence(&watched(), Some(Duration::from_secs(8)), width, 30);
            picture.lines().last().map(ToOwned::to_owned)
        };
        assert_eq!(footer(100).as_deref(), Some("no answer for 8 s   as of 09:57:30 UTC"));
        let picture = picture_in_silence(&watched(), Some(Duration::from_secs(8)), 100, 30);
        assert!(picture.contains("│NO ANSWER "), "{picture}");
        assert_eq!(footer(40), footer(100));
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
            terminal.draw(|frame| draw(frame, &watched(), None, has_colours)).unwrap();
            let cells = terminal.backend().buffer().content().to_vec();
            cells.iter().any(|cell| !matches!(cell.fg, Color::Reset))
        };
        assert!(styled(true));
        assert!(!styled(false), "NO_COLOR");
    }
}
