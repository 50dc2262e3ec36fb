//! The program's log: lines of text on standard error, selected by `--log` or the environment variable `RUST_LOG`.

use std::env;
use std::str::FromStr;

use anyhow::Result;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::exit::{Exit, Failure};
use crate::printer::AboveLiveLine;

/// The log target of the lines that `--access-log` prints.
const ACCESS: &str = "access";

/// Which lines are logged: a level, or levels by module, as in `info,consumer=debug`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LogFilter(Targets);

impl FromStr for LogFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let directives: Vec<_> = text.split(',').map(str::trim).collect();
        // `LevelFilter` parses an empty string as the level error.
        let is_level = |text: &str| !text.is_empty() && text.parse::<LevelFilter>().is_ok();
        // `Targets` would read a misspelt level as a module at level trace, and silence everything else.
        if let Some(word) =
            directives.iter().find(|directive| !directive.contains('=') && !is_level(directive))
        {
            return Err(format!(
                "{word:?} is not a level (error, warn, info, debug, trace or off); write levels of modules like consumer=debug"
            ));
        }
        directives.join(",").parse().map(Self).map_err(|error: ParseError| error.to_string())
    }
}

impl Default for LogFilter {
    fn default() -> Self {
        let warnings = Targets::new().with_default(LevelFilter::WARN);
        // Hides the warnings of the AWS SDK, because the commands report the same failures as errors.
        Self(warnings.with_target("aws_", LevelFilter::ERROR))
    }
}

/// Starts logging. `--log` selects the lines; without it, `RUST_LOG` does; without both, only warnings are logged.
pub(crate) fn init(log: Option<&LogFilter>, access_log: bool) -> Result<()> {
    let LogFilter(mut filter) = match log {
        Some(filter) => filter.clone(),
        None => from_environment()?,
    };
    if access_log {
        filter = filter.with_target(ACCESS, LevelFilter::INFO);
    }
    tracing_subscriber::registry().with(filter).with(fmt::layer().with_writer(AboveLiveLine)).init();
    Ok(())
}

fn from_environment() -> Result<LogFilter, Failure> {
    let Some(filter) = env::var("RUST_LOG").ok().filter(|filter| !filter.is_empty()) else {
        return Ok(LogFilter::default());
    };
    filter.parse().map_err(|error| {
        Failure::new(Exit::Usage, format!("invalid filter in the environment variable RUST_LOG: {error}"))
            .advising("unset it, or override it with --log, as in --log info,consumer=debug")
    })
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn a_filter_is_a_level_or_levels_by_module() {
        let LogFilter(filter) = "info, consumer=debug,embedded=off".parse().unwrap();
        let enabled = |target, level| filter.would_enable(target, &level);
        assert!(enabled("trigger", Level::INFO) && !enabled("trigger", Level::DEBUG));
        assert!(enabled("consumer::tally", Level::DEBUG));
        assert!(!enabled("embedded", Level::ERROR));
        for mistake in ["inof", "", "info,,", "info,consumer", "consumer=loud", "consumer=info=debug"] {
            assert!(mistake.parse::<LogFilter>().is_err(), "{mistake}");
        }
    }

    #[test]
    fn by_default_warnings_are_logged_but_not_those_of_the_sdk() {
        let LogFilter(filter) = LogFilter::default();
        assert!(filter.would_enable("aws::call", &Level::WARN));
        assert!(!filter.would_enable("aws_config::imds", &Level::WARN));
        assert!(!filter.would_enable("trigger", &Level::INFO));
    }
}
