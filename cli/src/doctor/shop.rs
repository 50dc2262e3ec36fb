//! The shop: whether it answers, how fast, and who comes in without a pass.

use std::time::Duration;

use clock::SystemClock;
use throttle::{Measurement, measure};
use url::Url;
use waitroom::throttle_rules::{Baseline, Verdict};
use waitroom::{Room, WebUrl};

use super::{DoctorCheck, Examined};
use crate::local_settings::is_demonstration;
use crate::reach::{Journey, needs_health};
use crate::wording::found;

const SHOP: &str = "shop";
const WAY_AROUND: &str = "way-around";
/// A shop that takes longer without a crowd is slow already.
const SLOW: Duration = Duration::from_secs(2);
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
    let measurement = measure(&examined.probe, &SystemClock, room).await;
    let mut checks = vec![judge(examined, measured, &measurement)];
    let finding = examined.status().and_then(|status| status.findings.last());
    checks.extend(finding.filter(|_| throttles(examined)).map(|finding| {
        let text = format!("the throttle's last finding: {}", found(finding));
        match finding.verdict {
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

fn throttles(examined: &Examined) -> bool {
    let has_found = examined.status().is_some_and(|status| !status.findings.is_empty());
    has_found || examined.config.as_ref().is_some_and(|config| config.throttle)
}

fn judge(examined: &Examined, measured: &WebUrl, measurement: &Measurement) -> DoctorCheck {
    let sample = &measurement.sample;
    let all = sample.answered.len() + sample.failed + measurement.refused;
    if measurement.is_refused() {
        let text =
            format!("{measured} refuses visitors without a pass, as it should; so its speed is not known");
        if throttles(examined) {
            return DoctorCheck::warning(SHOP, text, needs_health(measured));
        }
        return DoctorCheck::ok(SHOP, text);
    }
    let failed = format!("{} of {all} requests failed", sample.failed);
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
        return DoctorCheck::warning(SHOP, text, "see why requests fail: it has no crowd yet");
    }
    DoctorCheck::ok(SHOP, text)
}

/// Asks the shop's own URL as somebody who did not wait: without a pass, and with one that nobody has signed.
pub(super) async fn ways_around(examined: &Examined) -> Vec<DoctorCheck> {
    let (room, shop) = (&examined.room, &examined.room.settings.shop);
    if !examined.is_here() && shop.is_on_this_machine() {
        return Vec::new();
    }
    let is_own_room = |url: &Url| enters(examined, room, url);
    if is_own_room(shop.as_url()) {
        return vec![circle(shop)];
    }
    let without_pass = Journey::to(shop.as_url(), &examined.probe, is_own_room).await;
    if without_pass.begins_at_a_door() {
        return vec![circle(shop)];
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
    let with_made_up_pass = Journey::to(&forged, &examined.probe, is_own_room).await;
    if with_made_up_pass.arrives() && !with_made_up_pass.is_protected() {
        return vec![DoctorCheck::problem(
            WAY_AROUND,
            format!("{shop} lets in whoever brings any text as a pass"),
            "let the shop verify the signature of the pass with the room's keys: docs/connectors; or use the guard: docs/guard.md",
        )];
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

/// Whether this URL is the room, which is not asked then: that would take a place. A room with a domain of its own has two.
fn enters(examined: &Examined, room: &Room, url: &Url) -> bool {
    #[cfg(feature = "aws")]
    if let Some(deployed) = examined.handle().and_then(crate::room::RoomHandle::on_aws)
        && let Ok(stage) = deployed.urls.stage.parse()
        && (Room { url: stage, ..room.clone() }).is_entered_by(url)
    {
        return true;
    }
    #[cfg(not(feature = "aws"))]
    let _ = examined;
    room.is_entered_by(url)
}
