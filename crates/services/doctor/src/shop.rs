//! The shop: whether it answers, and how fast. `deploy` judges it the same way before there is a room.

use std::time::Duration;

use clock::SystemClock;
use control::wording::found;
use probe::UntrustedCertificate;
use throttle::{Measurement, VisitFailure, measure};
use waitroom::throttle_rules::{Baseline, Verdict};
use waitroom::{Room, WebUrl, innermost};

use crate::journey::{Journey, needs_health};
use crate::{CheckResult, DoctorCheck, Examined};

pub(crate) const SHOP: &str = "shop";
/// A shop that takes longer without a crowd is slow already.
const SLOW: Duration = Duration::from_secs(2);
/// What a web server answers for a guard that doesn't, in the configurations that we ship.
const SILENT_GUARD: u16 = 503;
const FAILS_ADVICE: &str = "see why requests fail: it has no crowd yet";

pub(crate) async fn check(examined: &Examined) -> Vec<DoctorCheck> {
    let room = &examined.room;
    if let Some(why) = examined.silent_guard() {
        let advice = "see why: sudo journalctl --unit beekeeper-guard --lines 10; if it does not run: sudo systemctl start beekeeper-guard";
        return vec![DoctorCheck::problem(SHOP, format!("nobody enters the shop, because {why}"), advice)];
    }
    if let Some(check) = out_of_reach(room).filter(|_| !examined.is_here()) {
        return vec![check];
    }
    let throttles = throttles(examined).await;
    let mut check = judge(room, &measure(&examined.probe, &SystemClock, room).await, throttles);
    match check.result {
        CheckResult::Problem => check.advice = check.advice.map(|advice| examined.after_guard(advice)),
        CheckResult::NotChecked => {
            // On this machine, a health URL goes with a throttle only.
            let flags = if examined.is_here() { "--throttle --health URL" } else { "--health URL" };
            check.advice = Some(format!("name a page of the shop that needs no pass, with {flags}"));
        }
        CheckResult::Ok | CheckResult::Warning => {}
    }
    let mut checks = vec![check];
    if let Some(health) = &room.settings.health {
        checks.extend(missing_page(examined, health).await);
    }
    let finding = examined.status().and_then(|status| status.findings.last());
    checks.extend(finding.filter(|_| throttles).map(|finding| {
        let text = format!("the throttle's last finding, at {}: {}", finding.at, found(finding));
        match finding.verdict {
            _ if finding.refused => DoctorCheck::not_checked(SHOP, text),
            Verdict::Well => DoctorCheck::ok(SHOP, text),
            Verdict::Slow | Verdict::Failing => {
                DoctorCheck::warning(SHOP, text, "see why the shop is slower than it was at first")
            }
        }
    }));
    if examined.has_demo_shop {
        checks.push(DoctorCheck::warning(
            SHOP,
            format!("{} is the demonstration", room.settings.shop),
            "for a real event, start the room with --shop URL",
        ));
    }
    checks
}

/// Whether the room has a throttle. A room on this machine may have been started with another one than is configured.
async fn throttles(examined: &Examined) -> bool {
    match examined.socket() {
        Some(socket) => socket.check().await.is_some_and(|running| running.throttle),
        None => examined.config.as_ref().is_some_and(|config| config.throttle),
    }
}

/// An error page is fast, so how long the health URL takes does not tell whether it shows a page.
async fn missing_page(examined: &Examined, health: &WebUrl) -> Option<DoctorCheck> {
    let journey = Journey::to(health.as_url(), &examined.probe, |url| examined.is_avoided(url)).await;
    (!journey.arrives()).then(|| {
        let text = format!("the health URL, which the throttle measures, shows no page:\n{journey}");
        DoctorCheck::warning(SHOP, text, "give a page of the shop that needs no pass, with --health URL")
    })
}

/// That a room on AWS and its visitors cannot reach the shop, or what the throttle measures of it.
pub fn out_of_reach(room: &Room) -> Option<DoctorCheck> {
    let near =
        [room.settings.measured(), &room.settings.shop].into_iter().find(|url| url.is_on_this_machine())?;
    let text = format!("{near} is on this machine; neither visitors nor the room can reach it");
    let advice = format!("give the shop's public URL: beekeeper init {} --shop URL", room.settings.room);
    Some(DoctorCheck::problem(SHOP, text, advice))
}

