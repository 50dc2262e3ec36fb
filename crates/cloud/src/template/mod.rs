//! Reads `infra/template.yaml` as CloudFormation does, without AWS.
//!
//! [`TEMPLATE`] is the text, [`parse`] converts it to JSON, and [`Stack`] fills in parameters and evaluates conditions.

mod resolved;
mod yaml;

pub use resolved::Stack;
pub use yaml::parse;

/// The template that is deployed.
pub const TEMPLATE: &str = include_str!("../../../../infra/template.yaml");

/// The template is invalid, or uses something that this module does not support.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("could not read the template: {0}")]
pub struct TemplateError(pub(crate) String);

type Result<T> = std::result::Result<T, TemplateError>;
