//! A plot for a page, as SVG. Its colours are in [`PLOT_CSS`], so that they follow the reader's choice of light or dark.

use std::fmt::Write as _;

use page::escape;

use super::description::{Bounds, Plot, PlotSeries, PlotShape};
use super::scale::{Scale, caption, place};
use crate::words;

/// What a page that contains plots has in its style sheet. Series also differ in their dashes, for those who see no
/// difference between the colours, and for black and white paper.
pub(crate) const PLOT_CSS: &str = include_str!("plot.css");

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 280.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 44.0;
const RIGHT: f64 = 16.0;
/// About how wide a character is.
const CHARACTER: f64 = 8.0;
/// How many colours the style sheet has.
const COLOURS: usize = 6;

/// Where the points lie in the picture.
struct Frame {
    columns: Scale,
    values: Scale,
    left: f64,
}

impl Plot {
    /// An element `<svg>`. `number` makes its ids unique in the page.
    pub(crate) fn svg(&self, number: usize) -> String {
        let title = escape(&self.title);
        let bounds = self.bounds();
        let height = if bounds.is_some() { HEIGHT } else { 48.0 };
        let mut svg = format!(
            "<svg class=\"plot\" role=\"img\" viewBox=\"0 0 {WIDTH} {height}\" aria-labelledby=\"plot-{number}\" \
             aria-describedby=\"plot-{number}-is\" xmlns=\"http://www.w3.org/2000/svg\">\n\
             <title id=\"plot-{number}\">{title}</title>\n<desc id=\"plot-{number}-is\">{}</desc>\n\
             <text class=\"title\" x=\"0\" y=\"16\">{title} <tspan class=\"unit\">{}</tspan></text>\n",
            escape(&self.description()),
            escape(&self.unit),
        );
        match bounds {
            Some(bounds) => svg.push_str(&self.drawing(bounds)),
            None => svg.push_str("<text x=\"0\" y=\"40\">nothing to show</text>\n"),
        }
        svg + "</svg>\n"
    }

    /// The plot in words, for those who do not see it.
    fn description(&self) -> String {
        let Some(bounds) = self.bounds() else { return "Nothing to show.".into() };
        let (first, last) = (place(self.x, bounds.x.0), place(self.x, bounds.x.1));
        let mut text = format!("From {first} to {last}, {}.", caption(self.x, bounds.x));
        for series in &self.series {
            let points = series.drawable();
            let highest = points.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a });
            if let (Some((x, y)), Some((_, end))) = (highest, points.last()) {
                let (name, unit) = (&series.name, &self.unit);
                let (at, y, end) = (place(self.x, x), words::number(y), words::number(*end));
                let _ = write!(text, " {name} ({unit}): at most {y}, at {at}; {end} at the end.");
            }
        }
        text
    }

    fn drawing(&self, bounds: Bounds) -> String {
        let values = Scale::of_values(bounds.y, 5);
        let longest = values.ticks.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0);
        let left = CHARACTER * f64::from(u32::try_from(longest).unwrap_or(0)) + 10.0;
        let frame = Frame { columns: Scale::of_axis(self.x, bounds.x, 8), values, left };
        let mut svg = self.svg_legend();
        frame.axes(&mut svg, &caption(self.x, bounds.x));
        for (index, series) in self.in_drawing_order() {
            if series.shape == PlotShape::Bars {
                frame.bars(&mut svg, index, series, self.bar_width(series));
            } else {
                frame.line(&mut svg, index, series);
            }
        }
        svg
    }

    fn svg_legend(&self) -> String {
        let mut svg = String::new();
        let mut x = 0.0;
        for (index, series) in self.series.iter().enumerate() {
            let colour = index % COLOURS;
            let sign = match series.shape {
                PlotShape::Bars => {
                    format!(
                        "<rect class=\"bar c{colour}\" x=\"{x:.1}\" y=\"30\" width=\"20\" height=\"11\"/>"
                    )
                }
                _ => format!("<path class=\"line c{colour}\" d=\"M{x:.1} 36h20\"/>"),
            };
            let _ =
                writeln!(svg, "{sign}<text x=\"{:.1}\" y=\"40\">{}</text>", x + 26.0, escape(&series.name));
            x += 26.0 + CHARACTER * f64::from(u32::try_from(series.name.chars().count()).unwrap_or(0)) + 18.0;
        }
        svg
    }
}

impl Frame {
    fn x(&self, value: f64) -> f64 {
        self.left + self.columns.position(value) * (WIDTH - RIGHT - self.left)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.values.position(value) * (HEIGHT - BOTTOM - TOP)
    }

