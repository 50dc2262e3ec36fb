//! One description of a plot, drawn twice: as text for the terminal ([`Plot::text`]), and as SVG for a page
//! ([`Plot::svg`]). Both have ticks at round values, and tell series apart without colour.

mod description;
mod scale;
mod svg;
mod text;

pub use description::{Plot, PlotAxis, PlotSeries, PlotShape};
pub(crate) use svg::PLOT_CSS;
