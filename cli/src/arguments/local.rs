use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use waitroom::{Rate, RoomId, Title, WebUrl, WebUrlError};

use super::{Removable, time};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  beekeeper local                                          a demonstration, with its own shop
  beekeeper local --minute 5s                              the same, with minutes of 5 seconds
  beekeeper local spring-sale --title \"Seal Brewing\" \\
      --shop https://shop.example/sale --rate 300          a room for your shop
  beekeeper local spring-sale --url https://wait.example   the same room, behind your web server
  beekeeper local --page branding                          your page; /preview/ shows it in every state
  beekeeper local --log info                               log what every window and slice does")]
pub(crate) struct Local {
    /// Short name of the room, used in its cookie
    #[arg(default_value = "demo")]
    pub(crate) name: RoomId,
    /// Title that visitors see
    #[arg(long)]
    pub(crate) title: Option<Title>,
    /// URL of the shop [default for a new room: a demonstration shop]
    #[arg(long, value_name = "URL", visible_alias = "origin")]
    pub(crate) shop: Option<WebUrl>,
    /// Public URL of the room, if a web server for your domain is in front of it
    #[arg(long, value_name = "URL", value_parser = public_url)]
    pub(crate) url: Option<WebUrl>,
    /// Visitors who may enter a minute, from 1 to 270000 [default for a new room: 60]
    #[arg(long)]
    pub(crate) rate: Option<Rate>,
    /// Port on 127.0.0.1; 0 takes any free port
    #[arg(long, default_value_t = 8080)]
    pub(crate) port: u16,
    /// Directory of the room's data [default: beekeeper/NAME in your data directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Length of a minute, from 1s to 60s, for demonstrations and tests
    #[arg(long, default_value = "60s", value_parser = minute)]
    pub(crate) minute: Duration,
    /// Folder with your colour and logo, or with your own page: docs/page.md
    #[arg(long, value_name = "DIR")]
    pub(crate) page: Option<PathBuf>,
    /// Lower the rate while the shop is slow or fails
    #[arg(long)]
    pub(crate) throttle: bool,
    /// URL that the throttle measures, which needs no pass; '' removes it [default: the shop's URL]
    #[arg(long, value_name = "URL", requires = "throttle")]
    pub(crate) health: Option<Removable<WebUrl>>,
    /// Print a line for every request
    #[arg(long)]
    pub(crate) access_log: bool,
}

fn minute(text: &str) -> Result<Duration, String> {
    time::between(text, Duration::from_secs(1)..=Duration::from_mins(1), "a minute must be from 1s to 60s")
}

/// The room's own URL. Its routes are below it, so it cannot end in a query or in one of them.
fn public_url(text: &str) -> Result<WebUrl, String> {
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
    fn a_minute_is_at_most_a_minute() {
        assert_eq!(minute("5s"), Ok(Duration::from_secs(5)));
        assert_eq!(minute("1m"), Ok(Duration::from_mins(1)));
        assert_eq!(minute("2m"), Err("a minute must be from 1s to 60s".into()));
        assert!(minute("soon").unwrap_err().ends_with("write it like 5s or 1m"));
    }
}
