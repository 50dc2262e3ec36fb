use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use server::{PlacesPerMinute, TrustedProxy};
use waitroom::{Mode, Rate, RoomId, WebUrl, WebUrlError};

use super::which::as_typed;
use super::{SettingFlags, number, time};
use crate::flags_file::FileFlags;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  beekeeper local                                          a demonstration, with its own shop
  beekeeper local --visitors 0                             the same, with nobody ahead of you
  beekeeper local --page branding                          your page; /preview/ shows it in every state
  beekeeper local spring-sale                              the room that `beekeeper init spring-sale` configured
  beekeeper local spring-sale --url https://wait.example   the same room, behind your web server: docs/hosting.md
  beekeeper local spring-sale --url https://wait.example \\
      --throttle --save                                    from now on with a throttle
  beekeeper local brew --title \"Seal Brewing\" \\
      --shop https://shop.example/sale --rate 300          a room without a configuration file
  beekeeper local --config /etc/beekeeper/room.toml        a room as a service: docs/hosting.md
  beekeeper local --log info                               log what every window and slice does

A setting without a flag is taken from the room's configuration file. Without a file, the shop is a demonstration, and a new
room lets 60 visitors in a minute. Flags are for this run only; --save writes them into the file. The room itself keeps
what orders change, such as the rate: docs/local.md")]
pub(crate) struct Local {
    /// Short name of the room, used in its cookie [default: the room in --data, or demo]
    pub(crate) name: Option<RoomId>,
    /// File with flags of this command, in TOML; a flag that you type wins: docs/local.md
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// The flags that are from the file.
    #[arg(skip)]
    pub(crate) from_file: FileFlags,
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
    /// Public URL of the room, if a web server for your domain is in front of it
    #[arg(long, value_name = "URL", value_parser = public_url)]
    pub(crate) url: Option<WebUrl>,
    /// Where the room listens, on 127.0.0.1 unless an address is given; port 0 takes any free port
    #[arg(long, value_name = "[ADDRESS:]PORT", default_value = "8080", value_parser = listener)]
    pub(crate) listen: SocketAddr,
    /// Port on 127.0.0.1, as --listen PORT
    #[arg(long, hide = true, conflicts_with = "listen")]
    pub(crate) port: Option<u16>,
    /// Directory of the room's data [default: beekeeper/NAME in your data directory]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) data: Option<PathBuf>,
    /// Length of a minute, from 1s to 60s, for demonstrations and tests
    #[arg(long, default_value = "60s", value_parser = time::between("1s", "60s"))]
    pub(crate) minute: Duration,
    /// Visitors of a demonstration who always wait ahead of you; 0 for none [default: 8; with --shop or --url 0]
    #[arg(long, value_name = "N", value_parser = number::between(0_u32, 1000), allow_negative_numbers = true)]
    pub(crate) visitors: Option<u32>,
    /// Write what these flags set of the room into its configuration file: its title, shop, rate and so on
    #[arg(long)]
    pub(crate) save: bool,
    /// Address or network of a proxy whose X-Forwarded-For is believed; repeat it for several
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) trust_proxy: Vec<TrustedProxy>,
    /// Places that one client address may take a minute; an IPv6 /64 is one address [default: any number]
    #[arg(long, value_name = "PLACES", requires = "trust_proxy", allow_negative_numbers = true)]
    pub(crate) join_limit: Option<PlacesPerMinute>,
    /// A CDN is in front of the room and answers for it how the line stands: docs/edge.md
    #[arg(long, requires = "url")]
    pub(crate) edge: bool,
    /// Answer /metrics (for Prometheus) and /healthz here, on 127.0.0.1 unless an address is given
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = listener)]
    pub(crate) metrics: Option<SocketAddr>,
    /// Print a line for every request
    #[arg(long)]
    pub(crate) access_log: bool,
}

