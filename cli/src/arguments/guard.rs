use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use guard::{Bypass, BypassPath, OneSession};
use http::Method;
use http::method::InvalidMethod;
use ipnet::IpNet;
use server::TrustedProxy;
use waitroom::{RoomId, WebUrl};

use super::local::{listener, public_url};
use super::on_aws::SharedTable;
use super::time;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  beekeeper guard spring-sale --room https://wait.example
  beekeeper guard spring-sale --room https://wait.example --one-session first --bind
  beekeeper guard spring-sale --room https://wait.example --bypass-path /static/ --bypass-path /paid.php
  beekeeper guard spring-sale --room https://wait.example --bypass-network 198.51.100.7 --trust-proxy 127.0.0.1
  beekeeper guard spring-sale --room https://wait.example --listen 10.0.0.5:8090 --metrics 9181
  beekeeper guard spring-sale --room https://wait.example --report-key /etc/beekeeper/report-key
  beekeeper guard --config /etc/beekeeper/guard.toml            the guard as a service: docs/hosting/guard.toml
  beekeeper guard demo --room http://localhost:8080 --http      the guard of a demonstration

The guard answers nginx at /auth-request, Traefik and Caddy at /forward-auth: docs/guard.md")]
pub(crate) struct GuardArguments {
    /// Short name of the room whose passes open the shop
    pub(crate) name: RoomId,
    /// File with flags of this command, in TOML; a flag that you type wins: docs/guard.md
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Public URL of the room, without /beekeeper: its passes name it, and its keys are below it
    #[arg(long, value_name = "URL", value_parser = public_url)]
    pub(crate) room: WebUrl,
    /// Where the web server asks, on 127.0.0.1 unless an address is given; port 0 takes any free port
    #[arg(long, value_name = "[ADDRESS:]PORT", default_value = "8090", value_parser = listener)]
    pub(crate) listen: SocketAddr,
    /// Directory of the session key and the sessions [default: beekeeper/NAME/guard in your data directory]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) data: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) shared: SharedTable,
    /// The room's public keys, as its /.well-known/jwks.json has them; the room is never asked then
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) keys: Option<PathBuf>,
    /// Which session counts when a visitor comes with a new pass in another browser: the newest ends the one before, the first keeps
    /// the others out
    #[arg(long, value_name = "WHICH", default_value = "newest", value_parser = which_session())]
    pub(crate) one_session: OneSession,
    /// Bind each pass to one browser: a link that is given away opens nothing, for one more redirect
    #[arg(long)]
    pub(crate) bind: bool,
    /// How old a pass may be when it is exchanged for a session, from 30s to 1h
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = time::between("30s", "1h"))]
    pub(crate) pass_age: Duration,
    /// How long a visitor may do nothing, from 1m to 1d
    #[arg(long, value_name = "DURATION", default_value = "20m", value_parser = time::between("1m", "1d"))]
    pub(crate) idle: Duration,
    /// How long a session lasts at most, from 1m to 1d
    #[arg(long, value_name = "DURATION", default_value = "2h", value_parser = time::between("1m", "1d"))]
    pub(crate) session: Duration,
    /// Path that needs no session, a file or a script of its own: /paid.php is this path, /static/ what is read below it,
    /// /pay.php?from=stripe is /pay.php with this parameter; repeat it for several
    #[arg(long, value_name = "PATH")]
    pub(crate) bypass_path: Vec<BypassPath>,
    /// Method that needs no session, such as OPTIONS; repeat it for several
    #[arg(long, value_name = "METHOD", value_parser = method)]
    pub(crate) bypass_method: Vec<Method>,
    /// Network that needs no session, by the address of the visitor; repeat it for several
    #[arg(long, value_name = "NETWORK", requires = "trust_proxy", value_parser = |network: &str| Bypass::network(network))]
    pub(crate) bypass_network: Vec<IpNet>,
    /// File with a secret header that needs no session, as in `x-shop-secret: 0b7e9a…`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) bypass_header: Option<PathBuf>,
    /// Address or network of a proxy whose X-Forwarded-For is believed; repeat it for several
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) trust_proxy: Vec<TrustedProxy>,
    /// Let everybody in after the room has not answered for so long, from 1m to 1h, until it answers again [default: never]
    #[arg(long, value_name = "DURATION", value_parser = time::between("1m", "1h"), conflicts_with = "keys")]
    pub(crate) open_after: Option<Duration>,
    /// File with the key by which a room that limits active visitors knows this guard: tell the room every 10 s how many are in the
    /// shop. On its operator's machine: beekeeper keys guard NAME > FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) report_key: Option<PathBuf>,
    /// The shop is reached by http and not by https: only for a test on this machine
    #[arg(long)]
    pub(crate) http: bool,
    /// Answer /metrics (for Prometheus) and /healthz here, on 127.0.0.1 unless an address is given
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = listener)]
    pub(crate) metrics: Option<SocketAddr>,
}

fn which_session() -> impl TypedValueParser<Value = OneSession> {
    PossibleValuesParser::new(["newest", "first"])
        .map(|which| if which == "first" { OneSession::First } else { OneSession::Newest })
}

/// Browsers write methods in upper case, and `options` is another method than `OPTIONS`.
fn method(text: &str) -> Result<Method, InvalidMethod> {
    text.to_ascii_uppercase().parse()
}
