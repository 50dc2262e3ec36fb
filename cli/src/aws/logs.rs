//! `beekeeper logs`: the functions' logs, in order of time.

use std::time::{Duration, UNIX_EPOCH};

use anyhow::Result;
use clock::SystemClock;
use cloud::LogLine;
use tokio::sync::mpsc;
use waitroom::ports::Clock;

use crate::arguments::on_aws::Logs;
use crate::exit::{Exit, Failure};
use crate::printer::say;
use crate::room::RoomHandle;
use crate::runtime::block_on;

pub(crate) fn run(logs: &Logs, json: bool) -> Result<()> {
    if logs.which.here.is_meant() {
        let none = "a room on this machine keeps no logs: it prints them in its terminal";
        let advice = "to print a line for every request, start it with --access-log";
        return Err(Failure::new(Exit::Usage, none).advising(advice).into());
    }
    block_on(async {
        let found = RoomHandle::find(&logs.which).await?;
        let Some(deployed) = found.on_aws() else { return Err(found.room.unexpected().into()) };
        let query = cloud::LogQuery { since: SystemClock.now() - logs.since, follow: logs.follow };
        let (sender, mut unprinted) = mpsc::unbounded_channel();
        let read = deployed.logs(&query, |line| {
            if let Err(error) = say(&log_line(&line, json)) {
                // The `select!` below receives the error and stops reading the logs.
                drop(sender.send(error));
            }
        });
        tokio::select! {
            read = read => read?,
            // Ctrl-C is the usual end of --follow.
            interrupted = tokio::signal::ctrl_c() => interrupted?,
            Some(error) = unprinted.recv() => return Err(error.into()),
        }
        Ok(())
    })
}

fn log_line(line: &LogLine, json: bool) -> String {
    if json {
        return serde_json::json!(line).to_string();
    }
    let at = UNIX_EPOCH + Duration::from_millis(line.at.as_millis());
    format!("{}  {:<9} {}", humantime::format_rfc3339_millis(at), line.function, line.text.trim_end())
}

#[cfg(test)]
mod tests {
    use waitroom::Timestamp;

    use super::*;

    #[test]
    fn a_line_has_its_time_and_its_function() {
        let line = LogLine {
            at: Timestamp::from_millis(1_774_000_000_123),
            function: "trigger".into(),
            text: "planned 300\n".into(),
        };
        assert_eq!(log_line(&line, false), "2026-03-20T09:46:40.123Z  trigger   planned 300");
        let json = r#"{"at":1774000000123,"function":"trigger","text":"planned 300\n"}"#;
        assert_eq!(log_line(&line, true), json);
    }
}