    fn axes(&self, svg: &mut String, caption: &str) {
        let (left, right, bottom) = (self.left, WIDTH - RIGHT, HEIGHT - BOTTOM);
        for (value, label) in &self.values.ticks {
            let y = self.y(*value);
            let class = if *value == 0.0 { "axis" } else { "grid" };
            let _ = writeln!(
                svg,
                "<path class=\"{class}\" d=\"M{left:.1} {y:.1}H{right:.1}\"/>\
                 <text class=\"end\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
                left - 8.0,
                y + 4.5
            );
        }
        for (value, label) in &self.columns.ticks {
            let x = self.x(*value);
            let half = CHARACTER * f64::from(u32::try_from(label.chars().count()).unwrap_or(0)) / 2.0;
            let class = if x + half > WIDTH { "end" } else { "middle" };
            let at = if x + half > WIDTH { WIDTH } else { x };
            let _ = writeln!(
                svg,
                "<path class=\"axis\" d=\"M{x:.1} {bottom:.1}v5\"/>\
                 <text class=\"{class}\" x=\"{at:.1}\" y=\"{:.1}\">{}</text>",
                bottom + 19.0,
                escape(label)
            );
        }
        let _ = writeln!(
            svg,
            "<text class=\"unit end\" x=\"{right:.1}\" y=\"{:.1}\">{}</text>",
            bottom + 37.0,
            escape(caption)
        );
    }

    fn bars(&self, svg: &mut String, index: usize, series: &PlotSeries, width: f64) {
        let mut path = String::new();
        for (x, y) in series.thinned((self.columns.low, self.columns.high), WIDTH) {
            let (from, to) = (self.x(x), self.x(x + width));
            // A little air between two bars, if there is room for it.
            let gap = if to - from > 4.0 { 1.0 } else { 0.0 };
            let (top, zero) = (self.y(y), self.y(0.0));
            let wide = (to - from - gap).max(1.0);
            let _ = write!(path, "M{from:.1} {zero:.1}V{top:.1}h{wide:.1}V{zero:.1}z");
        }
        let _ = writeln!(svg, "<path class=\"bar c{}\" d=\"{path}\"/>", index % COLOURS);
    }

    fn line(&self, svg: &mut String, index: usize, series: &PlotSeries) {
        let colour = index % COLOURS;
        let points = series.thinned((self.columns.low, self.columns.high), WIDTH);
        let corners = series.corners(&points, self.columns.high);
        if let [(x, y)] = corners[..] {
            let (x, y) = (self.x(x), self.y(y));
            let _ = writeln!(svg, "<circle class=\"point c{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>");
            return;
        }
        let mut path = String::new();
        for (x, y) in corners {
            let sign = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{sign}{:.1} {:.1}", self.x(x), self.y(y));
        }
        let _ = writeln!(svg, "<path class=\"line c{colour}\" d=\"{path}\"/>");
    }
}

#[cfg(test)]
mod tests {
    use super::super::description::PlotAxis;
    use super::*;

    fn plot(shape: PlotShape, points: &[(f64, f64)]) -> Plot {
        let series = PlotSeries { name: "<waiting> & \"so\"".into(), shape, points: points.to_vec() };
        let unit = "<b>visitors</b>".into();
        Plot { title: "A < B".into(), unit, x: PlotAxis::Elapsed, series: vec![series] }
    }

    #[test]
    fn texts_are_escaped() {
        let svg = plot(PlotShape::Line, &[(0.0, 1.0), (1.0, 2.0)]).svg(1);
        for text in ["A &lt; B", "&lt;b&gt;visitors", "&lt;waiting&gt; &amp; &quot;so&quot;"] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
        for text in ["A < B", "<b>", "<waiting>"] {
            assert!(!svg.contains(text), "{text} in {svg}");
        }
    }

    #[test]
    fn whoever_does_not_see_it_hears_what_it_says() {
        let svg = plot(PlotShape::Steps, &[(0.0, 1.0), (1.0, 2000.0), (2.0, 0.0)]).svg(7);
        assert!(svg.contains("role=\"img\"") && svg.contains("aria-labelledby=\"plot-7\""), "{svg}");
        assert!(svg.contains("at most 2,000, at 1 s; 0 at the end."), "{svg}");
    }

    #[test]
    fn nothing_and_one_point_and_huge_values_are_drawn() {
        assert!(plot(PlotShape::Line, &[]).svg(1).contains(">nothing to show<"));
        assert!(plot(PlotShape::Line, &[(1.0, 2.0)]).svg(1).contains("<circle"));
        let huge = [(f64::MIN, f64::MAX), (0.0, f64::NAN), (f64::MAX, f64::MIN)];
        for shape in [PlotShape::Line, PlotShape::Steps, PlotShape::Bars] {
            let svg = plot(shape, &huge).svg(1);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
