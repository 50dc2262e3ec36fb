//! Reads `infra/template.yaml` as CloudFormation and API Gateway do, so that its tests can ask it questions.
//!
//! - [`Stack`] is the template with its parameters filled in and its conditions decided.
//! - [`MappingTemplate`] is one mapping template out of it, and [`Velocity`] the engine that renders it.
//!
//! Test support only: no product code depends on it.

mod mapping;
mod velocity;

pub use cloud::template::Stack;
pub use mapping::{MappingTemplate, Route};
pub use velocity::{Rendered, TemplateRequest, Velocity};

use std::path::PathBuf;

use emulators::workspace;

/// The template, as it is deployed.
pub fn path() -> PathBuf {
    workspace::root().join("infra/template.yaml")
}
