//! `beekeeper doctor`: is this room ready for its crowd?

use std::time::Duration;

use anyhow::Result;
use document::words::things;
use probe::HttpProbe;
use serde_json::json;

use crate::arguments::ExamineRoom;
use crate::config_folder::ConfigFolder;
use crate::custom_page::custom_page;
use crate::doctor::{self, CheckResult, DoctorCheck, Examined, RunningCheck};
use crate::exit::{Exit, Failure};
use crate::printer::{Colours, LiveLine, say};
use crate::room::{RoomHandle, hangs};
use crate::runtime::block_on;

/// A room on this machine tells its status within milliseconds, unless it hangs. An order may take longer.
const ROOM_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn run(arguments: &ExamineRoom, json: bool) -> Result<()> {
    block_on(async {
        #[cfg(feature = "aws")]
        if !arguments.which.here.is_meant() {
            return on_aws(arguments, json).await;
        }
        here(arguments, json).await
    })
}

/// The checks that were made, which are printed as they end.
struct Report {
    json: bool,
    checks: Vec<DoctorCheck>,
    printed: Result<()>,
}

impl Report {
    fn new(json: bool) -> Self {
        Self { json, checks: Vec::new(), printed: Ok(()) }
    }

    fn add(&mut self, check: DoctorCheck) {
        if !self.json && self.printed.is_ok() {
            self.printed = say(&check.text(Colours::of_output())).map_err(Into::into);
        }
        self.checks.push(check);
    }

    /// A line on the terminal that says what is waited for, unless the output is for scripts.
    fn waits_for(&self, what: &str) -> Option<LiveLine> {
        let line = (!self.json).then(LiveLine::new)?;
        line.show(&format!("checking: {what}"));
        Some(line)
    }

    async fn run(&mut self, checks: Vec<RunningCheck<'_>>) {
        let line = (!self.json).then(LiveLine::new);
        let show = |text: &str| {
            if let Some(line) = &line {
                line.show(text);
            }
        };
        doctor::run(
            checks,
            |name| show(&format!("checking: {name}")),
            |check| {
                show("");
                self.add(check);
            },
        )
        .await;
    }

    fn count(&self, result: CheckResult) -> u64 {
        self.checks.iter().filter(|check| check.result == result).count() as u64
    }

    /// Prints the summary. An error if there is a problem.
    fn end(self, examined: &Examined) -> Result<()> {
        let is_deployed = examined.status().is_some();
        let (problems, warnings) = (self.count(CheckResult::Problem), self.count(CheckResult::Warning));
        let (name, is_ready) = (&examined.name, problems == 0);
        self.printed?;
        if self.json {
            let report =
                json!({ "room": name, "ready": is_ready, "deployed": is_deployed, "checks": self.checks });
            say(&report.to_string())?;
        }
        let counts = format!("{}, {}", things(problems, "problem"), things(warnings, "warning"));
        if !is_ready {
            let advice = "do what stands below each problem, and run the command again";
            return Err(Failure::new(Exit::Failed, format!("{name} is not ready: {counts}"))
                .advising(advice)
                .into());
        }
        if !self.json {
            let ready = if is_deployed { "ready" } else { "ready to be deployed" };
            let verdict = format!("{name} is {ready}: {counts}");
            let colours = Colours::of_output();
            say(&if warnings == 0 { colours.green(&verdict) } else { colours.yellow(&verdict) })?;
        }
        Ok(())
    }
}

