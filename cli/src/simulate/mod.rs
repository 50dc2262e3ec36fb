//! What `simulate` reads, a scenario file, and what it tells: a [`SimulationAnswer`].

mod answer;
mod plots;
pub(crate) mod scenario_file;
mod sections;

pub(crate) use answer::{ScenarioInputs, SimulationAnswer};
