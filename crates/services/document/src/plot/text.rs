//! A plot for the terminal.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::symbols::Marker;
use ratatui_core::widgets::Widget;
use ratatui_widgets::canvas::{Canvas, Line, Points};

use super::description::{Bounds, Plot, PlotSeries, PlotShape};
use super::scale::{Scale, caption};

/// Rows between the title and the axis.
const ROWS: u16 = 8;
const NARROWEST: u16 = 30;
/// Blocks of one to eight eighths of a cell.
const BLOCKS: [(f64, &str); 8] =
    [(1.0, "▁"), (2.0, "▂"), (3.0, "▃"), (4.0, "▄"), (5.0, "▅"), (6.0, "▆"), (7.0, "▇"), (8.0, "█")];

/// Lines are told apart by what they are drawn with. A series has the sign of its place among the lines.
const MARKERS: [(Marker, &str); 3] = [(Marker::Braille, "⠤"), (Marker::Dot, "•"), (Marker::HalfBlock, "▀")];

impl Plot {
    /// The plot in this many columns. No line ends in a space or has a colour.
    pub(crate) fn text(&self, width: u16) -> String {
        let width = width.max(NARROWEST);
        let heading = format!("{} ({})", self.title, self.unit);
        let Some(bounds) = self.bounds() else { return format!("{heading}\n  nothing to show\n") };
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, ROWS + 2));
        self.draw(bounds, &mut buffer);
        let rows = (0..buffer.area.height).map(|row| {
            let cells = (0..width).map(|column| buffer[(column, row)].symbol());
            cells.collect::<String>().trim_end().to_owned()
        });
        let mut lines = vec![heading];
        lines.extend(rows);
        lines.push(format!("  {}", caption(self.x, bounds.x)));
        lines.extend(self.text_legend());
        lines.join("\n") + "\n"
    }

    fn draw(&self, bounds: Bounds, buffer: &mut Buffer) {
        let width = buffer.area.width;
        let values = Scale::of_values(bounds.y, 4);
        let labels = values.ticks.iter().map(|(_, label)| label.chars().count());
        let left = u16::try_from(labels.max().unwrap_or(0)).unwrap_or(0).min(width / 3) + 3;
        let area = Rect::new(left, 0, width - left, ROWS);
        for row in 0..ROWS {
            buffer.set_string(left - 1, row, "│", Style::new());
        }
        for (value, label) in &values.ticks {
            let row = ROWS - 1 - cell(values.position(*value), ROWS);
            let padding = usize::from(left) - 2;
            buffer.set_string(0, row, format!("{label:>padding$} ┤"), Style::new());
        }
        let columns = Scale::of_axis(self.x, bounds.x, usize::from(area.width / 9));
        buffer.set_string(left - 1, ROWS, "└", Style::new());
        buffer.set_string(left, ROWS, "─".repeat(area.width.into()), Style::new());
        let mut free = 0;
        for (value, label) in &columns.ticks {
            let column = left + cell(columns.position(*value), area.width);
            buffer.set_string(column, ROWS, "┬", Style::new());
            let length = u16::try_from(label.chars().count()).unwrap_or(width).min(width);
            let start = column.saturating_sub(length / 2).min(width - length);
            if start >= free {
                buffer.set_string(start, ROWS + 1, label, Style::new());
                free = start + length + 1;
            }
        }
        for (index, series) in self.in_drawing_order() {
            if series.shape == PlotShape::Bars {
                self.draw_bars(series, &columns, &values, area, buffer);
            } else {
                let marker = MARKERS[self.place_among_lines(index) % MARKERS.len()].0;
                draw_line(series, &columns, &values, marker, area, buffer);
            }
        }
    }

    fn draw_bars(
        &self,
        series: &PlotSeries,
        columns: &Scale,
        values: &Scale,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        let width = self.bar_width(series);
        let mut highest = vec![None::<f64>; area.width.into()];
        for (x, y) in series.drawable() {
            let first = cell(columns.position(x), area.width);
            // A bar ends where the next one begins.
            let end = (columns.position(x + width) * f64::from(area.width)).round();
            for column in first..area.width {
                if column > first && f64::from(column) >= end {
                    break;
                }
                let slot = &mut highest[usize::from(column)];
                *slot = Some(slot.map_or(y, |so_far| so_far.max(y)));
            }
        }
        for (column, y) in (area.x..).zip(highest) {
            let Some(y) = y.filter(|y| *y > 0.0) else { continue };
            // In eighths of a row, at least one, so that few are not none.
            let eighths = (values.position(y) * f64::from(8 * area.height)).round().max(1.0);
            for row in 0..area.height {
                let filled = eighths - f64::from(8 * row);
                let block = BLOCKS.iter().rfind(|(eighths, _)| filled >= *eighths);
                if let Some((_, block)) = block {
                    buffer[(column, area.bottom() - 1 - row)].set_symbol(block);
                }
            }
        }
    }

    fn place_among_lines(&self, index: usize) -> usize {
        self.series[..index].iter().filter(|series| series.shape != PlotShape::Bars).count()
    }

    /// Which sign stands for which series.
    fn text_legend(&self) -> Option<String> {
        let sign = |(index, series): (usize, &PlotSeries)| match series.shape {
            PlotShape::Bars => "█",
            _ => MARKERS[self.place_among_lines(index) % MARKERS.len()].1,
        };
        let series = self.series.iter().enumerate();
        let entries: Vec<_> =
            series.map(|(index, series)| format!("{} {}", sign((index, series)), series.name)).collect();
        (!entries.is_empty()).then(|| format!("  {}", entries.join("   ")))
    }
}

