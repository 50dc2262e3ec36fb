//! `beekeeper doctor`: is this room ready for its crowd?

use anyhow::Result;
use probe::HttpProbe;
use serde_json::json;

use crate::arguments::ExamineRoom;
use crate::config_folder::ConfigFolder;
use crate::custom_page::custom_page;
use crate::doctor::{self, CheckResult, DoctorCheck, Examined, RunningCheck};
use crate::exit::{Exit, Failure};
use crate::printer::{LiveLine, say};
use crate::room::RoomHandle;
use crate::runtime::block_on;

pub(crate) fn run(arguments: &ExamineRoom, json: bool) -> Result<()> {
    block_on(async {
        if arguments.which.local { here(arguments, json).await } else { on_aws(arguments, json).await }
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
            self.printed = say(&check.to_string()).map_err(Into::into);
        }
        self.checks.push(check);
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

    fn count(&self, result: CheckResult) -> usize {
        self.checks.iter().filter(|check| check.result == result).count()
    }

    /// Prints the summary. An error if there is a problem.
    fn end(self, examined: &Examined) -> Result<()> {
        let is_deployed = examined.running.is_some();
        let (problems, warnings) = (self.count(CheckResult::Problem), self.count(CheckResult::Warning));
        let (name, is_ready) = (&examined.name, problems == 0);
        self.printed?;
        if self.json {
            let report =
                json!({ "room": name, "ready": is_ready, "deployed": is_deployed, "checks": self.checks });
            say(&report.to_string())?;
        }
        let counts = format!("{}, {}", counted(problems, "problem"), counted(warnings, "warning"));
        if !is_ready {
            let advice = "do what stands below each problem, and run the command again";
            return Err(Failure::new(Exit::Failed, format!("{name} is not ready: {counts}"))
                .advising(advice)
                .into());
        }
        if !self.json {
            let ready = if is_deployed { "ready" } else { "ready to be deployed" };
            say(&format!("{name} is {ready}: {counts}"))?;
        }
        Ok(())
    }
}

fn counted(number: usize, what: &str) -> String {
    match number {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

async fn here(arguments: &ExamineRoom, json: bool) -> Result<()> {
    let handle = RoomHandle::find(&arguments.which).await?;
    let status = handle.status().await?;
    // Without HOME there is no configuration directory, and so no file.
    let folder = ConfigFolder::of_this_user().ok();
    let config = folder.map_or(Ok(None), |folder| folder.find(&handle.name))?;
    let custom_page = config.as_ref().map_or(Ok(None), custom_page);
    let as_typed = handle.as_typed().to_owned();
    let room = status.room.clone();
    let examined = Examined {
        name: handle.name.clone(),
        as_typed,
        config,
        custom_page,
        running: Some((handle, status)),
        room,
        visitors: arguments.visitors,
        probe: HttpProbe::new()?,
    };
    let mut report = Report::new(json);
    report.run(doctor::of_room(&examined)).await;
    report.end(&examined)
}

#[cfg(not(feature = "aws"))]
#[expect(clippy::unused_async, reason = "only AWS is waited for")]
async fn on_aws(arguments: &ExamineRoom, _: bool) -> Result<()> {
    crate::room::without_aws(&crate::room::on_aws(&arguments.which)?.room)
}

#[cfg(feature = "aws")]
use with_aws::on_aws;

#[cfg(feature = "aws")]
mod with_aws {
    use anyhow::Context;
    use cloud::{Account, CloudErrorKind};
    use config::RoomConfig;

    use super::{
        DoctorCheck, ExamineRoom, Examined, HttpProbe, Report, Result, RoomHandle, RunningCheck, custom_page,
        doctor,
    };
    use crate::aws::access;
    use crate::{exit, room};

    /// A room on AWS, deployed or not. If nobody can sign in, the shop is looked at all the same.
    pub(super) async fn on_aws(arguments: &ExamineRoom, json: bool) -> Result<()> {
        let config = room::on_aws(&arguments.which)?;
        let mut examined = Box::new(undeployed(&config, arguments.visitors)?);
        let mut report = Report::new(json);
        let account = match Box::pin(Account::sign_in(&access(&config))).await {
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
        if let Err(check) = Box::pin(find(&account, &config, &mut examined)).await {
            report.add(check);
        }
        let (page, room) = (examined.custom_page(), &examined.room);
        let forecast_for = RoomConfig { rate: room.settings.rate, ..config.clone() };
        let opens = room.opens.filter(|_| examined.running.is_some());
        let mut checks = vec![
            RunningCheck::new("credentials", doctor::credentials(&account, examined.now(), opens)),
            RunningCheck::new("stack", doctor::stack(&account, &config, page)),
            RunningCheck::new("limits", doctor::forecast(&account, &forecast_for, page, examined.visitors)),
        ];
        checks.extend(doctor::of_room(&examined));
        report.run(checks).await;
        report.end(&examined)
    }

    /// The room as its configuration file describes it.
    fn undeployed(config: &RoomConfig, visitors: Option<u64>) -> Result<Examined> {
        Ok(Examined {
            name: config.room.clone(),
            as_typed: config.room.to_string(),
            custom_page: custom_page(config),
            config: Some(config.clone()),
            running: None,
            room: config.undeployed_room().context("the room's domain cannot be part of a URL")?,
            visitors,
            probe: HttpProbe::new().context("could not read the CA certificates of this machine")?,
        })
    }

    /// Finds the room, if it is deployed. What keeps it from answering is a problem; that it is not deployed is none.
    async fn find(
        account: &Account,
        config: &RoomConfig,
        examined: &mut Examined,
    ) -> Result<(), DoctorCheck> {
        let problem = |error: &anyhow::Error| {
            let advice = exit::advice(error).unwrap_or("run the command again");
            DoctorCheck::problem("room", format!("{error:#}"), advice)
        };
        let deployed = match account.room(&config.room).await {
            Ok(deployed) => deployed,
            // The check of the stack says why.
            Err(error) if error.kind() == CloudErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(problem(&error.into())),
        };
        let handle = RoomHandle::of(deployed);
        let status = handle.status().await.map_err(|error| problem(&error))?;
        examined.room = status.room.clone();
        examined.running = Some((handle, status));
        Ok(())
    }
}
