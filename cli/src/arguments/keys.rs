//! `beekeeper keys` and its commands.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::{Which, examples, time};

#[derive(Debug, Args)]
pub(crate) struct ManageKeys {
    #[command(subcommand)]
    pub(crate) command: KeysCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Show the published keys: which one signs, and how long each stays published
    #[command(
        after_help = examples("Examples:\n  beekeeper keys list spring-sale\n  beekeeper keys list --local --json")
    )]
    List(Which),
    /// Sign with another key; passes that are out stay valid
    ///
    /// The room makes the new key when it signs the next pass, and publishes it at once. It signs with it six minutes later,
    /// when every shop has had time to read it. The key before it stays published until its last pass has expired.
    #[command(
        after_help = "Examples:\n  beekeeper keys rotate spring-sale\n  beekeeper keys rotate spring-sale --lead-time 2h"
    )]
    Rotate(RotateKeys),
    /// Unpublish a key at once, because somebody else has it; asks first
    ///
    /// Shops refuse the passes that it has signed as soon as they read the published keys again: within five minutes, if they
    /// keep to what the room allows. Visitors with such a pass get another one at the door, as long as their admission is
    /// valid. If it was the key that signs, the room makes another one when it signs the next pass.
    #[command(
        after_help = examples("Examples:\n  beekeeper keys drop spring-sale Qm9vdH\n  beekeeper keys drop --local Qm9vdH --yes")
    )]
    Drop(DropKey),
    /// Print a new report key for the shop's guards, in a room with a limit of active visitors
    ///
    /// A guard shows it when it reports how many visitors are in the shop: `beekeeper guard --report-key FILE`. The key before it
    /// counts no more, so give every guard the new one. Until then the room counts with what they reported last. Asks first
    /// if the room has a key.
    #[command(
        after_help = examples("Examples:\n  beekeeper keys guard spring-sale > report.key\n  beekeeper keys guard --local")
    )]
    Guard(Which),
}

#[derive(Debug, Args)]
pub(crate) struct RotateKeys {
    #[command(flatten)]
    pub(crate) which: Which,
    /// How long to publish the new key before the room signs with it, from 6m to 1d. An HTTP API at Amazon API Gateway keeps
    /// the published keys for up to 2h
    #[arg(long, value_name = "DURATION", default_value = "6m", value_parser = time::between("6m", "1d"))]
    pub(crate) lead_time: Duration,
}

#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub(crate) struct DropKey {
    #[command(flatten)]
    pub(crate) which: Which,
    /// The id of the key, or its beginning; without a hyphen that it begins with
    #[arg(allow_hyphen_values = true)]
    pub(crate) id: String,
}
