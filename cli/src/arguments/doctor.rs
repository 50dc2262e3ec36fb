use clap::Args;

use super::people::people;
use super::{Which, examples};

#[derive(Debug, Args)]
#[command(after_help = examples("Examples:
  beekeeper doctor spring-sale                   before the first deployment, and the day before the event
  beekeeper doctor spring-sale --visitors 150k   compare the account's limits with 150,000 people
  beekeeper doctor --local
  beekeeper doctor spring-sale --json | jq -r '.checks[] | select(.result == \"problem\") | .advice'

Nothing is changed, and no place in line is taken. The shop gets about 25 requests.
The exit code is 0 if there is no problem; warnings are allowed: docs/doctor.md"))]
pub(crate) struct ExamineRoom {
    #[command(flatten)]
    pub(crate) which: Which,
    /// How many people you expect at most, from 1 to 100m; 150k is 150000
    #[arg(long, value_name = "PEOPLE", value_parser = people)]
    pub(crate) visitors: Option<u64>,
}
