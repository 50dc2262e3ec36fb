//! Who notices when something goes wrong on AWS: alarms, their e-mails, and dead letters.

use operator::{AlarmMailState, AlarmState, Status};

use super::{DoctorCheck, Examined};
use crate::wording;

const ALARMS: &str = "alarms";
const DEAD_LETTERS: &str = "dead-letters";

pub(super) fn check(examined: &Examined) -> Vec<DoctorCheck> {
    let Some(status) = examined.status().filter(|_| !examined.is_here()) else { return Vec::new() };
    let mut checks = alarms(status, examined.name.as_str());
    checks.extend(status.dead_letters.map(|count| dead_letters(count, examined.name.as_str())));
    checks
}

fn alarms(status: &Status, name: &str) -> Vec<DoctorCheck> {
    let Some(mail) = &status.alarm_mail else {
        let advice = format!(
            "set alarm_email in the room's configuration file (beekeeper config {name} says where it is), and deploy again"
        );
        return vec![DoctorCheck::warning(
            ALARMS,
            "the room has no alarms: nobody is told when it fails",
            advice,
        )];
    };
    let ringing = status.alarms.iter().filter(|alarm| alarm.state == AlarmState::Ringing);
    let mut checks: Vec<_> = ringing
        .map(|alarm| {
            let text = format!("{} is ringing: {}", alarm.name, alarm.reason);
            let advice = format!(
                "see why: beekeeper logs {name} --since 1h; in the first minutes after a deployment, an alarm may ring by itself"
            );
            DoctorCheck::problem(ALARMS, text, advice)
        })
        .collect();
    if checks.is_empty() {
        checks.extend(wording::alarms(status).map(|text| DoctorCheck::ok(ALARMS, text)));
    }
    checks.push(match (mail.state, wording::alarm_mail(mail)) {
        (AlarmMailState::Unknown, why) => DoctorCheck::not_checked(ALARMS, why.unwrap_or_default()),
        (_, None) => DoctorCheck::ok(ALARMS, format!("{} gets the e-mails of the alarms", mail.address)),
        (_, Some(text)) => {
            let (fact, advice) = text.split_once([':', ';']).unwrap_or((&text, "confirm it"));
            DoctorCheck::warning(ALARMS, format!("{fact}: it is not confirmed"), advice.trim())
        }
    });
    checks
}

fn dead_letters(count: u64, name: &str) -> DoctorCheck {
    if count == 0 {
        return DoctorCheck::ok(DEAD_LETTERS, "none");
    }
    let messages = if count == 1 { "1 message" } else { &format!("{count} messages") };
    DoctorCheck::warning(
        DEAD_LETTERS,
        format!("{messages} in the line came from no visitor, or could not be read"),
        format!("no visitor is lost; see who writes to the line, and why: beekeeper logs {name} --since 1d"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::CheckResult;
    use crate::fixture::suffering;

    #[test]
    fn a_ringing_alarm_and_an_unconfirmed_address_are_found() {
        let mut status = suffering();
        let checks = alarms(&status, "sale");
        let results: Vec<_> = checks.iter().map(|check| check.result).collect();
        assert_eq!(results, [CheckResult::Problem, CheckResult::Warning], "{checks:?}");
        assert!(checks[1].found.starts_with("anna@shop.example gets none yet: "), "{checks:?}");
        assert!(checks[1].advice.as_ref().unwrap().starts_with("click the link"), "{checks:?}");
        status.alarm_mail.as_mut().unwrap().state = AlarmMailState::Missing;
        assert!(alarms(&status, "sale")[1].advice.as_ref().unwrap().contains("aws sns subscribe"));
        status.alarm_mail.as_mut().unwrap().state = AlarmMailState::Confirmed;
        assert_eq!(alarms(&status, "sale")[1].result, CheckResult::Ok);
        status.alarm_mail = None;
        assert_eq!(alarms(&status, "sale")[0].result, CheckResult::Warning);
    }

    #[test]
    fn dead_letters_are_counted() {
        assert_eq!(dead_letters(0, "sale").result, CheckResult::Ok);
        assert!(dead_letters(1, "sale").found.starts_with("1 message in the line"));
        assert!(dead_letters(2, "sale").found.starts_with("2 messages in the line"));
    }
}
