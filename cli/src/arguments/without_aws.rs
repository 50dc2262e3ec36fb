//! Stands in for `on_aws.rs` where this program is built without rooms on AWS.

use std::convert::Infallible;

use clap::Args;

pub(crate) type AwsCommand = Infallible;
pub(crate) type SharedTable = NoTable;

#[derive(Debug, Args)]
pub(crate) struct NoTable {}