fn draw_line(
    series: &PlotSeries,
    columns: &Scale,
    values: &Scale,
    marker: Marker,
    area: Rect,
    buffer: &mut Buffer,
) {
    let points = series.thinned((columns.low, columns.high), f64::from(2 * area.width));
    let corners = series.corners(&points, columns.high);
    let canvas = Canvas::default()
        .marker(marker)
        .x_bounds([columns.low, columns.high])
        .y_bounds([values.low, values.high])
        .paint(|context| {
            context.draw(&Points { coords: &corners, ..Points::default() });
            for pair in corners.windows(2) {
                let ((x1, y1), (x2, y2)) = (pair[0], pair[1]);
                context.draw(&Line { x1, y1, x2, y2, ..Line::default() });
            }
        });
    canvas.render(area, buffer);
}

/// Which of this many cells a position from 0 to 1 is in.
fn cell(position: f64, cells: u16) -> u16 {
    let last = cells.saturating_sub(1);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and `last`")]
    let cell = (position.clamp(0.0, 1.0) * f64::from(last)).round() as u16;
    cell
}

#[cfg(test)]
mod tests {
    use super::super::description::PlotAxis;
    use super::*;

    fn series(name: &str, shape: PlotShape, points: &[(f64, f64)]) -> PlotSeries {
        PlotSeries { name: name.into(), shape, points: points.to_vec() }
    }

    fn plot(series: Vec<PlotSeries>) -> Plot {
        Plot { title: "The line".into(), unit: "visitors".into(), x: PlotAxis::Elapsed, series }
    }

    #[test]
    fn bars_and_lines_are_told_apart_without_colour() {
        let bars = [(0.0, 100.0), (60.0, 300.0), (120.0, 1.0)];
        let line = [(0.0, 0.0), (60.0, 400.0), (180.0, 0.0)];
        let plot = plot(vec![
            series("waiting", PlotShape::Line, &line),
            series("released", PlotShape::Bars, &bars),
            series("rate", PlotShape::Steps, &[(0.0, 200.0)]),
        ]);
        snapbox::assert_data_eq!(
            plot.text(40),
            snapbox::str![[r"
The line (visitors)
 400 ┤          ⡰⠑⠢⣀
     │        ⢀⠎    ⠑⠤⡀
 300 ┤       ⡠⠃  █████⠈⠑⠤⡀███
 200 ┤     ⢀⠜    ████████⠈⠑⠤⡀
     │••••••••••••••••••••••••••••••••••
 100 ┤   ⡔⠁      ████████████  ⠈⠒⢄⡀
     │█⢀⠎████████████████████     ⠈⠒⢄
   0 ┤⡰⠁█████████████████████▁▁▁▁▁▁▁▁⠉⠢⢄
     └┬──────────┬──────────┬──────────┬
      0        1 min      2 min    3 min
  since the beginning
  ⠤ waiting   █ released   • rate

"]]
        );
    }

    #[test]
    fn nothing_and_one_point_and_huge_values_are_drawn() {
        let none = plot(vec![series("waiting", PlotShape::Line, &[])]);
        assert_eq!(none.text(72), "The line (visitors)\n  nothing to show\n");
        let one = plot(vec![series("waiting", PlotShape::Line, &[(5.0, 7.0)])]).text(72);
        assert!(one.contains('⠁') || one.contains('⠈') || one.contains("⠂") || one.contains('⡀'), "{one}");
        let huge = [(f64::MIN, f64::MAX), (f64::MAX, f64::MIN), (f64::NAN, 1.0)];
        for shape in [PlotShape::Line, PlotShape::Steps, PlotShape::Bars] {
            for width in [0, 1, 30, 72, 500] {
                let text = plot(vec![series("waiting", shape, &huge)]).text(width);
                assert!(
                    text.lines().all(|line| line.chars().count() <= usize::from(width.max(NARROWEST))),
                    "{text}"
                );
            }
        }
    }
}
