//! The account on AWS: who signs in, the room's stack, and the limits against the crowd.

use std::error::Error;
use std::time::Duration;

use config::RoomConfig;
use doctor::{DoctorCheck, Examined};
use document::words::{about, count, time};
use waitroom::{RoomId, Timestamp};

use crate::stack_check::Expiry;
use crate::{
    Account, AccountLimit, Bundle, CloudError, DeployedBy, DeployedRoom, Forecast, LimitReading,
    ReservationPlan, ReservationTooLarge, StackCheck, StackProgress,
};

const CREDENTIALS: &str = "credentials";
const STACK: &str = "stack";
const LIMITS: &str = "limits";
/// Long enough to be asked for again before the doors open.
const SOON: Duration = Duration::from_hours(1);

/// The check of an account that did not accept the credentials.
pub fn no_credentials(error: &CloudError) -> DoctorCheck {
    let advice = error.advice().unwrap_or("see whether AWS can be reached from here");
    // The command ends with this error, and says why then.
    DoctorCheck::problem(CREDENTIALS, format!("{error}; so only the shop is checked"), advice)
}

pub(super) async fn credentials(account: &Account, examined: &Examined) -> Vec<DoctorCheck> {
    let opens = examined.status().and_then(|status| status.room.opens);
    let expiry = account.credentials_expire().await;
    vec![judge_credentials(&account.arn, &account.region, expiry, examined.now(), opens)]
}

fn judge_credentials(
    arn: &str,
    region: &str,
    expiry: Expiry,
    now: Timestamp,
    opens: Option<Timestamp>,
) -> DoctorCheck {
    let who = format!("{arn}, in {region}");
    let again = "sign in again shortly before the event: without credentials you cannot give orders; the room runs on";
    match expiry {
        Expiry::Never => {
            DoctorCheck::ok(CREDENTIALS, format!("{who}; as far as is known, they do not expire"))
        }
        Expiry::Sometime => {
            let text = format!("{who}; they are temporary, and only who gave them out knows until when");
            DoctorCheck::warning(CREDENTIALS, text, again)
        }
        Expiry::At(at) => {
            let text = format!("{who}; they expire at {at}");
            if at.since(now) < SOON || opens.is_some_and(|opens| at <= opens) {
                return DoctorCheck::warning(CREDENTIALS, text, again);
            }
            DoctorCheck::ok(CREDENTIALS, text)
        }
    }
}

pub(super) fn failed(name: &'static str, error: &CloudError) -> DoctorCheck {
    DoctorCheck::failed(name, error, error.advice())
}

/// `not_found` is why the stack has no room, if AWS says so.
pub(super) async fn stack(
    account: &Account,
    config: &RoomConfig,
    bundle: &Bundle,
    not_found: Option<&CloudError>,
) -> Vec<DoctorCheck> {
    let lack = not_found.and_then(Error::source).map(ToString::to_string);
    match account.check_stack(config, bundle).await {
        Ok(found) => judge_stack(found.as_ref(), lack, &config.room),
        Err(error) => vec![failed(STACK, &error)],
    }
}

/// That this program could not deploy the room, also if it can sign in.
pub fn no_functions(bundle: &Bundle, config: &RoomConfig) -> Option<DoctorCheck> {
    let error = bundle.refuse_missing(config).err()?;
    Some(failed(STACK, &error))
}

/// `lack` is what a stack lacks that has no room.
fn judge_stack(found: Option<&StackCheck>, lack: Option<String>, room: &RoomId) -> Vec<DoctorCheck> {
    let Some(found) = found else {
        let text = format!(
            "the room is not deployed yet, with these credentials and in this region; its page, keys, certificate, alarms and dead \
             letters are checked after: beekeeper deploy {room}"
        );
        return vec![DoctorCheck::not_checked(STACK, text)];
    };
    let with = if found.deployed_by == DeployedBy::NewerVersion { " with the newer beekeeper" } else { "" };
    let deploy = format!("deploy again{with}, which keeps the line: beekeeper deploy {room}");
    let status = found.status.to_lowercase().replace('_', " ");
    let mut checks = match found.progress {
        // Otherwise every check of the room would be missing, and nobody would know why.
        StackProgress::Complete => {
            lack.into_iter().map(|lack| DoctorCheck::problem(STACK, lack, &*deploy)).collect()
        }
        StackProgress::UnderWay => {
            let text = format!("an operation on it is still running ({status})");
            vec![DoctorCheck::problem(STACK, text, format!("follow it: beekeeper deploy {room}"))]
        }
        StackProgress::Broken => {
            let text = format!("an operation on it failed half-way ({status})");
            vec![DoctorCheck::problem(STACK, text, format!("repair it: beekeeper deploy {room}"))]
        }
    };
    match found.deployed_by {
        DeployedBy::NewerVersion => {
            let text = "a newer beekeeper than this one deployed the room";
            let advice = "use that one: this one may give orders, and deploys nothing there";
            checks.push(DoctorCheck::warning(STACK, text, advice));
        }
        DeployedBy::AnotherVersion => {
            let text = "the room was deployed by another version of beekeeper than this one";
            let advice = format!(
                "if this one is newer, {deploy}; otherwise get that version from whoever deployed it last"
            );
            checks.push(DoctorCheck::warning(STACK, text, advice));
        }
        DeployedBy::ThisProgram | DeployedBy::Unknown => {}
    }
    if !found.not_deployed.is_empty() {
        let changes: Vec<_> = found.not_deployed.iter().map(ToString::to_string).collect();
        let text = format!("your configuration file differs from what is deployed: {}", changes.join(", "));
        let advice =
            format!("if your file is the newest, {deploy}; otherwise get it from whoever deployed it last");
        checks.push(DoctorCheck::problem(STACK, text, advice));
    }
    if checks.is_empty() {
        let program = if found.deployed_by == DeployedBy::ThisProgram { "of this version, " } else { "" };
        checks.push(DoctorCheck::ok(STACK, format!("{status}, {program}as it is configured")));
    }
    if found.deployed_by == DeployedBy::Unknown {
        let text = "this beekeeper contains no functions for the room, so whether the room is of this version is not known";
        checks.push(DoctorCheck::not_checked(STACK, text));
    }
    checks
}

