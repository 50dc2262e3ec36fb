//! The steps of a trial, in their order.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use http_contract::IN_FORCE;
use serde_json::Value;

use super::account::{OperatorRole, RecordedCall, TrialAccount};
use super::options::{RATE, TrialOptions};
use super::transcript::{StepOutcome, Transcript};
use crate::laptop::done;
use crate::operator_policies::operator_policies;
use crate::{JoinedCrowd, Laptop, Stage, until};

const MINUTE: Duration = Duration::from_mins(1);

/// A step, and what it does.
type Step = (&'static str, fn(&mut Trial) -> Result<StepOutcome>);

/// The first steps; without them there is nothing to try.
const BEGINNING: [Step; 2] = [
    ("An operator with the permissions of the docs", Trial::make_operator),
    ("A room is deployed", Trial::deploy),
];

const WHILE_IT_STANDS: [Step; 6] = [
    ("The room answers as on one machine", Trial::conform),
    ("A crowd comes through, each once", Trial::admit_a_crowd),
    ("Alarms ring", Trial::ring_alarms),
    ("An update turns each option on", Trial::turn_options_on),
    ("An update turns each option off", Trial::turn_options_off),
    ("A room with an edge answers as on one machine", Trial::conform_behind_edge),
];

const END: [Step; 3] = [
    ("The room is removed", Trial::destroy),
    ("The policy is what the calls need", Trial::compare_calls),
    ("The operator is removed", Trial::remove_operator),
];

/// How long CloudTrail takes to record a call, by its documentation.
const RECORDED_WITHIN: Duration = Duration::from_mins(20);

/// How long an alarm may take, after its cause.
const RINGS_WITHIN: Duration = Duration::from_mins(15);

/// From how many requests to the door on the trial's firewall challenges an address, and refuses it.
const DOOR_LIMITS: &str = "door_challenge_above = 10\ndoor_requests_per_address = 200\n";

/// Why an emulator turns no option on or off.
const NO_CONDITIONS: &str = "LocalEmu rejects updates that turn a condition of the template on or off";

#[derive(Debug)]
pub(super) struct Trial {
    options: TrialOptions,
    account: TrialAccount,
    transcript: Transcript,
    laptop: Laptop,
    operator: Option<OperatorRole>,
    stage: Option<Stage>,
}

impl Trial {
    pub(super) fn new(options: &TrialOptions, account: TrialAccount, transcript: Transcript) -> Result<Self> {
        let laptop = Laptop::new(options.beekeeper.clone())?;
        Ok(Self { options: options.clone(), account, transcript, laptop, operator: None, stage: None })
    }

    /// Proves, and removes the room whatever happened.
    pub(super) fn run(mut self) -> Result<()> {
        let mut failed = self.perform(&BEGINNING)?;
        if failed == 0 {
            failed += self.perform(&WHILE_IT_STANDS)?;
        }
        if self.operator.is_some() {
            failed += self.perform(&END)?;
        }
        self.close(failed)
    }

    /// Removes what a trial left that was killed.
    pub(super) fn remove(mut self) -> Result<()> {
        let mut failed = self.perform(&BEGINNING[..1])?;
        self.configure("")?;
        failed += self.perform(&[END[0], END[2]])?;
        self.close(failed)
    }

    fn close(self, failed: usize) -> Result<()> {
        self.transcript.close(failed)?;
        ensure!(failed == 0, "{failed} steps failed");
        Ok(())
    }

    /// Returns how many of the steps failed.
    fn perform(&mut self, steps: &[Step]) -> Result<usize> {
        let mut failed = 0;
        for (name, step) in steps {
            self.transcript.begin(name)?;
            let begun = Instant::now();
            let outcome = step(self);
            self.transcript.end(begun.elapsed(), &outcome)?;
            failed += usize::from(outcome.is_err());
        }
        Ok(failed)
    }

    fn make_operator(&mut self) -> Result<StepOutcome> {
        let operator = self.account.operator(&self.options.room)?;
        let session = format!("sessions are called {}", operator.session);
        self.operator = Some(operator);
        Ok(StepOutcome::Shown(vec![session]))
    }

    fn configure(&self, more: &str) -> Result<()> {
        self.laptop.configure(&self.options.room, &self.options.settings(more))
    }

    /// Runs `beekeeper` as the operator.
    fn operate(&self, command: &str, more: &[&str]) -> Result<Value> {
        let operator = self.operator.as_ref().context("there is no operator")?;
        let arguments = [&[command, self.options.room.as_str(), "--json"], more].concat();
        let mut beekeeper = self.laptop.beekeeper(&arguments);
        beekeeper.envs(self.account.environment(operator)?);
        if let Some(endpoint) = &self.options.endpoint {
            beekeeper.env("AWS_ENDPOINT_URL", endpoint);
        }
        done(&mut beekeeper)
    }

    fn deploy(&mut self) -> Result<StepOutcome> {
        // No throttle: no shop answers at shop.example, so it would hold the rate down.
        let email = &self.options.email;
        self.configure(&format!("throttle = false\nalarm_email = {email:?}\n"))?;
        self.operate("deploy", &["--yes"])?;
        let outputs = self.account.outputs(&self.options.room)?;
        let config = self.account.config(&self.options)?;
        self.stage = Some(Stage::new(&self.options.room, outputs, config)?);
        Ok(StepOutcome::Shown(vec!["`beekeeper deploy` has looked at the room from outside".to_owned()]))
    }

    fn stage(&self) -> Result<&Stage> {
        self.stage.as_ref().context("there is no room")
    }

    fn conform(&mut self) -> Result<StepOutcome> {
        self.check(http_contract::check)?;
        self.operate("reset", &["--yes"])?;
        Ok(StepOutcome::Shown(vec!["every check of `crates/testing/http_contract` passed".to_owned()]))
    }

    fn check(&self, check: fn(&Stage)) -> Result<()> {
        let stage = self.stage()?;
        let conforms = catch_unwind(AssertUnwindSafe(|| check(stage)));
        conforms.map_err(|panic| {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            anyhow!("{}", said.or_else(|| panic.downcast_ref().copied()).unwrap_or("a check failed"))
        })
    }

    /// A room of its own: the one before has no domain, so it cannot move.
    fn conform_behind_edge(&mut self) -> Result<StepOutcome> {
        if self.options.endpoint.is_some() {
            return Ok(StepOutcome::Skipped("LocalEmu keeps nothing at an edge; the plays have a stand-in"));
        }
        self.operate("destroy", &["--yes"])?;
        self.configure("throttle = false\nedge = \"yes\"\n")?;
        let begun = Instant::now();
        self.operate("deploy", &["--yes"])?;
        let deployed = begun.elapsed();
        let outputs = self.account.outputs(&self.options.room)?;
        self.stage = Some(Stage::new(&self.options.room, outputs, self.account.config(&self.options)?)?);
        self.check(http_contract::check_behind_edge)?;
        let client = self.stage()?.client();
        let kept = |answer: &http_contract::HttpAnswer| {
            answer.header("x-cache").is_some_and(|cache| cache.starts_with("Hit"))
        };
        let places = [client.join(), client.join()];
        ensure!(places[0] != places[1], "two visitors have one place");
        let status: Vec<_> = (0..10).map(|_| client.get("/status")).collect();
        ensure!(status.iter().any(kept), "CloudFront keeps no status: {:?}", status[0]);
        for place in &places {
            let own = client.get_with("/polling", place);
            ensure!(!kept(&own) && own.json()["join"].is_null(), "no personal answer: {own:?}");
        }
        let mut findings = vec![
            format!("deployed in {deployed:.0?}"),
            "every check of `crates/testing/http_contract` passed through CloudFront".to_owned(),
            "CloudFront kept the status, and no personal answer".to_owned(),
        ];
        self.configure(&format!("throttle = false\nedge = \"yes\"\n{DOOR_LIMITS}"))?;
        self.operate("deploy", &["--yes"])?;
        self.is_limited_at_the_door(&mut findings)?;
        Ok(StepOutcome::Shown(findings))
    }

    fn admit_a_crowd(&mut self) -> Result<StepOutcome> {
        let (stage, size) = (self.stage()?, self.options.visitors);
        self.operate("pause", &[])?;
        std::thread::sleep(IN_FORCE);
        let begun = Instant::now();
        let crowd = JoinedCrowd::join(stage, usize::try_from(size)?)?;
        let joined = begun.elapsed();
        self.operate("on", &[])?;
        let minutes = MINUTE * (size / RATE + 5);
        let released =
            until("everybody is admitted", minutes, || Ok(crowd.admitted(stage)? == usize::try_from(size)?))?;
        let account = crowd.account(stage)?;
        until("the line is empty", 5 * MINUTE, || Ok(stage.messages("LineUrl")? == 0))?;
        ensure!(stage.messages("DeadLettersUrl")? == 0, "there are dead letters");
        Ok(StepOutcome::Shown(vec![
            format!("{size} joined in {joined:.1?}"),
            format!("the queue counted them {:.1?} after the last one", crowd.counted_after()),
            format!("all were admitted {released:.1?} after the room was on"),
            account.to_string(),
        ]))
    }

    fn turn_options_on(&mut self) -> Result<StepOutcome> {
        if self.options.endpoint.is_some() {
            return Ok(StepOutcome::Skipped(NO_CONDITIONS));
        }
        let email = &self.options.email;
        let mut options = format!(
            "throttle = true\nalarm_email = {email:?}\nrequests_per_second = 500\n\
             requests_per_address = 100000\n{DOOR_LIMITS}"
        );
        let mut findings = vec!["throttle and firewall were created".to_owned()];
        if self.options.access_log {
            options += "access_log = true\n";
            findings.push("the access log was created".to_owned());
        }
        let domain = self.domain_settings();
        if !domain.is_empty() {
            options += &domain;
            findings.push("the domain was created".to_owned());
        }
        let place = self.keeps_a_place()?;
        self.configure(&options)?;
        self.operate("deploy", &["--yes"])?;
        place(self.stage()?)?;
        self.is_limited_at_the_door(&mut findings)?;
        // No shop answers the throttle at shop.example.
        self.wait_for(&["DoorLimitAlarm", "ShopFailingAlarm"], &mut findings, || {})?;
        Ok(StepOutcome::Shown(findings))
    }

    fn domain_settings(&self) -> String {
        let (Some(domain), Some(certificate)) = (&self.options.domain, &self.options.certificate) else {
            return String::new();
        };
        format!("domain = {domain:?}\ncertificate = {certificate:?}\n")
    }

    /// The firewall challenges this address, and then refuses it.
    fn is_limited_at_the_door(&self, findings: &mut Vec<String>) -> Result<()> {
        let client = self.stage()?.client();
        for (what, status) in [("challenges", 202), ("refuses", 429)] {
            let took = until(&format!("the firewall {what} this address at the door"), 10 * MINUTE, || {
                Ok(client.send("GET", "/beekeeper", &[("Accept", "text/html")]).status == status)
            })?;
            findings
                .push(format!("after {took:.0?} of requests, the firewall {what} this address at the door"));
        }
        let poll = client.get("/polling").status;
        ensure!(poll == 200, "a poll of the same address was refused too, with {poll}");
        findings.push("polls of the same address are still answered".to_owned());
        Ok(())
    }

    /// Somebody who waits. The result checks that they still do.
    fn keeps_a_place(&self) -> Result<impl FnOnce(&Stage) -> Result<()> + use<>> {
        self.operate("pause", &[])?;
        std::thread::sleep(IN_FORCE);
        let place = self.stage()?.client().join();
        Ok(move |stage: &Stage| {
            let poll = stage.client().get_with("/polling", &place).json();
            ensure!(poll["join"].is_null() && poll["allow"] == false, "the place was lost: {poll}");
            Ok(())
        })
    }

    /// Causes what eight of the alarms are for. The other four: nobody waits for ten days, neither the door nor another function
    /// fails on purpose, and a table takes more than one machine sends.
    fn ring_alarms(&mut self) -> Result<StepOutcome> {
        if self.options.endpoint.is_some() {
            return Ok(StepOutcome::Skipped("LocalEmu does not evaluate alarms"));
        }
        let stage = self.stage()?;
        stage.send("LineUrl", "no visitor")?;
        self.operate("on", &[])?;
        until("there is a dead letter", 5 * MINUTE, || Ok(stage.messages("DeadLettersUrl")? == 1))?;
        self.operate("pause", &[])?;
        std::thread::sleep(IN_FORCE);
        let client = stage.client();
        client.join();
        let before = ["ProducerFunction", "ConsumerFunction", "TriggerFunction"].map(|function| {
            let reserved = stage.reserved(function);
            (function, reserved)
        });
        stage.reserve("ProducerFunction", Some(0))?;
        stage.reserve("ConsumerFunction", Some(0))?;
        self.operate("on", &[])?;
        let mut findings = Vec::new();
        let crowded = [
            "DeadLettersAlarm",
            "DoorThrottlesAlarm",
            "FunctionThrottlesAlarm",
            "ApiErrorsAlarm",
            "ConsumersDroppedAlarm",
            "LineStalledAlarm",
        ];
        self.wait_for(&crowded, &mut findings, || {
            for _ in 0..10 {
                client.send_once("HEAD", "/beekeeper", &[]);
            }
        })?;
        let states = self.account.alarms(&self.options.room)?;
        let refused = states.get("RefusedRequestsAlarm").map(String::as_str);
        ensure!(refused != Some("ALARM"), "the door fails, and API Gateway counts it as refused requests");
        self.wait_for(&["RefusedRequestsAlarm"], &mut findings, || {
            for _ in 0..20 {
                client.get("/nowhere");
            }
        })?;
        stage.reserve("TriggerFunction", Some(0))?;
        self.wait_for(&["TriggerStoppedAlarm"], &mut findings, || {})?;
        for (function, reserved) in before {
            stage.reserve(function, reserved?)?;
        }
        self.operate("reset", &["--yes"])?;
        Ok(StepOutcome::Shown(findings))
    }

    /// Waits until these alarms ring, and causes it in between.
    fn wait_for(&self, names: &[&str], findings: &mut Vec<String>, cause: impl Fn()) -> Result<()> {
        let begun = Instant::now();
        let mut silent = names.to_vec();
        while !silent.is_empty() {
            if begun.elapsed() > RINGS_WITHIN {
                bail!("not within {} minutes: {}", RINGS_WITHIN.as_secs() / 60, silent.join(", "));
            }
            cause();
            let states = self.account.alarms(&self.options.room)?;
            let rings = |name: &str| states.get(name).is_some_and(|state| state == "ALARM");
            silent.retain(|name| {
                if rings(name) {
                    findings.push(format!("{name} rang after {:.0?}", begun.elapsed()));
                }
                !rings(name)
            });
            std::thread::sleep(Duration::from_secs(5));
        }
        Ok(())
    }

    fn turn_options_off(&mut self) -> Result<StepOutcome> {
        if self.options.endpoint.is_some() {
            return Ok(StepOutcome::Skipped(NO_CONDITIONS));
        }
        // A deployment refuses to take the domain away.
        self.configure(&format!("throttle = false\n{}", self.domain_settings()))?;
        self.operate("deploy", &["--yes"])?;
        Ok(StepOutcome::Shown(vec![
            "a deployment removed throttle, access log, alarms and firewall".to_owned(),
        ]))
    }

    fn destroy(&mut self) -> Result<StepOutcome> {
        if self.account.left(&self.options.room)?.is_empty() {
            return Ok(StepOutcome::Skipped("nothing has the room's tag"));
        }
        self.operate("destroy", &["--yes"])?;
        let left = self.account.left(&self.options.room)?;
        ensure!(left.is_empty(), "still there: {}", left.join(", "));
        Ok(StepOutcome::Shown(vec!["nothing has the room's tag any more".to_owned()]))
    }

    /// The calls of the operator and of CloudFormation on the operator's behalf.
    fn compare_calls(&mut self) -> Result<StepOutcome> {
        if self.options.endpoint.is_some() {
            return Ok(StepOutcome::Skipped(
                "LocalEmu has no CloudTrail; it denies what the policy does not allow",
            ));
        }
        let operator = self.operator.as_ref().context("there is no operator")?;
        let has_ended = |calls: &[RecordedCall]| calls.iter().any(|one| one.call == "DeleteStack");
        until("CloudTrail has recorded the removal", RECORDED_WITHIN, || {
            std::thread::sleep(Duration::from_secs(20));
            Ok(has_ended(&self.account.calls(operator)?))
        })?;
        let calls = self.account.calls(operator)?;
        let denied: Vec<_> = calls.iter().filter(|one| one.error.contains("Denied")).collect();
        ensure!(denied.is_empty(), "the policy does not allow {denied:?}");
        let mut findings: Vec<_> = calls.iter().map(RecordedCall::to_string).collect();
        let unseen: Vec<_> = allowed_actions()?
            .into_iter()
            .filter(|action| !calls.iter().any(|call| call.is_of(action)))
            .collect();
        findings.push(format!(
            "allowed and not recorded, because nothing called them, or CloudTrail records no such calls: {}",
            unseen.join(", ")
        ));
        Ok(StepOutcome::Shown(findings))
    }

    fn remove_operator(&mut self) -> Result<StepOutcome> {
        self.account.remove_operator(&self.options.room)?;
        Ok(StepOutcome::Shown(vec!["the role and its policy are removed".to_owned()]))
    }
}

/// The actions of docs/operator-policy.md. Those of API Gateway are methods of HTTP, which CloudTrail does not name.
fn allowed_actions() -> Result<Vec<String>> {
    let mut allowed = Vec::new();
    for policy in operator_policies() {
        let policy: Value = serde_json::from_str(&fs::read_to_string(policy)?)?;
        let statements = policy["Statement"].as_array().context("the policy has no statements")?;
        let actions = statements.iter().filter_map(|statement| statement["Action"].as_array()).flatten();
        let actions = actions.filter_map(Value::as_str).filter(|action| !action.starts_with("apigateway:"));
        allowed.extend(actions.map(ToOwned::to_owned));
    }
    Ok(allowed)
}
