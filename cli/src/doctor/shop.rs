//! The shop: whether it answers, how fast, and who comes in without a pass.

use std::time::Duration;

use clock::SystemClock;
use control::wording::found;
use throttle::{Measurement, measure};
use url::Url;
use waitroom::WebUrl;
use waitroom::throttle_rules::{Baseline, Verdict};

use super::{DoctorCheck, Examined};
use crate::aws::deployed::has_url;
use crate::local_settings::is_demonstration;
use crate::reach::{Journey, innermost, needs_health};
use crate::room::RoomHandle;

const SHOP: &str = "shop";
const WAY_AROUND: &str = "way-around";
/// A shop that takes longer without a crowd is slow already.
const SLOW: Duration = Duration::from_secs(2);
const FAILS_ADVICE: &str = "see why requests fail: it has no crowd yet";
/// Signed by nobody.
const MADE_UP_PASS: &str = "made.up.pass";

pub(super) async fn check(examined: &Examined) -> Vec<DoctorCheck> {
    let room = &examined.room;
    let measured = room.settings.health.as_ref().unwrap_or(&room.settings.shop);
    if !examined.is_here() && measured.is_on_this_machine() {
        let text = format!("{measured} is on this machine; neither visitors nor the room can reach it");
        let advice = format!("give the shop's public URL: beekeeper init {} --shop URL", examined.name);
        return vec![DoctorCheck::problem(SHOP, text, advice)];
    }
    let throttles = throttles(examined).await;
    let measurement = measure(&examined.probe, &SystemClock, room).await;
    let mut checks = vec![judge(measured, &measurement, throttles)];
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
    if is_demonstration(&room.settings.shop) {
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
    match examined.handle().filter(|_| examined.is_here()) {
        Some(handle) => handle.check().await.is_some_and(|running| running.throttle),
        None => examined.config.as_ref().is_some_and(|config| config.throttle),
    }
}

/// An error page is fast, so how long the health URL takes does not tell whether it shows a page.
async fn missing_page(examined: &Examined, health: &WebUrl) -> Option<DoctorCheck> {
    let journey = Journey::to(health.as_url(), &examined.probe, |url| is_avoided(examined, url)).await;
    (!journey.arrives()).then(|| {
        let text = format!("the health URL, which the throttle measures, shows no page:\n{journey}");
        DoctorCheck::warning(SHOP, text, "give a page of the shop that needs no pass, with --health URL")
    })
}

fn judge(measured: &WebUrl, measurement: &Measurement, throttles: bool) -> DoctorCheck {
    let sample = &measurement.sample;
    let all = sample.answered.len() + sample.failed + measurement.refused;
    let why =
        measurement.last_failure.as_ref().map(|failure| format!(", the last one: {}", innermost(failure)));
    let failed = format!("{} of {all} requests failed{}", sample.failed, why.unwrap_or_default());
    if measurement.is_refused() {
        let mut text =
            format!("{measured} refuses visitors without a pass, as it should; so its speed is not known");
        if sample.failed > 0 {
            text = format!("{text}; {failed}");
        }
        return if throttles {
            DoctorCheck::warning(SHOP, text, needs_health(measured))
        } else if sample.failed > 0 {
            DoctorCheck::warning(SHOP, text, FAILS_ADVICE)
        } else {
            DoctorCheck::ok(SHOP, text)
        };
    }
    let Some(baseline) = Baseline::of(sample) else {
        let advice =
            "see whether the shop is up, and whether this is its address: the room sends visitors there";
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
        let advice = "make it faster, or lower the rate: it has no crowd yet";
        return DoctorCheck::warning(SHOP, text, advice);
    }
    if sample.failed > 0 {
        return DoctorCheck::warning(SHOP, text, FAILS_ADVICE);
    }
    DoctorCheck::ok(SHOP, text)
}

/// Asks the shop's own URL as somebody who did not wait: without a pass, and with one that nobody has signed.
pub(super) async fn ways_around(examined: &Examined) -> Vec<DoctorCheck> {
    let (room, shop) = (&examined.room, &examined.room.settings.shop);
    if !examined.is_here() && shop.is_on_this_machine() {
        return Vec::new();
    }
    if is_room(examined, shop.as_url()) {
        return vec![circle(shop)];
    }
    let is_avoided = |url: &Url| is_avoided(examined, url);
    let without_pass = Journey::to(shop.as_url(), &examined.probe, is_avoided).await;
    if without_pass.begins_at_a_door() {
        return vec![circle(shop)];
    }
    if without_pass.leads_to_own_room() && !knows_url(examined) {
        let text = format!(
            "{shop} sends visitors without a pass to a waiting room; whether that is this one is not known before it is \
             deployed and answers"
        );
        return vec![DoctorCheck::not_checked(WAY_AROUND, text)];
    }
    if without_pass.arrives() && !without_pass.is_protected() {
        return vec![DoctorCheck::warning(
            WAY_AROUND,
            format!("{shop} shows a page to everybody, also without a pass: who knows the URL need not wait"),
            "put the guard in front of it (docs/guard.md), or let the shop check the pass (docs/connectors); only if its page \
             asks the client check, this cannot be seen from here",
        )];
    }
    if without_pass.is_silent() {
        return vec![DoctorCheck::not_checked(WAY_AROUND, format!("{without_pass}"))];
    }
    if !without_pass.is_protected() && !without_pass.is_unauthorized() {
        let text = format!("visitors see no page of the shop:\n{without_pass}");
        let advice = "see whether this is the address of the page that admitted visitors shall see";
        return vec![DoctorCheck::problem(SHOP, text, advice)];
    }
    if without_pass.leads_to_another_room() {
        return vec![DoctorCheck::problem(
            WAY_AROUND,
            format!("{shop} sends visitors without a pass to another waiting room:\n{without_pass}"),
            format!("give the shop, or its guard, this room's URL: {}", room.issuer()),
        )];
    }
    let Ok(forged) = Url::parse(&shop.with_pass(MADE_UP_PASS)) else { return Vec::new() };
    let with_made_up_pass = Journey::to(&forged, &examined.probe, is_avoided).await;
    if with_made_up_pass.arrives() && !with_made_up_pass.is_protected() {
        return vec![DoctorCheck::problem(
            WAY_AROUND,
            format!("{shop} lets in whoever brings any text as a pass"),
            "let the shop verify the signature of the pass with the room's keys: docs/connectors; or use the guard: docs/guard.md",
        )];
    }
    // Some shops exchange a pass for a cookie by a redirect. Only who keeps the cookie sees what is behind it.
    if with_made_up_pass.is_silent() || with_made_up_pass.redirects() > without_pass.redirects() {
        let text = format!(
            "{shop} lets nobody in without a pass; whether it does with one that nobody signed cannot be seen from here:\n\
             {with_made_up_pass}"
        );
        return vec![DoctorCheck::not_checked(WAY_AROUND, text)];
    }
    let text = format!("{shop} lets nobody in without a pass, nor with one that the room did not sign");
    vec![DoctorCheck::ok(WAY_AROUND, text)]
}

fn circle(shop: &WebUrl) -> DoctorCheck {
    DoctorCheck::problem(
        WAY_AROUND,
        format!("the shop {shop} is a waiting room: admitted visitors would be sent round in a circle"),
        "give the room the URL of the shop itself, with --shop URL",
    )
}

/// Whether this URL is not asked, because that might take a place: it is the room, or may be its door.
fn is_avoided(examined: &Examined, url: &Url) -> bool {
    is_room(examined, url) || (!knows_url(examined) && url.path().ends_with("/beekeeper"))
}

/// Whether the room's URL is known. Without a domain of its own, it is the deployed room that says it.
fn knows_url(examined: &Examined) -> bool {
    examined.handle().is_some() || examined.config.as_ref().is_some_and(|config| config.domain.is_some())
}

/// Whether this URL is the room. A room with a domain of its own has two.
fn is_room(examined: &Examined, url: &Url) -> bool {
    let deployed = examined.handle().and_then(RoomHandle::on_aws);
    examined.room.is_entered_by(url)
        || deployed.is_some_and(|deployed| has_url(deployed, &examined.room, url))
}

#[cfg(test)]
mod tests {
    use throttle::VisitFailure;
    use waitroom::throttle_rules::Sample;

    use super::*;
    use crate::doctor::check::CheckResult;
    use crate::doctor::examined::configured;

    #[test]
    fn a_protected_shop_that_fails_now_and_then_is_warned_of() {
        let shop: WebUrl = "https://shop.example/sale".parse().unwrap();
        let judged = |failed| {
            let last_failure = (failed > 0).then_some(VisitFailure::TimeOut);
            let sample = Sample { answered: Vec::new(), failed };
            judge(&shop, &Measurement { sample, refused: 20 - failed, last_failure }, false)
        };
        assert_eq!(judged(0).result, CheckResult::Ok);
        let warned = judged(2);
        assert_eq!(warned.result, CheckResult::Warning);
        assert!(
            warned.found.ends_with("2 of 20 requests failed, the last one: no answer within 5 seconds"),
            "{warned:?}"
        );
        assert_eq!(judged(3).result, CheckResult::Problem, "too often for a shop that is well");
    }

    #[test]
    fn a_url_that_may_be_the_room_is_not_asked() {
        let avoided = |domain, url: &str| is_avoided(&configured(domain), &url.parse().unwrap());
        let (own, stage) = (Some("wait.example"), "https://abc.execute-api.example/prod/beekeeper?x=1");
        assert!(avoided(None, stage), "nobody knows whose door it is");
        assert!(!avoided(None, "https://shop.example/sale"));
        assert!(!avoided(None, "https://shop.example/beekeepers"));
        assert!(avoided(own, "https://wait.example/beekeeper"));
        assert!(!avoided(own, "https://honey.example/beekeeper"), "a shop for beekeepers");
    }
}
