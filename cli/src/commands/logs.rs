//! `beekeeper logs`: what the functions said, in the order in which they said it.

use anyhow::Result;

use crate::arguments::Logs;
use crate::exit::{Exit, Failure};

pub(crate) fn run(logs: &Logs, json: bool) -> Result<()> {
    if logs.which.local {
        let says =
            "a room on this machine keeps no log: it says what happens in the terminal that it runs in";
        let how = "start it with --access-log, and it prints a line for every request";
        return Err(Failure::new(Exit::Usage, says).advising(how).into());
    }
    show(logs, json)
}

#[cfg(not(feature = "aws"))]
fn show(logs: &Logs, _: bool) -> Result<()> {
    let (name, _) = crate::room::on_aws(&logs.which)?;
    crate::room::without_aws(&name)
}

#[cfg(feature = "aws")]
fn show(logs: &Logs, json: bool) -> Result<()> {
    use clock::SystemClock;
    use tokio::sync::mpsc;
    use waitroom::ports::Clock;

    use crate::printer::say;
    use crate::room::RoomHandle;
    use crate::runtime::block_on;

    block_on(async {
        let room = RoomHandle::find(&logs.which).await?;
        let Some(deployed) = room.on_aws() else { return Err(room.unexpected()) };
        let query = cloud::LogQuery { since: SystemClock.now() - logs.since, follow: logs.follow };
        let (sender, mut unprinted) = mpsc::unbounded_channel();
        let read = deployed.logs(&query, |line| {
            if let Err(error) = say(&crate::account::log_line(&line, json)) {
                // It is heard below, which ends the reading.
                drop(sender.send(error));
            }
        });
        tokio::select! {
            read = read => read?,
            // How one ends what goes on forever.
            interrupted = tokio::signal::ctrl_c() => interrupted?,
            Some(error) = unprinted.recv() => return Err(error.into()),
        }
        Ok(())
    })
}
