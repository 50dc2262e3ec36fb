//! The account on AWS: who signs in, the room's stack, and the limits against the crowd.

use std::time::Duration;

use cloud::{Account, Forecast, StackCheck, StackProgress, about, grouped, lasting};
use config::RoomConfig;
use page::Page;
use waitroom::{RoomId, Timestamp};

use super::DoctorCheck;
use crate::aws::bundle;
use crate::exit;

const CREDENTIALS: &str = "credentials";
const STACK: &str = "stack";
const LIMITS: &str = "limits";
/// Long enough to be asked for again before the doors open.
const SOON: Duration = Duration::from_hours(1);

/// The check of an account that did not accept the credentials.
pub(crate) fn no_credentials(error: &anyhow::Error) -> DoctorCheck {
    let advice = exit::advice(error).unwrap_or("see whether AWS can be reached from here");
    // The command ends with this error, and says why then.
    DoctorCheck::problem(CREDENTIALS, error.to_string(), advice)
}

pub(crate) async fn credentials(
    account: &Account,
    now: Timestamp,
    opens: Option<Timestamp>,
) -> Vec<DoctorCheck> {
    let expire = account.credentials_expire().await;
    vec![judge_credentials(&account.arn, &account.region, expire, now, opens)]
}

fn judge_credentials(
    arn: &str,
    region: &str,
    expire: Option<Timestamp>,
    now: Timestamp,
    opens: Option<Timestamp>,
) -> DoctorCheck {
    let who = format!("{arn}, in {region}");
    let Some(expire) = expire else {
        return DoctorCheck::ok(CREDENTIALS, format!("{who}; as far as is known, they do not expire"));
    };
    let text = format!("{who}; they expire at {expire}");
    if expire.since(now) < SOON || opens.is_some_and(|opens| expire <= opens) {
        let advice = "sign in again shortly before the event: without credentials you cannot give orders; the room runs on";
        return DoctorCheck::warning(CREDENTIALS, text, advice);
    }
    DoctorCheck::ok(CREDENTIALS, text)
}

pub(crate) async fn stack(account: &Account, config: &RoomConfig, page: Option<&Page>) -> Vec<DoctorCheck> {
    match account.check_stack(config, page, &bundle()).await {
        Ok(found) => judge_stack(found.as_ref(), &config.room),
        Err(error) => {
            let error = anyhow::Error::new(error);
            let advice = exit::advice(&error).unwrap_or("run the command again");
            vec![DoctorCheck::problem(STACK, format!("{error:#}"), advice)]
        }
    }
}

fn judge_stack(found: Option<&StackCheck>, room: &RoomId) -> Vec<DoctorCheck> {
    let deploy = format!("deploy again, which keeps the line: beekeeper deploy {room}");
    let Some(found) = found else {
        let text = format!(
            "the room is not deployed yet; its page, keys, certificate, alarms and dead letters are checked after: beekeeper \
             deploy {room}"
        );
        return vec![DoctorCheck::not_checked(STACK, text)];
    };
    let status = found.status.to_lowercase().replace('_', " ");
    let mut checks = match found.progress {
        StackProgress::Complete => Vec::new(),
        StackProgress::UnderWay => {
            let text = format!("an operation on it is still running ({status})");
            vec![DoctorCheck::problem(STACK, text, format!("follow it: beekeeper deploy {room}"))]
        }
        StackProgress::Broken => {
            let text = format!("an operation on it failed half-way ({status})");
            vec![DoctorCheck::problem(STACK, text, format!("repair it: beekeeper deploy {room}"))]
        }
    };
    if found.is_of_this_program == Some(false) {
        let text = "the room was deployed by another version of beekeeper than this one";
        checks.push(DoctorCheck::warning(STACK, text, &*deploy));
    }
    if !found.not_deployed.is_empty() {
        let text = format!(
            "not deployed since the configuration file was edited: {}",
            found.not_deployed.join(", ")
        );
        checks.push(DoctorCheck::problem(STACK, text, &*deploy));
    }
    if checks.is_empty() {
        let program = match found.is_of_this_program {
            Some(_) => "of this version, ",
            None => "",
        };
        checks.push(DoctorCheck::ok(STACK, format!("{status}, {program}as it is configured")));
    }
    checks
}

