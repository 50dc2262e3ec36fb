use document::{Plot, PlotAxis, PlotSeries, PlotShape};

use crate::answer::{SimulationAnswer, as_f64};
use crate::outcome::SimulatedMinute;

impl SimulationAnswer {
    pub(crate) fn plots(&self) -> Vec<Plot> {
        let of = |name: &str, shape: PlotShape, value: fn(&SimulatedMinute) -> u64| {
            // How many wait is counted at a minute's end. Nobody waits at the beginning.
            let is_line = shape == PlotShape::Line;
            let at = |minute: &SimulatedMinute| {
                (as_f64(60 * (minute.minute + u64::from(is_line))), as_f64(value(minute)))
            };
            let begin = is_line.then_some((0.0, 0.0));
            let points = begin.into_iter().chain(self.event.minutes.iter().map(at)).collect();
            PlotSeries { name: name.into(), shape, points }
        };
        let plot = |title: &str, unit: &str, series| Plot {
            title: title.into(),
            unit: unit.into(),
            x: PlotAxis::Elapsed,
            series,
        };
        let waiting = of("waiting", PlotShape::Line, |minute| minute.waiting.into());
        let released = of("released", PlotShape::Bars, |minute| minute.released);
        let joined = of("joined", PlotShape::Steps, |minute| minute.joined);
        let requests = of("requests", PlotShape::Bars, |minute| minute.requests_per_second.into());
        let mut plots = vec![
            plot("The line", "visitors who wait", vec![waiting]),
            plot("Each minute", "visitors", vec![joined, released]),
            plot("The busiest second of each minute", "requests", vec![requests]),
        ];
        if self.event.shop.is_some() {
            let in_shop =
                of("in the shop", PlotShape::Line, |minute| minute.in_shop.unwrap_or_default().into());
            plots.insert(1, plot("The shop", "visitors at once", vec![in_shop]));
        }
        if self.event.minutes.iter().any(|minute| minute.rate != self.scenario.rate) {
            let title = if self.scenario.orders.is_empty() { "The throttle" } else { "The rate in force" };
            let rate = of("rate in force", PlotShape::Steps, |minute| minute.rate.into());
            plots.push(plot(title, "visitors a minute", vec![rate]));
        }
        plots
    }
}