/// `deployed` is the room, if it is deployed: it may have reserved too little for the rate.
pub(super) async fn forecast(
    account: &Account,
    config: &RoomConfig,
    examined: &Examined,
    deployed: Option<&DeployedRoom>,
) -> Vec<DoctorCheck> {
    let forecast = account.forecast_room(config, examined.custom_page(), examined.visitors);
    let mut checks = match forecast.await {
        Ok(forecast) => judge_forecast(&forecast),
        Err(error) => vec![failed(LIMITS, &error)],
    };
    let reserved = deployed.and_then(|room| room.warning_of_reservation(config, examined.room.settings.rate));
    checks.extend(reserved.map(|warning| DoctorCheck::warning(LIMITS, warning.text, warning.advice)));
    checks
}

fn judge_forecast(forecast: &Forecast) -> Vec<DoctorCheck> {
    let Forecast { limits, reserved, capacity, outlook, warnings, room, mode: _ } = forecast;
    let where_they_come = if room.edge.answers() { "behind CloudFront, " } else { "" };
    let mut facts = format!(
        "{where_they_come}about {} people can join a second while {} wait, and {} a minute can come and go; the first limit is {}",
        about(capacity.joins_per_second.most),
        count(capacity.crowd),
        about(capacity.kept_up.most),
        capacity.joins_per_second.limit.name()
    );
    match outlook {
        Some(outlook) => {
            let (people, wait) = (count(outlook.visitors), time(outlook.last_waits_minutes * 60));
            let joined = outlook.joined_after.map_or_else(String::new, |joined| {
                format!("if all come at once, they have joined after {} at least, and ", time(joined))
            });
            facts = format!("{facts}. Of {people} people: {joined}the last one waits {wait}");
        }
        None => facts += "; say how many you expect with --visitors",
    }
    let first = match unread(limits) {
        None => DoctorCheck::ok(LIMITS, facts),
        Some(unread) => DoctorCheck::not_checked(LIMITS, format!("{facts}\n{unread}")),
    };
    let warned =
        warnings.iter().map(|warning| DoctorCheck::warning(LIMITS, &*warning.text, &*warning.advice));
    std::iter::once(first).chain(warned).chain(unreserved(reserved)).collect()
}

/// That a deployment can keep no functions for releasing.
fn unreserved(reserved: &ReservationPlan) -> Option<DoctorCheck> {
    let (because, advice) = match reserved {
        ReservationPlan::TooLarge(ReservationTooLarge { needed, unreserved, kept }) => (
            format!(
                "{needed} functions are needed, and AWS wants {kept} left of the {unreserved} that are not reserved"
            ),
            AccountLimit::advice_for_few_functions(),
        ),
        ReservationPlan::Unread { before, error } if before.consumers == 0 => (
            error.clone(),
            "run the command again, or allow what was denied (docs/operator-policy.md)".to_owned(),
        ),
        // What was reserved before stays.
        ReservationPlan::Reserves(_) | ReservationPlan::Unread { .. } => return None,
    };
    let text =
        format!("a deployment reserves nothing for releasing, so a rush at the door may delay it: {because}");
    Some(DoctorCheck::warning(LIMITS, text, advice))
}

