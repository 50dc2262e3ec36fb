use std::time::Duration;

use clap::Args;

use crate::arguments::Which;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  beekeeper logs spring-sale
  beekeeper logs spring-sale --since 2h
  beekeeper logs spring-sale --follow
  beekeeper logs spring-sale --json | jq .text")]
pub(crate) struct Logs {
    #[command(flatten)]
    pub(crate) which: Which,
    /// How far back to start: 30s, 10m, 2h, 1d
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = humantime::parse_duration)]
    pub(crate) since: Duration,
    /// Keep printing new lines until Ctrl-C
    #[arg(long)]
    pub(crate) follow: bool,
}