/// How a shop is that was measured as the throttle measures it.
pub fn judge(room: &Room, measurement: &Measurement, throttles: bool) -> DoctorCheck {
    let measured = room.settings.measured();
    let sample = &measurement.sample;
    let all = sample.answered.len() + sample.failed + measurement.refused;
    let why =
        measurement.last_failure.as_ref().map(|failure| format!(", the last one: {}", innermost(failure)));
    let failed = format!("{} of {all} requests failed{}", sample.failed, why.unwrap_or_default());
    if measurement.is_refused() {
        let refuses = format!("{measured} refuses visitors without a pass, as it should; so");
        if !throttles && sample.failed == 0 {
            // A guard refuses them also while the shop behind it is down.
            let text = format!("{refuses} whether the shop itself answers can't be seen from here");
            return DoctorCheck::not_checked(SHOP, text);
        }
        let mut text = format!("{refuses} its speed is not known");
        if sample.failed > 0 {
            text = format!("{text}; {failed}");
        }
        let advice = if throttles { needs_health(measured) } else { FAILS_ADVICE.to_owned() };
        return DoctorCheck::warning(SHOP, text, advice);
    }
    let Some(baseline) = Baseline::of(sample) else {
        if let Some(VisitFailure::NoAnswer(error, _)) = &measurement.last_failure
            && error.0.is::<UntrustedCertificate>()
        {
            let advice = "do what stands below `certificate`";
            return DoctorCheck::problem(SHOP, format!("{measured}: {failed}"), advice);
        }
        let mut advice =
            "see whether the shop is up, and whether this is its address: the room sends visitors there"
                .to_owned();
        match measurement.last_failure {
            Some(VisitFailure::Status { status: SILENT_GUARD, .. }) => {
                advice += "; if a guard is in front of it: sudo journalctl --unit beekeeper-guard --lines 10";
            }
            Some(VisitFailure::Status { status: 429, .. }) => {
                advice =
                    "let this address ask twenty times in a row, or name a page that lets it, with --health"
                        .into();
            }
            _ => {}
        }
        return DoctorCheck::problem(SHOP, format!("{measured}: {failed}"), advice);
    };
    let slowest = sample.answered.iter().max().copied().unwrap_or_default();
    let mean = Duration::try_from_secs_f64(baseline.mean).unwrap_or_default();
    let text = format!(
        "{measured}: {} ms on average, {} ms the slowest, {failed}",
        mean.as_millis(),
        slowest.as_millis()
    );
    if mean > SLOW {
        let compared =
            if throttles { "; the throttle compares later response times with the first" } else { "" };
        let advice = format!("make it faster, or lower the rate: it has no crowd yet{compared}");
        return DoctorCheck::warning(SHOP, text, advice);
    }
    if sample.failed > 0 {
        return DoctorCheck::warning(SHOP, text, FAILS_ADVICE);
    }
    DoctorCheck::ok(SHOP, text)
}

#[cfg(test)]
mod tests {
    use throttle::VisitFailure;
    use waitroom::throttle_rules::Sample;
    use waitroom::{Settings, fixture};

    use super::*;
    use crate::GuardHere;

    fn room(shop: &str) -> Room {
        let settings = Settings { shop: shop.parse().unwrap(), ..fixture::settings(300) };
        Room { settings, ..fixture::room(300) }
    }

    #[test]
    fn a_shop_that_a_room_on_aws_cannot_reach_is_found() {
        assert_eq!(out_of_reach(&room("https://shop.example")), None);
        let mut near = room("http://localhost:8080");
        let found = out_of_reach(&near).unwrap().found;
        assert_eq!(
            found,
            "http://localhost:8080/ is on this machine; neither visitors nor the room can reach it"
        );
        near.settings.health = Some("https://shop.example/up".parse().unwrap());
        assert!(out_of_reach(&near).is_some(), "visitors cannot");
    }

    #[tokio::test]
    async fn a_guard_that_does_not_answer_is_not_taken_for_the_shop() {
        let mut examined = crate::examined::configured(None);
        let silent = Some("the guard does not answer at 127.0.0.1:8090: connection refused".into());
        examined.guard = Some(GuardHere { is_asked: true, silent: silent.clone() });
        let checks = check(&examined).await;
        assert_eq!((checks.len(), checks[0].result), (1, CheckResult::Problem));
        assert!(checks[0].found.starts_with("nobody enters the shop, because the guard does not answer at"));
        assert!(checks[0].advice.as_ref().unwrap().contains("systemctl start beekeeper-guard"));
        assert_eq!(crate::way_around::check(&examined).await, [], "nothing more is known of the shop");

        // Another web server may ask it.
        examined.guard = Some(GuardHere { is_asked: false, silent });
        let advice = examined.after_guard("see whether the shop is up".into());
        assert_eq!(
            advice,
            "the guard does not answer at 127.0.0.1:8090: connection refused: sudo journalctl --unit beekeeper-guard --lines 10; if \
             that isn't it, see whether the shop is up"
        );
        examined.guard = Some(GuardHere { is_asked: false, silent: None });
        assert_eq!(examined.after_guard("look".into()), "look");
    }

    #[test]
    fn a_shop_that_fails_as_behind_a_silent_guard_is_not_the_only_suspect() {
        let advice = |status| {
            let url = "https://shop.example/sale".parse().unwrap();
            let last_failure = Some(VisitFailure::Status { url, status });
            let sample = Sample { answered: Vec::new(), failed: 20 };
            let measurement = Measurement { sample, refused: 0, last_failure };
            judge(&room("https://shop.example/sale"), &measurement, false).advice.unwrap()
        };
        let guard = "; if a guard is in front of it: sudo journalctl --unit beekeeper-guard --lines 10";
        assert!(advice(503).starts_with("see whether the shop is up") && advice(503).ends_with(guard));
        assert!(!advice(500).contains("guard"));
    }

    #[test]
    fn a_protected_shop_that_fails_now_and_then_is_warned_of() {
        let judged = |failed, throttles| {
            let last_failure = (failed > 0).then_some(VisitFailure::TimeOut);
            let sample = Sample { answered: Vec::new(), failed };
            judge(
                &room("https://shop.example/sale"),
                &Measurement { sample, refused: 20 - failed, last_failure },
                throttles,
            )
        };
        let unseen = judged(0, false);
        assert_eq!(
            (unseen.result, unseen.advice),
            (CheckResult::NotChecked, None),
            "a deployment does not warn"
        );
        let warned = judged(2, false);
        assert_eq!(warned.result, CheckResult::Warning);
        assert!(
            warned.found.ends_with("2 of 20 requests failed, the last one: no answer within 5 seconds"),
            "{warned:?}"
        );
        let unmeasured = judged(0, true);
        assert_eq!(unmeasured.result, CheckResult::Warning);
        assert!(unmeasured.advice.unwrap().contains("--health URL"));
        assert_eq!(judged(3, false).result, CheckResult::Problem, "too often for a shop that is well");
    }
}