async fn here(arguments: &ExamineRoom, json: bool) -> Result<()> {
    let mut report = Report::new(json);
    let line = report.waits_for("room");
    let asked = Box::pin(async {
        let handle = RoomHandle::find(&arguments.which).await?;
        let status = handle.room.status().await?;
        anyhow::Ok((handle, status))
    });
    let (handle, status) =
        tokio::time::timeout(ROOM_TIMEOUT, asked).await.map_err(|_| hangs(ROOM_TIMEOUT))??;
    drop(line);
    // Without HOME there is no configuration directory, and so no file.
    let folder = ConfigFolder::of_this_user().ok();
    let config = folder.map_or(Ok(None), |folder| folder.find(&handle.room.name))?;
    let custom_page = config.as_ref().map_or(Ok(None), custom_page);
    let as_typed = handle.as_typed.clone();
    let room = status.room.clone();
    let examined = Examined {
        name: handle.room.name.clone(),
        as_typed,
        config,
        custom_page,
        handle: Some(handle),
        status: Ok(Some(status)),
        room,
        visitors: arguments.visitors,
        probe: HttpProbe::new()?,
    };
    report.run(doctor::of_room(&examined)).await;
    report.end(&examined)
}

#[cfg(feature = "aws")]
use with_aws::on_aws;

#[cfg(feature = "aws")]
mod with_aws {
    use cloud::{Account, CloudError, CloudErrorKind};
    use config::RoomConfig;
    use waitroom::RoomId;

    use super::{ExamineRoom, Examined, Report, Result, RoomHandle, RunningCheck, doctor};
    use crate::aws::{access, config_of, handle};

    /// A room on AWS, deployed or not. If nobody can sign in, the shop is looked at all the same.
    pub(super) async fn on_aws(arguments: &ExamineRoom, json: bool) -> Result<()> {
        let config = config_of(&arguments.which)?;
        let mut examined = Box::new(Examined::undeployed(&config, arguments.visitors)?);
        let mut report = Report::new(json);
        let line = report.waits_for("credentials");
        let signed_in = Box::pin(Account::sign_in(&access(&config)?)).await;
        drop(line);
        let account = match signed_in {
            Ok(account) => account,
            Err(error) => {
                let error = anyhow::Error::new(error);
                report.add(doctor::no_credentials(&error));
                report.run(doctor::of_room(&examined)).await;
                // The summary is less than what is wrong: the exit code says that access was denied.
                drop(report.end(&examined));
                return Err(error);
            }
        };
        let line = report.waits_for("room");
        let not_found = Box::pin(find(&account, &config.room, &mut examined)).await.err();
        drop(line);
        let (page, visitors) = (examined.custom_page(), examined.visitors);
        let forecast_for = RoomConfig { rate: examined.room.settings.rate, ..config.clone() };
        let opens = examined.status().and_then(|status| status.room.opens);
        let deployed = examined.handle().and_then(RoomHandle::on_aws);
        let forecast = doctor::forecast(&account, &forecast_for, page, visitors, deployed);
        let mut checks = vec![
            RunningCheck::new("credentials", doctor::credentials(&account, examined.now(), opens)),
            RunningCheck::new("stack", doctor::stack(&account, &config, not_found.as_ref())),
            RunningCheck::new("limits", forecast),
        ];
        checks.extend(doctor::of_room(&examined));
        report.run(checks).await;
        report.end(&examined)
    }

    /// Finds the room and asks it for its status. An error if AWS says that there is no room, or only a part of one.
    async fn find(account: &Account, room: &RoomId, examined: &mut Examined) -> Result<(), CloudError> {
        let deployed = match account.room(room).await {
            Ok(deployed) => deployed,
            Err(error) if error.kind() == CloudErrorKind::NotFound => return Err(error),
            Err(error) => {
                examined.status = Err(error.into());
                return Ok(());
            }
        };
        // What everybody outside sees is checked even if the operator may not ask for the status.
        if let Some(Ok(url)) = deployed.urls.room.strip_suffix("/beekeeper").map(str::parse) {
            examined.room.url = url;
        }
        let handle = handle(deployed);
        examined.status = handle.room.status().await.map(Some).map_err(Into::into);
        if let Ok(Some(status)) = &examined.status {
            examined.room = status.room.clone();
        }
        examined.handle = Some(handle);
        Ok(())
    }
}
