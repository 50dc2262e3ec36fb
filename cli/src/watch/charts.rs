//! The two charts: who waits, and who was released in each minute.

use control::Course;
use document::CheckMark;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::{Axis, Bar, BarChart, BarGroup, Block, Chart, Dataset, GraphType};
use report::why_no_rate;
use waitroom::Rate;

/// A colour is never the only sign: a word always says the same.
#[derive(Clone, Copy)]
pub(super) struct Palette {
    pub(super) has_colours: bool,
}

impl Palette {
    pub(super) fn of(self, colour: Color) -> Style {
        if self.has_colours { Style::new().fg(colour) } else { Style::new() }
    }

    pub(super) fn marked(self, mark: CheckMark) -> Style {
        self.strong(match mark {
            CheckMark::Good => Color::Green,
            CheckMark::Doubtful => Color::Yellow,
            CheckMark::Bad => Color::Red,
        })
    }

    pub(super) fn strong(self, colour: Color) -> Style {
        self.of(colour).add_modifier(Modifier::BOLD)
    }
}

pub(super) fn draw_waiting(frame: &mut Frame<'_>, course: &Course, palette: Palette, area: Rect) {
    let points = course.own_waiting();
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

/// The rate in force of a minute, below its bar, or why there was none.
fn below(rate: Option<Rate>, why_none: &str) -> String {
    rate.map_or_else(|| why_none.into(), |rate| format!("/{rate}"))
}

/// A bar for each minute, the last one for the minute that is not over.
pub(super) fn draw_minutes(frame: &mut Frame<'_>, course: &Course, palette: Palette, area: Rect) {
    const GAP: u16 = 1;

    let room = &course.latest.room;
    let now =
        (course.released_since(), room.releases().then_some(course.latest.line.rate), room.state.as_str());
    let counts = course.own_minutes();
    let why_none = why_no_rate(&counts, &course.entries, room.state);
    let before = counts.iter().zip(why_none).rev();
    let before = before.map(|(minute, why_none)| (minute.released, minute.rate, why_none));
    let minutes: Vec<_> = std::iter::once(now).chain(before).collect();
    // As wide as the longest number, at least for a usual rate.
    let longest = minutes
        .iter()
        .map(|(released, rate, why_none)| below(*rate, why_none).len().max(released.to_string().len()));
    let longest = longest.max();
    let width = u16::try_from(longest.unwrap_or_default()).unwrap_or(u16::MAX).max(6);
    let fit = usize::from(area.width.saturating_sub(2) / (width + GAP)).max(1);
    let shown = &minutes[..fit.min(minutes.len())];
    let bar = |(released, rate, why_none): &(u64, Option<Rate>, &str)| {
        let bar = Bar::default().value(*released).text_value(released.to_string());
        bar.label(Line::from(below(*rate, why_none)))
    };
    let bars: Vec<_> = shown.iter().rev().map(bar).collect();
    let highest =
        shown.iter().map(|(released, rate, _)| (*released).max(rate.map_or(0, |rate| rate.get().into())));
    let chart = BarChart::default()
        .block(Block::bordered().title(" released/rate each minute "))
        .data(BarGroup::default().bars(&bars))
        .bar_width(width)
        .bar_gap(GAP)
        .bar_style(palette.of(Color::Green))
        .value_style(Style::new().add_modifier(Modifier::REVERSED))
        .max(highest.max().unwrap_or(1).max(1));
    frame.render_widget(chart, area);
}
