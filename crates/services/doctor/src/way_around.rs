//! Who comes into the shop without having waited.

use url::Url;
use waitroom::WebUrl;

use crate::journey::Journey;
use crate::shop::SHOP;
use crate::{DoctorCheck, Examined};

const WAY_AROUND: &str = "way-around";
/// Signed by nobody.
const MADE_UP_PASS: &str = "made.up.pass";

/// Asks the shop's own URL as somebody who did not wait: without a pass, and with one that nobody has signed.
pub(crate) async fn check(examined: &Examined) -> Vec<DoctorCheck> {
    let shop = &examined.room.settings.shop;
    let is_out_of_reach = !examined.is_here() && shop.is_on_this_machine();
    if is_out_of_reach || examined.silent_guard().is_some() {
        return Vec::new();
    }
    if examined.is_room(shop.as_url()) {
        return vec![circle(shop)];
    }
    let without_pass = visit(examined, shop.as_url()).await;
    let mut checks: Vec<_> = let_in_or_lost(examined, &without_pass).into_iter().collect();
    if checks.is_empty()
        && let Ok(forged) = Url::parse(&shop.with_pass(MADE_UP_PASS))
    {
        checks.push(forged_pass(shop, &without_pass, &visit(examined, &forged).await));
    }
    checks.extend(without_pass.leads_on_to().map(|host| other_name(shop, host)));
    checks
}

/// The guard would send its visitors round in a circle, from one name to the room and back to the other.
fn other_name(shop: &WebUrl, host: &str) -> DoctorCheck {
    let found =
        format!("{shop} sends visitors on to {host}, and a session of the guard is for one host name");
    DoctorCheck::warning(SHOP, found, "if the shop is there, write that host into shop, with --shop URL")
}

async fn visit(examined: &Examined, url: &Url) -> Journey {
    Journey::to(url, &examined.probe, |url| examined.is_avoided(url)).await
}

/// What is wrong with a shop that does not send a visitor without a pass to this room, or refuse them.
fn let_in_or_lost(examined: &Examined, without_pass: &Journey) -> Option<DoctorCheck> {
    let (room, shop) = (&examined.room, &examined.room.settings.shop);
    if without_pass.begins_at_a_door() {
        return Some(circle(shop));
    }
    if without_pass.leads_to_own_room() && !examined.knows_url() {
        let text = format!(
            "{shop} sends visitors without a pass to a waiting room; whether that is this one is not known before it is \
             deployed and answers"
        );
        return Some(DoctorCheck::not_checked(WAY_AROUND, text));
    }
    if without_pass.arrives() && !without_pass.is_protected() {
        let put = match &examined.guard {
            Some(guard) if !guard.is_asked => "put the guard in front of it: sudo beekeeper setup nginx",
            _ => "put the guard in front of it (docs/guard.md)",
        };
        return Some(DoctorCheck::warning(
            WAY_AROUND,
            format!("{shop} shows a page to everybody, also without a pass: who knows the URL need not wait"),
            format!(
                "{put}; or let the shop check the pass (docs/connectors); only if its page \
             asks the client check, this cannot be seen from here"
            ),
        ));
    }
    if without_pass.is_silent() {
        return Some(DoctorCheck::not_checked(WAY_AROUND, format!("{without_pass}")));
    }
    if !without_pass.is_protected() && !without_pass.is_unauthorized() {
        let text = format!("visitors see no page of the shop:\n{without_pass}");
        let advice =
            "see whether this is the address of the page that admitted visitors shall see".to_owned();
        let advice = examined.after_guard(advice);
        return Some(DoctorCheck::problem(SHOP, text, advice));
    }
    without_pass.leads_to_another_room().then(|| {
        DoctorCheck::problem(
            WAY_AROUND,
            format!("{shop} sends visitors without a pass to another waiting room:\n{without_pass}"),
            format!("give the shop, or its guard, this room's URL: {}", room.issuer()),
        )
    })
}

/// What a shop does that lets nobody in without a pass, when somebody brings one that they made up.
fn forged_pass(shop: &WebUrl, without_pass: &Journey, with_made_up_pass: &Journey) -> DoctorCheck {
    if with_made_up_pass.arrives() && !with_made_up_pass.is_protected() {
        return DoctorCheck::problem(
            WAY_AROUND,
            format!("{shop} lets in whoever brings any text as a pass"),
            "let the shop verify the signature of the pass with the room's keys: docs/connectors; or use the guard: docs/guard.md",
        );
    }
    // Some shops exchange a pass for a cookie by a redirect. Only who keeps the cookie sees what is behind it.
    if with_made_up_pass.is_silent() || with_made_up_pass.redirects() > without_pass.redirects() {
        let text = format!(
            "{shop} lets nobody in without a pass; whether it does with one that nobody signed cannot be seen from here:\n\
             {with_made_up_pass}"
        );
        return DoctorCheck::not_checked(WAY_AROUND, text);
    }
    let text = format!("{shop} lets nobody in without a pass, nor with one that the room did not sign");
    DoctorCheck::ok(WAY_AROUND, text)
}

fn circle(shop: &WebUrl) -> DoctorCheck {
    DoctorCheck::problem(
        WAY_AROUND,
        format!("the shop {shop} is a waiting room: admitted visitors would be sent round in a circle"),
        "give the room the URL of the shop itself, with --shop URL",
    )
}