pub(crate) async fn forecast(
    account: &Account,
    config: &RoomConfig,
    page: Option<&Page>,
    visitors: Option<u64>,
) -> Vec<DoctorCheck> {
    match account.forecast_room(config, page, visitors).await {
        Ok(forecast) => judge_forecast(&forecast),
        Err(error) => {
            let error = anyhow::Error::new(error);
            let advice = exit::advice(&error).unwrap_or("run the command again");
            vec![DoctorCheck::problem(LIMITS, format!("{error:#}"), advice)]
        }
    }
}

fn judge_forecast(forecast: &Forecast) -> Vec<DoctorCheck> {
    let Forecast { capacity, outlook, warnings, .. } = forecast;
    let mut facts = format!(
        "about {} people can join a second while {} wait, and {} a minute can come and go; the first limit is {}",
        about(capacity.joins_per_second.most),
        grouped(capacity.crowd),
        about(capacity.kept_up.most),
        capacity.joins_per_second.limit.name()
    );
    match outlook {
        Some(outlook) => {
            let (people, wait) = (grouped(outlook.visitors), lasting(outlook.last_waits_minutes * 60));
            let joined = outlook.joined_after.map_or_else(String::new, |joined| {
                format!("if all come at once, they have joined after {} at least, and ", lasting(joined))
            });
            facts = format!("{facts}. Of {people} people: {joined}the last one waits {wait}");
        }
        None => facts += "; say how many you expect with --visitors",
    }
    let warned =
        warnings.iter().map(|warning| DoctorCheck::warning(LIMITS, &*warning.text, &*warning.advice));
    std::iter::once(DoctorCheck::ok(LIMITS, facts)).chain(warned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::CheckResult;

    #[test]
    fn credentials_that_expire_before_the_event_are_warned_of() {
        let now = Timestamp::from_millis(1_804_000_000_000);
        let hours = |hours| now + Duration::from_hours(hours);
        let of = |expire, opens| {
            judge_credentials("arn:aws:iam::1:user/anna", "eu-central-1", expire, now, opens).result
        };
        assert_eq!(of(None, Some(hours(24))), CheckResult::Ok);
        assert_eq!(of(Some(hours(8)), None), CheckResult::Ok);
        assert_eq!(of(Some(hours(8)), Some(hours(24))), CheckResult::Warning);
        assert_eq!(of(Some(now), None), CheckResult::Warning);
    }

    #[test]
    fn a_stack_that_is_not_as_it_would_be_deployed_is_found() {
        let room = "sale".parse().unwrap();
        let of = |progress, is_of_this_program, not_deployed: &[&'static str]| {
            let found = StackCheck {
                status: "UPDATE_COMPLETE".into(),
                progress,
                is_of_this_program,
                not_deployed: not_deployed.into(),
            };
            judge_stack(Some(&found), &room)
        };
        let fine = of(StackProgress::Complete, Some(true), &[]);
        assert_eq!(fine, [DoctorCheck::ok(STACK, "update complete, of this version, as it is configured")]);
        let edited = of(StackProgress::Complete, Some(false), &["title", "shop"]);
        assert!(
            edited[0].result == CheckResult::Warning && edited[1].result == CheckResult::Problem,
            "{edited:?}"
        );
        assert!(edited[1].found.ends_with("edited: title, shop"), "{edited:?}");
        for progress in [StackProgress::UnderWay, StackProgress::Broken] {
            assert_eq!(of(progress, None, &[])[0].result, CheckResult::Problem);
        }
        assert_eq!(judge_stack(None, &room)[0].result, CheckResult::NotChecked);
    }
}
