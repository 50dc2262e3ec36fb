//! `infra/template.yaml` as CloudFormation reads it.
//!
//! [`TEMPLATE`] is the text, [`parse`] returns it as JSON, and [`Stack`] is the template with its parameters filled in and
//! its conditions evaluated.

mod resolved;
mod yaml;

pub use resolved::Stack;
pub use yaml::parse;

/// The text of the template that is deployed.
pub const TEMPLATE: &str = include_str!("../../../../infra/template.yaml");

/// The template contains something that CloudFormation does not accept, or that is not implemented here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("could not read the template: {0}")]
pub struct Misread(pub(crate) String);

type Result<T> = std::result::Result<T, Misread>;
