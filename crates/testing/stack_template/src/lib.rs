//! Tests of `infra/template.yaml`, the room on AWS, without deploying it. `tests/it` has the tests, this library what
//! they need:
//!
//! - [`Stack`] is the template as CloudFormation sees it, with parameters filled in and conditions evaluated. Tests ask
//!   it which resources exist, and what each role allows.
//! - [`Route`] is a method of the API, and [`MappingTemplate`] the Velocity text that turns a request into a call to
//!   DynamoDB, or DynamoDB's response into the answer.
//! - [`Velocity`] renders a mapping template. It runs Apache Velocity 1.7, the engine that API Gateway's language comes
//!   from, in a Java process (`java/Render.java`). It needs Java 17 or newer, and downloads Velocity when it first runs.
//!
//! Test support only: no product code depends on it.

mod mapping;
mod velocity;

pub use cloud::template::{EdgeFirewall, Stack};
pub use mapping::{ApiMethod, MappingTemplate};
pub use velocity::{Rendered, TemplateRequest, Velocity};

use std::path::PathBuf;

use emulators::workspace;

/// The path of the template that is deployed.
pub fn path() -> PathBuf {
    workspace::root().join("infra/template.yaml")
}
