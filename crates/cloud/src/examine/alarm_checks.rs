//! Who notices when something goes wrong on AWS: alarms, their e-mails, and dead letters.

use control::wording::{MailTrouble, alarm_mail};
use control::{Alarm, AlarmMail, AlarmState};
use doctor::{DoctorCheck, Examined};
use document::words::things;
use futures_util::future::join3;

use super::account::failed;
use crate::{CloudError, DeployedRoom};

const ALARMS: &str = "alarms";
const DEAD_LETTERS: &str = "dead-letters";

/// Each is asked by itself, because each needs a permission of its own.
pub(super) async fn check(deployed: Option<&DeployedRoom>, examined: &Examined) -> Vec<DoctorCheck> {
    let name = examined.name.as_str();
    let Some(deployed) = deployed else {
        return if examined.status.is_ok() { Vec::new() } else { unknown() };
    };
    // Boxed, because the futures of the SDK are large.
    let asked = Box::pin(join3(deployed.alarms(), deployed.alarm_mail(), deployed.dead_letters()));
    let (found, mail, letters) = asked.await;
    let mut checks = alarms(found, mail.as_ref(), name);
    checks.push(dead_letters(letters, name));
    checks
}

/// Nothing of a room that is not found is called well. The check of the room says why it is not.
fn unknown() -> Vec<DoctorCheck> {
    [ALARMS, DEAD_LETTERS]
        .map(|check| DoctorCheck::not_checked(check, "not known, because AWS did not say where the room is"))
        .into()
}

fn alarms(found: Result<Vec<Alarm>, CloudError>, mail: Option<&AlarmMail>, name: &str) -> Vec<DoctorCheck> {
    let Some(mail) = mail else {
        let advice = format!(
            "set alarm_email in the room's configuration file (beekeeper config {name} says where it is), and deploy again"
        );
        return vec![DoctorCheck::warning(
            ALARMS,
            "the room has no alarms: nobody is told when it fails",
            advice,
        )];
    };
    let mut checks = match found {
        Ok(alarms) => ringing(&alarms, name),
        Err(error) => vec![failed(ALARMS, &error)],
    };
    checks.push(match alarm_mail(mail) {
        None => DoctorCheck::ok(ALARMS, format!("{} gets the e-mails of the alarms", mail.address)),
        Some(MailTrouble { fact, advice: Some(advice) }) => DoctorCheck::warning(ALARMS, fact, advice),
        Some(MailTrouble { fact, advice: None }) => DoctorCheck::not_checked(ALARMS, fact),
    });
    checks
}

fn ringing(alarms: &[Alarm], name: &str) -> Vec<DoctorCheck> {
    let ringing = alarms.iter().filter(|alarm| alarm.state == AlarmState::Ringing);
    let mut checks: Vec<_> = ringing
        .map(|alarm| {
            let text = format!("{} is ringing: {}", alarm.name, alarm.told());
            let advice = format!(
                "see why: beekeeper logs {name} --since 1h; in the first minutes after a deployment, an alarm may ring by itself"
            );
            DoctorCheck::problem(ALARMS, text, advice)
        })
        .collect();
    if checks.is_empty() && !alarms.is_empty() {
        checks.push(DoctorCheck::ok(ALARMS, format!("none of {} is ringing", alarms.len())));
    }
    checks
}

fn dead_letters(found: Result<u64, CloudError>, name: &str) -> DoctorCheck {
    let count = match found {
        Ok(0) => return DoctorCheck::ok(DEAD_LETTERS, "none"),
        Ok(count) => count,
        Err(error) => return failed(DEAD_LETTERS, &error),
    };
    DoctorCheck::warning(
        DEAD_LETTERS,
        format!("{} in the line came from no visitor, or could not be read", things(count, "message")),
        format!("no visitor is lost; see who writes to the line, and why: beekeeper logs {name} --since 1d"),
    )
}

#[cfg(test)]
mod tests {
    use control::AlarmMailState;
    use control::example::suffering;
    use doctor::CheckResult;

    use super::*;
    use crate::CloudErrorKind;

    fn denied() -> CloudError {
        CloudError::new(CloudErrorKind::AccessDenied, "look at the room", "AccessDenied")
    }

    #[test]
    fn a_ringing_alarm_and_an_unconfirmed_address_are_found() {
        let status = suffering();
        let mut mail = status.alarm_mail.unwrap();
        let of = |mail: &AlarmMail| alarms(Ok(status.alarms.clone()), Some(mail), "sale");
        let checks = of(&mail);
        let results: Vec<_> = checks.iter().map(|check| check.result).collect();
        assert_eq!(results, [CheckResult::Problem, CheckResult::Warning], "{checks:?}");
        assert_eq!(checks[0].found, "producer-errors is ringing: the door is broken");
        assert!(checks[1].found.starts_with("anna@shop.example gets none yet: "), "{checks:?}");
        assert!(checks[1].advice.as_ref().unwrap().starts_with("click the link"), "{checks:?}");
        mail.state = AlarmMailState::Missing;
        let missing = &of(&mail)[1];
        assert!(missing.advice.as_ref().unwrap().starts_with("subscribe again: aws sns "), "{missing:?}");
        mail.state = AlarmMailState::Confirmed;
        assert_eq!(of(&mail)[1].result, CheckResult::Ok);
        mail.state = AlarmMailState::Unknown;
        assert_eq!(of(&mail)[1].result, CheckResult::NotChecked);
        let quiet = alarms(Ok(status.alarms[1..].to_vec()), Some(&mail), "sale");
        assert_eq!(quiet[0], DoctorCheck::ok(ALARMS, "none of 1 is ringing"));
        assert_eq!(alarms(Ok(Vec::new()), None, "sale")[0].result, CheckResult::Warning);
    }

    #[test]
    fn what_may_not_be_read_is_a_problem_by_itself() {
        let mail = suffering().alarm_mail;
        let checks = alarms(Err(denied()), mail.as_ref(), "sale");
        let results: Vec<_> = checks.iter().map(|check| check.result).collect();
        assert_eq!(results, [CheckResult::Problem, CheckResult::Warning], "{checks:?}");
        assert_eq!(dead_letters(Err(denied()), "sale").result, CheckResult::Problem);
    }

    #[test]
    fn dead_letters_are_counted() {
        let of = |count| dead_letters(Ok(count), "sale");
        assert_eq!(of(0).result, CheckResult::Ok);
        assert!(of(1).found.starts_with("1 message in the line"));
        assert!(of(2).found.starts_with("2 messages in the line"));
    }
}
