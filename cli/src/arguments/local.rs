use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use waitroom::{Rate, RoomId, Title, WebUrl};

use super::time;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  beekeeper local                                          a demonstration, with a shop of its own
  beekeeper local --minute 5s                              the same, in a hurry
  beekeeper local spring-sale --title \"Seal Brewing\" \\
      --origin https://shop.example/sale --rate 300        a room for your shop
  beekeeper local spring-sale --url https://wait.example   the same room, behind your web server
  beekeeper local --page branding                          with your page; every state is at /preview/
  beekeeper local --log info                               log what every window and slice did")]
pub(crate) struct Local {
    /// The room's short name, part of its cookie
    #[arg(default_value = "demo")]
    pub(crate) name: RoomId,
    /// What visitors read as the room's name
    #[arg(long)]
    pub(crate) title: Option<Title>,
    /// Where the admitted are sent; a new room without it gets a demonstration shop
    #[arg(long, value_name = "URL")]
    pub(crate) origin: Option<WebUrl>,
    /// Where visitors reach the room, if something that serves your domain stands in front of it
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<WebUrl>,
    /// How many may enter a minute, from 1 to 270000 [a new room: 60]
    #[arg(long)]
    pub(crate) rate: Option<Rate>,
    /// The port to listen on at 127.0.0.1; 0 takes any free one
    #[arg(long, default_value_t = 8080)]
    pub(crate) port: u16,
    /// Where the room is kept [default: beekeeper/NAME in your data directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// How long a minute takes: shorter for demonstrations and tests
    #[arg(long, default_value = "60s", value_parser = minute)]
    pub(crate) minute: Duration,
    /// A folder with your colour and logo, or a whole page of your own; see docs/page.md
    #[arg(long, value_name = "DIR")]
    pub(crate) page: Option<PathBuf>,
    /// Let fewer enter while the shop is slower than usual or fails
    #[arg(long)]
    pub(crate) throttle: bool,
    /// What the throttle asks instead of the shop's own URL
    #[arg(long, value_name = "URL", requires = "throttle")]
    pub(crate) health: Option<WebUrl>,
    /// Print a line for every request
    #[arg(long)]
    pub(crate) access_log: bool,
}

fn minute(text: &str) -> Result<Duration, String> {
    time::between(text, Duration::from_secs(1)..=Duration::from_mins(1), "a minute takes from 1s to 60s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_at_most_a_minute() {
        assert_eq!(minute("5s"), Ok(Duration::from_secs(5)));
        assert_eq!(minute("1m"), Ok(Duration::from_mins(1)));
        assert_eq!(minute("2m"), Err("a minute takes from 1s to 60s".into()));
        assert!(minute("soon").unwrap_err().ends_with("write it like 5s or 1m"));
    }
}
