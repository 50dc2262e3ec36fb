//! What `simulate` reads, a scenario file, and what it tells: a [`SimulationAnswer`] as text, as a page and as JSON.

mod answer;
mod html;
mod plots;
pub(crate) mod scenario_file;
mod text;

pub(crate) use answer::{ScenarioInputs, SimulationAnswer};
