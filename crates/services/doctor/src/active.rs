//! A limit of active visitors: whether the room knows who is in the shop, and for how long somebody counts who doesn't come.

use std::time::Duration;

use control::wording;
use document::words;
use waitroom::ActiveLimit;

use crate::{DoctorCheck, Examined};

const ACTIVE: &str = "active";
/// A guard reports every ten seconds.
const SILENT: Duration = Duration::from_mins(1);
/// A few minutes more than a visitor needs to come back to the page.
const LONG_ADMISSION: Duration = Duration::from_mins(15);

pub(crate) fn check(examined: &Examined) -> Vec<DoctorCheck> {
    let settings = &examined.room.settings;
    let Some(limit) = &settings.active else { return Vec::new() };
    let admission = settings.lifetimes.admission;
    let long = (admission > LONG_ADMISSION).then(|| {
        let minutes = words::time(admission.as_secs());
        DoctorCheck::warning(
            ACTIVE,
            format!("whoever is let in and doesn't come takes a place in the shop for {minutes}, and a little longer"),
            "set admission_minutes = 10 in the configuration file and deploy the room, or start it again with --admission 10m",
        )
    });
    reports(examined, limit).into_iter().chain(long).collect()
}

/// Whether guards report who is in the shop. Before a first deployment none can, and during a rehearsal nobody is counted.
fn reports(examined: &Examined, limit: &ActiveLimit) -> Option<DoctorCheck> {
    let (status, now) = (examined.status()?, examined.now());
    let (count, told) = (status.active?.count, wording::active(status, now)?);
    let session = words::time(limit.session.as_secs());
    Some(match count.reported {
        None => DoctorCheck::warning(
            ACTIVE,
            format!("{told}, so everybody counts for {session}"),
            format!(
                "make a report key and give it to the shop's guard: beekeeper keys guard {}, and --report-key FILE: \
                 docs/active-visitors.md",
                examined.as_typed
            ),
        ),
        Some(reported) if reported + SILENT < now => DoctorCheck::warning(
            ACTIVE,
            format!("{told}, so everybody let in since counts as present"),
            "look at that guard and its log; if it's gone for good, the room forgets it after admission_minutes and session_minutes",
        ),
        Some(_) => DoctorCheck::ok(ACTIVE, told),
    })
}

#[cfg(test)]
mod tests {
    use control::{ActiveStatus, Status, example};
    use waitroom::ActiveCount;

    use super::*;
    use crate::CheckResult::{Ok, Warning};
    use crate::examined::configured;

    const LIMIT: ActiveLimit =
        ActiveLimit { visitors: 100, idle: Duration::from_mins(20), session: Duration::from_mins(90) };

    /// A room with this limit and admissions of so many minutes, whose guards reported so long ago.
    fn examined(admission: u64, guards: &[Duration]) -> Examined {
        let mut examined = configured(None);
        examined.room.settings.active = Some(LIMIT);
        examined.room.settings.lifetimes.admission = Duration::from_mins(admission);
        let reported = guards.iter().max().map(|ago| examined.now() - *ago);
        let count =
            ActiveCount { sessions: 12, expected: 3, planned: 0, guards: guards.len() as u64, reported };
        let active = Some(ActiveStatus { limit: LIMIT.visitors, count });
        examined.status = Result::Ok(Some(Status { active, ..example::suffering() }));
        examined
    }

    fn found(examined: &Examined) -> Vec<(crate::CheckResult, String, String)> {
        let told = |check: DoctorCheck| (check.result, check.found, check.advice.unwrap_or_default());
        check(examined).into_iter().map(told).collect()
    }

    #[test]
    fn a_room_without_a_limit_is_not_asked_who_is_in_its_shop() {
        let mut examined = examined(10, &[]);
        examined.room.settings.active = None;
        assert_eq!(found(&examined), []);
    }

    #[test]
    fn a_room_that_nobody_reports_to_counts_everybody_for_a_whole_session() {
        let found = found(&examined(10, &[]));
        let [(Warning, told, advice)] = &found[..] else { panic!("{found:?}") };
        assert_eq!(
            told,
            "15 of 100, by how long a visit lasts at most: no guard reports who is in the shop, so everybody counts for 90 min"
        );
        assert!(advice.contains("beekeeper keys guard sale, and --report-key FILE"), "{advice}");
    }

    #[test]
    fn guards_that_report_are_counted_and_a_silent_one_is_found() {
        let [seconds, minutes] = [Duration::from_secs(8), Duration::from_mins(5)];
        let ok = found(&examined(10, &[seconds, seconds]));
        assert!(
            matches!(&ok[..], [(Ok, told, _)] if told.contains("12 in the shop and 3 on the way; 2 guards report")),
            "{ok:?}"
        );
        let silent = found(&examined(10, &[seconds, minutes]));
        let [(Warning, told, advice)] = &silent[..] else { panic!("{silent:?}") };
        assert!(told.ends_with("5 min ago, so everybody let in since counts as present"), "{told}");
        assert!(advice.contains("look at that guard"), "{advice}");
    }

    #[test]
    fn an_admission_that_is_long_is_a_place_that_nobody_uses() {
        let mut examined = examined(60, &[Duration::ZERO]);
        let found =
            |examined: &Examined| check(examined).into_iter().map(|check| check.result).collect::<Vec<_>>();
        assert_eq!(found(&examined), [Ok, Warning]);
        examined.status = Result::Ok(None);
        assert_eq!(found(&examined), [Warning], "also before the first deployment");
        examined.room.settings.lifetimes.admission = LONG_ADMISSION;
        assert_eq!(found(&examined), []);
    }
}
