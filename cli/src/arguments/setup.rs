//! `beekeeper setup` and what it sets up.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// Where Debian's nginx begins to read, and where our package has the flags of the services.
pub(crate) const NGINX_CONF: &str = "/etc/nginx/nginx.conf";
pub(crate) const ROOM_FILE: &str = "/etc/beekeeper/room.toml";
pub(crate) const GUARD_FILE: &str = "/etc/beekeeper/guard.toml";

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sudo beekeeper setup nginx     room and guard in the nginx of a shop: docs/one-machine.md"
)]
pub(crate) struct SetUp {
    #[command(subcommand)]
    pub(crate) what: WhatToSetUp,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WhatToSetUp {
    /// Add the room, and the guard of the shop, to the nginx in front of a shop; shows what changes, asks, and can undo it
    ///
    /// Each run goes as far as it can, and says what comes next: the room's name at port 80, then https once there is a
    /// certificate, then the shop behind the guard once that runs. Your own lines stay as they are. The files that were there are
    /// kept, nginx tests the new ones, and if it refuses them everything is put back.
    #[command(after_help = "Examples:
  sudo beekeeper setup nginx
  sudo beekeeper setup nginx --dry-run
  sudo beekeeper setup nginx --shop-file /etc/nginx/sites-available/shop
  sudo beekeeper setup nginx --undo

The names, and where room and guard listen, are those in /etc/beekeeper/room.toml and guard.toml: docs/one-machine.md")]
    Nginx(SetUpNginx),
}

#[derive(Debug, Args)]
pub(crate) struct SetUpNginx {
    /// Show what would change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take out what it added, and keep what you edited since
    #[arg(long)]
    pub(crate) undo: bool,
    /// Main file of nginx
    #[arg(long, value_name = "FILE", default_value = NGINX_CONF, value_hint = ValueHint::FilePath)]
    pub(crate) conf: PathBuf,
    /// File with the shop's server block, if several files have one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) shop_file: Option<PathBuf>,
    /// Flags of the room: its name, its URL, the shop's URL, where it listens
    #[arg(long, value_name = "FILE", default_value = ROOM_FILE, value_hint = ValueHint::FilePath)]
    pub(crate) room_file: PathBuf,
    /// Flags of the guard: where it listens
    #[arg(long, value_name = "FILE", default_value = GUARD_FILE, value_hint = ValueHint::FilePath)]
    pub(crate) guard_file: PathBuf,
    /// Folder of the room's certificate: fullchain.pem and privkey.pem [default: certbot's, /etc/letsencrypt/live/NAME]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) certificate: Option<PathBuf>,
    /// Folder from which nginx answers those who issue certificates
    #[arg(long, value_name = "DIR", default_value = "/var/www/beekeeper", value_hint = ValueHint::DirPath)]
    pub(crate) webroot: PathBuf,
    /// Folder that keeps your files as they were
    #[arg(long, value_name = "DIR", default_value = "/var/lib/beekeeper-setup", value_hint = ValueHint::DirPath)]
    pub(crate) kept: PathBuf,
}
