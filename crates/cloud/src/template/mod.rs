//! `infra/template.yaml` as CloudFormation reads it: a room's stack, before anybody makes it.
//!
//! [`TEMPLATE`] is the text, [`parse`] gives the JSON that it stands for, and [`Stack`] the template with its
//! parameters filled in and its conditions decided.

mod resolved;
mod yaml;

pub use resolved::Stack;
pub use yaml::parse;

/// The template, as it is deployed.
pub const TEMPLATE: &str = include_str!("../../../../infra/template.yaml");

/// The template says something that CloudFormation would not understand, or that is not understood here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("could not read the template: {0}")]
pub struct Misread(pub(crate) String);

type Result<T> = std::result::Result<T, Misread>;