/// Which limits could not be read, and why. All fail for the same reason.
fn unread(limits: &[LimitReading]) -> Option<String> {
    let error = limits.iter().find_map(|reading| reading.error.as_deref())?;
    let names: Vec<_> =
        limits.iter().filter(|reading| reading.value.is_none()).map(|reading| reading.name).collect();
    Some(format!(
        "computed with AWS's defaults for limits that could not be read ({}): {error}; allow it (docs/operator-policy.md), \
         or run the command again",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use aws_model::Reservation;
    use doctor::CheckResult;

    use super::*;
    use crate::SettingChange;

    #[test]
    fn credentials_that_expire_before_the_event_are_warned_of() {
        let now = Timestamp::from_millis(1_804_000_000_000);
        let hours = |hours| now + Duration::from_hours(hours);
        let of = |expiry, opens| {
            judge_credentials("arn:aws:iam::1:user/anna", "eu-central-1", expiry, now, opens).result
        };
        assert_eq!(of(Expiry::Never, Some(hours(24))), CheckResult::Ok);
        assert_eq!(of(Expiry::At(hours(8)), None), CheckResult::Ok);
        assert_eq!(of(Expiry::At(hours(8)), Some(hours(24))), CheckResult::Warning);
        assert_eq!(of(Expiry::At(now), None), CheckResult::Warning);
        assert_eq!(of(Expiry::Sometime, None), CheckResult::Warning);
    }

    #[test]
    fn a_stack_that_is_not_as_it_would_be_deployed_is_found() {
        let room = "sale".parse().unwrap();
        let change =
            |&setting: &&'static str| SettingChange { setting, before: Some("1".into()), after: None };
        let stack = |progress, deployed_by, edited: &[&'static str]| StackCheck {
            status: "UPDATE_COMPLETE".into(),
            progress,
            deployed_by,
            not_deployed: edited.iter().map(change).collect(),
        };
        let of = |progress, deployed_by, edited: &[&'static str]| {
            judge_stack(Some(&stack(progress, deployed_by, edited)), None, &room)
        };
        let fine = of(StackProgress::Complete, DeployedBy::ThisProgram, &[]);
        assert_eq!(fine, [DoctorCheck::ok(STACK, "update complete, of this version, as it is configured")]);
        let edited = of(StackProgress::Complete, DeployedBy::AnotherVersion, &["title", "shop"]);
        assert!(
            edited[0].result == CheckResult::Warning && edited[1].result == CheckResult::Problem,
            "{edited:?}"
        );
        assert!(edited[1].found.ends_with("deployed: title: 1 -> none, shop: 1 -> none"), "{edited:?}");
        let advice = edited[0].advice.as_deref().unwrap();
        assert!(advice.starts_with("if this one is newer, deploy again, "), "{advice}");
        let newer = of(StackProgress::Complete, DeployedBy::NewerVersion, &["title"]);
        let advice = newer[1].advice.as_deref().unwrap();
        assert!(advice.contains("deploy again with the newer beekeeper, "), "{advice}");
        assert!(
            newer[0].result == CheckResult::Warning && newer[0].found.starts_with("a newer"),
            "{newer:?}"
        );
        for progress in [StackProgress::UnderWay, StackProgress::Broken] {
            assert_eq!(of(progress, DeployedBy::Unknown, &[])[0].result, CheckResult::Problem);
        }
        assert_eq!(judge_stack(None, None, &room)[0].result, CheckResult::NotChecked);
        let lack = "it is incomplete (UPDATE_COMPLETE): the output PageBucket is missing";
        let old = judge_stack(
            Some(&stack(StackProgress::Complete, DeployedBy::ThisProgram, &[])),
            Some(lack.into()),
            &room,
        );
        let advice = "deploy again, which keeps the line: beekeeper deploy sale";
        assert_eq!(old, [DoctorCheck::problem(STACK, lack, advice)]);
        let unknown = of(StackProgress::Complete, DeployedBy::Unknown, &[]);
        assert_eq!(unknown[0], DoctorCheck::ok(STACK, "update complete, as it is configured"));
        assert_eq!(unknown[1].result, CheckResult::NotChecked, "{unknown:?}");
    }

    #[test]
    fn a_deployment_that_would_reserve_nothing_is_warned_of() {
        let too_large = ReservationTooLarge { needed: 12, unreserved: 10, kept: 100 };
        let warned = unreserved(&ReservationPlan::TooLarge(too_large)).unwrap();
        assert_eq!(warned.result, CheckResult::Warning);
        assert!(warned.found.ends_with("AWS wants 100 left of the 10 that are not reserved"), "{warned:?}");
        let unread = |consumers| {
            let before = Reservation::of_consumers(consumers);
            unreserved(&ReservationPlan::Unread { before, error: "AccessDenied".into() })
        };
        assert!(unread(0).unwrap().found.ends_with("may delay it: AccessDenied"));
        assert_eq!(unread(12), None, "what was reserved before stays");
        assert_eq!(unreserved(&ReservationPlan::Reserves(Reservation::of_consumers(12))), None);
    }

    #[test]
    fn limits_that_could_not_be_read_are_named() {
        let reading = |limit: AccountLimit, error: Option<&str>| LimitReading {
            limit,
            name: limit.name(),
            value: error.is_none().then_some(10.0),
            error: error.map(ToOwned::to_owned),
            taken: 10.0,
        };
        let read = reading(AccountLimit::Concurrency, None);
        assert_eq!(unread(std::slice::from_ref(&read)), None);
        let text = unread(&[read, reading(AccountLimit::TableReads, Some("AccessDenied"))]).unwrap();
        let expected =
            format!("could not be read ({}): AccessDenied; allow it", AccountLimit::TableReads.name());
        assert!(text.contains(&expected), "{text}");
    }
}
