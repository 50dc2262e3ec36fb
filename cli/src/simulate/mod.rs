//! What `simulate` tells: a [`SimulationAnswer`] as text, as a page and as JSON.

mod answer;
mod html;
mod plots;
mod text;

pub(crate) use answer::{ScenarioInputs, SimulationAnswer};
