use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use waitroom::{Rate, RoomId, Title, WebUrl};

use super::time;

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
    #[arg(long, value_name = "URL")]
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
    /// URL that the throttle measures [default: the shop's URL]
    #[arg(long, value_name = "URL", requires = "throttle")]
    pub(crate) health: Option<WebUrl>,
    /// Print a line for every request
    #[arg(long)]
    pub(crate) access_log: bool,
}

fn minute(text: &str) -> Result<Duration, String> {
    time::between(text, Duration::from_secs(1)..=Duration::from_mins(1), "a minute must be from 1s to 60s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_at_most_a_minute() {
        assert_eq!(minute("5s"), Ok(Duration::from_secs(5)));
        assert_eq!(minute("1m"), Ok(Duration::from_mins(1)));
        assert_eq!(minute("2m"), Err("a minute must be from 1s to 60s".into()));
        assert!(minute("soon").unwrap_err().ends_with("write it like 5s or 1m"));
    }
}
