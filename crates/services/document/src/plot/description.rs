//! What a plot shows, and what both drawings make of it first.

/// The largest value that is drawn; greater ones are cut off, so that sums and differences stay finite.
const MOST: f64 = 1e30;

/// What a plot shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    pub title: String,
    /// What the values count, such as `visitors a minute`.
    pub unit: String,
    pub x: PlotAxis,
    pub series: Vec<PlotSeries>,
}

/// What the points' first numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotAxis {
    /// Milliseconds since 1970, shown in UTC.
    Clock,
    /// Seconds since the beginning.
    Elapsed,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PlotSeries {
    pub name: String,
    pub shape: PlotShape,
    pub points: Vec<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotShape {
    /// From point to point.
    Line,
    /// A value holds until the next point.
    Steps,
    /// A bar begins at its point. All bars of a series are as wide as the smallest distance between two of them.
    Bars,
}

/// From where to where a plot goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    pub(super) x: (f64, f64),
    pub(super) y: (f64, f64),
}

impl PlotAxis {
    /// How wide the axis is that shows a single point.
    fn single(self) -> f64 {
        match self {
            Self::Clock => 60_000.0,
            Self::Elapsed => 60.0,
        }
    }
}

impl Plot {
    /// The series as they are drawn, the bars first, so that lines are above them. Each has its place in the legend.
    pub(super) fn in_drawing_order(&self) -> Vec<(usize, &PlotSeries)> {
        let is_bars = |series: &&(usize, &PlotSeries)| series.1.shape == PlotShape::Bars;
        let all: Vec<_> = self.series.iter().enumerate().collect();
        let bars = all.iter().filter(is_bars);
        bars.chain(all.iter().filter(|series| !is_bars(series))).copied().collect()
    }

    /// None if there is nothing to draw. The values begin at 0, or below.
    pub(super) fn bounds(&self) -> Option<Bounds> {
        let mut bounds: Option<Bounds> = None;
        for series in &self.series {
            let width = series.bar_width(self.x.single());
            for (x, y) in series.drawable() {
                let end = if series.shape == PlotShape::Bars { x + width } else { x };
                let so_far = bounds.unwrap_or(Bounds { x: (x, end), y: (0.0, 0.0) });
                bounds = Some(Bounds {
                    x: (so_far.x.0.min(x), so_far.x.1.max(end)),
                    y: (so_far.y.0.min(y), so_far.y.1.max(y)),
                });
            }
        }
        let mut bounds = bounds?;
        if bounds.x.1 <= bounds.x.0 {
            bounds.x.1 = bounds.x.0 + self.x.single().max(bounds.x.0.abs() * 1e-6);
        }
        Some(bounds)
    }

    pub(super) fn bar_width(&self, series: &PlotSeries) -> f64 {
        series.bar_width(self.x.single())
    }
}

impl PlotSeries {
    /// The points that can be drawn, from left to right.
    pub(super) fn drawable(&self) -> Vec<(f64, f64)> {
        let numbers = self.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
        let mut points: Vec<_> = numbers.map(|(x, y)| (x.clamp(-MOST, MOST), y.clamp(-MOST, MOST))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }

    /// As many points as make a difference in a drawing with this many columns: of each column the first, the lowest, the
    /// highest and the last one; of bars the highest one.
    pub(super) fn thinned(&self, (low, high): (f64, f64), columns: f64) -> Vec<(f64, f64)> {
        let points = self.drawable();
        let column = |x: f64| ((x - low) / (high - low) * columns).floor();
        let mut thinned = Vec::new();
        for of_one in points.chunk_by(|a, b| column(a.0).total_cmp(&column(b.0)).is_eq()) {
            let mut kept: Vec<_> = (0..of_one.len()).collect();
            kept.sort_by(|a, b| of_one[*a].1.total_cmp(&of_one[*b].1));
            let (lowest, highest) = (kept.first().copied(), kept.last().copied());
            let mut kept: Vec<_> = match self.shape {
                PlotShape::Bars => highest.into_iter().collect(),
                _ => [Some(0), lowest, highest, of_one.len().checked_sub(1)].into_iter().flatten().collect(),
            };
            kept.sort_unstable();
            kept.dedup();
            thinned.extend(kept.into_iter().map(|index| of_one[index]));
        }
        thinned
    }

    /// The corners of the line. Steps go on until `end`.
    pub(super) fn corners(&self, points: &[(f64, f64)], end: f64) -> Vec<(f64, f64)> {
        if self.shape != PlotShape::Steps {
            return points.to_vec();
        }
        let mut corners: Vec<(f64, f64)> = Vec::with_capacity(2 * points.len());
        for point in points {
            if let Some((_, before)) = corners.last() {
                corners.push((point.0, *before));
            }
            corners.push(*point);
        }
        corners.extend(points.last().map(|(_, last)| (end, *last)));
        corners
    }

    fn bar_width(&self, single: f64) -> f64 {
        let points = self.drawable();
        let distances = points.windows(2).map(|pair| pair[1].0 - pair[0].0);
        let mut distances: Vec<_> = distances.filter(|distance| *distance > 0.0).collect();
        distances.sort_by(f64::total_cmp);
        // The usual distance, and not the smallest: a room that is started again records a part of a minute.
        distances.get(distances.len().saturating_sub(1) / 2).copied().unwrap_or(single)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(shape: PlotShape, points: &[(f64, f64)]) -> Plot {
        let series = PlotSeries { name: "waiting".into(), shape, points: points.to_vec() };
        Plot { title: "The line".into(), unit: "visitors".into(), x: PlotAxis::Elapsed, series: vec![series] }
    }

    #[test]
    fn bounds_contain_zero_and_the_last_bar() {
        assert_eq!(plot(PlotShape::Line, &[]).bounds(), None);
        assert_eq!(plot(PlotShape::Line, &[(f64::NAN, 1.0), (1.0, f64::INFINITY)]).bounds(), None);
        let of = |shape, points: &[(f64, f64)]| plot(shape, points).bounds().unwrap();
        assert_eq!(of(PlotShape::Line, &[(5.0, 7.0)]), Bounds { x: (5.0, 65.0), y: (0.0, 7.0) });
        assert_eq!(
            of(PlotShape::Bars, &[(0.0, -1.0), (10.0, 1.0)]),
            Bounds { x: (0.0, 20.0), y: (-1.0, 1.0) }
        );
        let huge = of(PlotShape::Line, &[(0.0, f64::MAX), (1.0, f64::MIN)]);
        assert_eq!(huge.y, (-MOST, MOST));
    }

    #[test]
    fn a_million_points_become_a_few_with_the_same_extremes() {
        let points: Vec<_> = (0..1_000_000).map(|n| (f64::from(n), f64::from(n % 10_007))).collect();
        let plot = plot(PlotShape::Line, &points);
        let thinned = plot.series[0].thinned(plot.bounds().unwrap().x, 100.0);
        assert!((100..=404).contains(&thinned.len()), "{}", thinned.len());
        assert!(thinned.is_sorted_by_key(|point| point.0));
        assert_eq!((thinned[0], thinned[thinned.len() - 1]), (points[0], points[points.len() - 1]));
        assert!(thinned.iter().any(|point| point.1 > 10_005.5), "the highest is kept");
    }

    #[test]
    fn steps_hold_their_value() {
        let plot = plot(PlotShape::Steps, &[(0.0, 1.0), (2.0, 3.0)]);
        let corners = plot.series[0].corners(&plot.series[0].points, 9.0);
        assert_eq!(corners, [(0.0, 1.0), (2.0, 1.0), (2.0, 3.0), (9.0, 3.0)]);
    }
}