/// What whoever starts a room orders by that. In a file of flags, a rate and a mode are for a new room: a service that starts again
/// by itself orders nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypedOrders {
    pub(crate) rate: Option<Rate>,
    pub(crate) mode: Option<Mode>,
}

impl Local {
    pub(crate) fn typed_orders(&self) -> TypedOrders {
        let SettingFlags { rate, mode, .. } = self.settings;
        let is_typed = |flag| self.from_file.place_of(flag).is_none();
        TypedOrders { rate: rate.filter(|_| is_typed("rate")), mode: mode.filter(|_| is_typed("mode")) }
    }

    /// Demonstration visitors of a room that may have some. At 60 a minute, the page shows for some seconds.
    pub(crate) const USUAL_VISITORS: u32 = 8;

    pub(crate) fn address(&self) -> SocketAddr {
        self.port.map_or(self.listen, on_this_machine)
    }

    /// How another command names the room.
    pub(crate) fn as_typed(&self, name: &RoomId) -> String {
        as_typed(self.data.as_deref(), name)
    }
}

fn on_this_machine(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// The room's own URL. Its routes are below it, so it cannot end in a query or in one of them.
pub(super) fn public_url(text: &str) -> Result<WebUrl, String> {
    let url: WebUrl = text.parse().map_err(|error: WebUrlError| error.to_string())?;
    let parts = url.as_url();
    let problem = if parts.query().is_some() || parts.fragment().is_some() {
        "must have no query and no fragment"
    } else if parts.path().trim_end_matches('/').ends_with("/beekeeper") {
        "must be the room's URL, without /beekeeper at the end"
    } else if parts.path().contains("//") {
        "must have no empty part in its path"
    } else {
        return Ok(url);
    };
    Err(format!("{problem}; write it like https://wait.example or https://shop.example/queue"))
}

pub(super) fn listener(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().map(on_this_machine);
    port.or_else(|_| text.parse())
        .map_err(|_| "must be a port like 9180, or an address and a port like 10.0.0.5:9180".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_url_has_the_rooms_routes_below_it() {
        for fine in ["https://wait.example", "https://wait.example/", "https://shop.example/queue/"] {
            assert!(public_url(fine).is_ok(), "{fine}");
        }
        for (wrong, problem) in [
            ("http://wait.example/a/b?x=1", "no query"),
            ("https://wait.example/#top", "no fragment"),
            ("https://wait.example/?", "no query"),
            ("https://wait.example/beekeeper/", "without /beekeeper"),
            ("https://wait.example//queue", "no empty part"),
            ("wait.example", "not a URL"),
        ] {
            let refusal = public_url(wrong).unwrap_err();
            assert!(refusal.contains(problem), "{wrong}: {refusal}");
        }
    }

    #[test]
    fn metrics_are_for_this_machine_unless_an_address_is_given() {
        let listener = |text| listener(text).map(|listener| listener.to_string());
        assert_eq!(listener("9180"), Ok("127.0.0.1:9180".into()));
        assert_eq!(listener("10.0.0.5:9180"), Ok("10.0.0.5:9180".into()));
        assert_eq!(listener("[::]:9180"), Ok("[::]:9180".into()));
        for mistake in ["", ":9180", "localhost:9180", "70000", "10.0.0.5"] {
            assert!(listener(mistake).unwrap_err().starts_with("must be a port like 9180"), "{mistake}");
        }
    }

    #[test]
    fn a_minute_is_at_most_a_minute() {
        let minute = time::between("1s", "60s");
        assert_eq!(minute("5s"), Ok(Duration::from_secs(5)));
        assert_eq!(minute("1m"), Ok(Duration::from_mins(1)));
        assert_eq!(minute("2m"), Err("must be from 1s to 60s".into()));
        for unreadable in ["soon", "12", "Friday 12:00"] {
            let refusal = minute(unreadable).unwrap_err();
            assert_eq!(refusal, "write how long, with a unit: from 1s to 60s", "{unreadable}");
        }
    }
}
