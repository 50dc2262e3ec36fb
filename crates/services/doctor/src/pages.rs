//! What the room serves to everybody: its page and its keys. And the clock of this machine, against the room's answers.

use control::{Order, Reply};
use jiff::fmt::rfc2822;
use page::Page;
use pass::{Discovery, Jwks, KeyRecord};
use probe::{FetchedPage, WebAddress};
use waitroom::Timestamp;

use crate::examined::Unfetched;
use crate::{DoctorCheck, Examined};

const PAGE: &str = "page";
const KEYS: &str = "keys";
const CLOCK: &str = "clock";
/// Passes allow for half a minute, and an opening is announced to the second.
const MOST_OFF_MILLIS: u64 = 2000;

pub(crate) async fn check(examined: &Examined) -> Vec<DoctorCheck> {
    let unusable = unusable(examined);
    if examined.found.is_none() {
        return unusable.into_iter().collect();
    }
    let before = examined.now();
    let fetched = examined.fetch("/wait/index.html").await;
    let after = examined.now();
    let mut checks = match unusable {
        Some(check) => vec![check],
        None => vec![page(examined, &fetched).await],
    };
    checks.extend(keys(examined).await);
    checks.push(clock(examined, fetched.ok(), before, after).await);
    checks
}

/// Why the operator's own page cannot be shown, here or on AWS.
fn unusable(examined: &Examined) -> Option<DoctorCheck> {
    match &examined.custom_page {
        Err(error) => {
            let advice = "repair the folder of the page: docs/page.md";
            Some(DoctorCheck::problem(PAGE, error.as_str(), advice))
        }
        Ok(_) => examined.refused_page.as_deref().map(|error| examined.failed(PAGE, error)),
    }
}

async fn page(examined: &Examined, fetched: &Result<FetchedPage, Unfetched>) -> DoctorCheck {
    let url = examined.url("/wait/index.html");
    let answer = match fetched {
        Ok(answer) if answer.status == 200 => answer,
        Ok(answer) => {
            let answers = Unfetched::of(format!("answers {}", answer.status));
            return unserved(examined, PAGE, &url, &answers).await;
        }
        Err(unfetched) => return unserved(examined, PAGE, &url, unfetched).await,
    };
    let configured = examined.configured_page();
    let size = answer.body.len().div_ceil(1000);
    let own = if examined.custom_page().is_some() { "your page" } else { "the built-in page" };
    if configured.file(Page::DOCUMENT).is_some_and(|document| document.body == answer.body) {
        return DoctorCheck::ok(PAGE, format!("{url} is {own}, {size} kB"));
    }
    if !examined.is_here() {
        let advice = format!("deploy again: beekeeper deploy {}", examined.name);
        return DoctorCheck::problem(PAGE, format!("{url} is not {own} as it is configured now"), advice);
    }
    // A flag may have named another page for this run, of which nothing is kept.
    let advice =
        "unless --page named it when the room was started: start the room again with the same program";
    DoctorCheck::warning(PAGE, format!("{url} is another page than the configured one, {size} kB"), advice)
}

/// A room that does not answer at its URL, and what to do about it.
async fn unserved(examined: &Examined, name: &'static str, url: &str, unfetched: &Unfetched) -> DoctorCheck {
    let advice = if unfetched.is_untrusted {
        "do what stands below `certificate`".to_owned()
    } else {
        forwarded(examined).await
    };
    DoctorCheck::problem(name, format!("{url} {}", unfetched.why), advice)
}

async fn forwarded(examined: &Examined) -> String {
    let address = match examined.socket() {
        Some(socket) => socket.address().await,
        None => None,
    };
    match address {
        Some(address) => format!(
            "the room runs and listens on {address}: let the web server of its URL pass requests on to there, as in \
             docs/hosting.md"
        ),
        None => format!("see why: beekeeper logs {}", examined.name),
    }
}

/// The published keys, compared with those that the room has.
async fn keys(examined: &Examined) -> Vec<DoctorCheck> {
    let Some(found) = &examined.found else { return Vec::new() };
    let record = match found.room.execute(Order::Keys).await {
        Ok(Reply::Keys { record }) => record,
        Ok(_) => return vec![DoctorCheck::not_checked(KEYS, "the room is of another version")],
        Err(error) => return vec![examined.failed(KEYS, &error)],
    };
    let url = examined.url("/.well-known/jwks.json");
    let published = match json::<Jwks>(examined, "/.well-known/jwks.json").await {
        Ok(published) => published,
        Err(unfetched) => return vec![unserved(examined, KEYS, &url, &unfetched).await],
    };
    let mut checks = vec![signing(examined, &record, &published, &url)];
    let issuer =
        json::<Discovery>(examined, "/.well-known/openid-configuration").await.map(|found| found.issuer);
    let own = examined.room.issuer();
    checks.extend(match issuer {
        Ok(issuer) if issuer == own => None,
        Ok(issuer) => Some(DoctorCheck::problem(
            KEYS,
            format!("passes are issued by {own}, and {own} names the issuer {issuer}"),
            "give the shop and its guard the URL that the passes name",
        )),
        Err(unfetched) => {
            let url = examined.url("/.well-known/openid-configuration");
            Some(unserved(examined, KEYS, &url, &unfetched).await)
        }
    });
    checks
}

fn signing(examined: &Examined, record: &KeyRecord, published: &Jwks, url: &str) -> DoctorCheck {
    let now = examined.now().as_secs();
    let Some(signing) = record.signing(now) else {
        return DoctorCheck::warning(
            KEYS,
            "no key signs passes yet; the room makes one when its first visitor comes",
            format!("open {} once", examined.url("/beekeeper")),
        );
    };
    if !published.keys.iter().any(|key| key.kid() == signing.jwk.kid()) {
        let text =
            format!("{url} lacks the key {} that signs: shops refuse every new pass", signing.jwk.kid());
        return DoctorCheck::problem(KEYS, text, "wait five minutes for caches, and run this again");
    }
    let next = record.keys().iter().find(|key| key.signs_from > now);
    let next = next.map_or_else(
        || "no change of keys is ahead".to_owned(),
        |key| format!("the next signs from {}", Timestamp::from_millis(key.signs_from.saturating_mul(1000))),
    );
    let count = published.keys.len();
    let published = if count == 1 { "1 key is".to_owned() } else { format!("{count} keys are") };
    DoctorCheck::ok(KEYS, format!("{published} published, with the one that signs; {next}"))
}

async fn json<T: serde::de::DeserializeOwned>(examined: &Examined, path: &str) -> Result<T, Unfetched> {
    let answer = examined.fetch(path).await?;
    if answer.status != 200 {
        return Err(Unfetched::of(format!("answers {}", answer.status)));
    }
    serde_json::from_slice(&answer.body).map_err(|error| Unfetched::of(format!("cannot be read: {error}")))
}

async fn clock(
    examined: &Examined,
    page: Option<FetchedPage>,
    before: Timestamp,
    after: Timestamp,
) -> DoctorCheck {
    if !examined.is_here() {
        let date = page.and_then(|page| page.date);
        return judge("the room", date.as_deref(), before, after, false);
    }
    // The room has the clock of this machine.
    let shop = &examined.room.settings.shop;
    if shop.is_on_this_machine() {
        return DoctorCheck::not_checked(
            CLOCK,
            "room and shop are on this machine, so there is no other clock",
        );
    }
    let before = examined.now();
    let fetched = examined.fetch_from(&WebAddress::of(shop.as_url().clone())).await;
    let date = fetched.ok().and_then(|page| page.date);
    judge("the shop", date.as_deref(), before, examined.now(), true)
}

/// Compares the clock of this machine with a `Date`, which was written between these instants by another.
fn judge(whose: &str, date: Option<&str>, before: Timestamp, after: Timestamp, is_here: bool) -> DoctorCheck {
    let parsed = date.and_then(|date| rfc2822::parse(date).ok());
    let Some(there) = parsed.and_then(|date| u64::try_from(date.timestamp().as_millisecond()).ok()) else {
        return DoctorCheck::not_checked(CLOCK, format!("{whose} did not say what time it is"));
    };
    // A date has whole seconds.
    let slow = there.saturating_sub(after.as_millis());
    let fast = before.as_millis().saturating_sub(there + 999);
    let off = slow.max(fast);
    if off <= MOST_OFF_MILLIS {
        return DoctorCheck::ok(CLOCK, format!("this machine and {whose} agree on the time"));
    }
    let (by, way) = (off.div_ceil(1000), if slow > fast { "behind" } else { "ahead of" });
    let matters = if is_here {
        "the room opens, and its passes expire, by this clock"
    } else {
        "times that you type mean others"
    };
    DoctorCheck::warning(
        CLOCK,
        format!("this machine's clock is {by} s {way} that of {whose}: {matters}"),
        "set the clock by the network: timedatectl set-ntp true",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CheckResult;

    #[tokio::test]
    async fn a_page_that_a_deployment_refuses_is_found_before() {
        let mut examined = crate::examined::configured(None);
        assert!(Box::pin(check(&examined)).await.is_empty(), "the built-in page");
        examined.refused_page = Some("bee.png is image/png".into());
        let checks = Box::pin(check(&examined)).await;
        assert_eq!((checks.len(), checks[0].result), (1, CheckResult::Problem));
        assert_eq!(checks[0].found, "bee.png is image/png");
        assert_eq!(checks[0].advice.as_deref(), Some("ask for the permission"));
    }

    #[tokio::test]
    async fn a_certificate_that_is_not_trusted_is_not_taken_for_a_room_that_is_not_reached() {
        let examined = crate::examined::configured(None);
        let mut unfetched = Unfetched::of("does not answer: this machine doesn't know who signed".into());
        let advice = unserved(&examined, KEYS, "https://wait.example", &unfetched).await.advice.unwrap();
        assert!(advice.starts_with("see why: beekeeper logs"), "{advice}");
        unfetched.is_untrusted = true;
        let advice = unserved(&examined, KEYS, "https://wait.example", &unfetched).await.advice.unwrap();
        assert_eq!(advice, "do what stands below `certificate`");
    }

    #[test]
    fn a_clock_is_off_if_it_is_more_than_two_seconds() {
        // 1994-11-06 08:49:37 UTC
        const THERE: u64 = 784_111_777_000;
        let judged = |millis: i64, took: u64| {
            let before = THERE.checked_add_signed(millis).unwrap();
            let (before, after) = (Timestamp::from_millis(before), Timestamp::from_millis(before + took));
            judge("the room", Some("Sun, 06 Nov 1994 08:49:37 GMT"), before, after, true)
        };
        for (millis, took) in [(0, 0), (900, 50), (2900, 50), (-1900, 50), (-9000, 7500)] {
            assert_eq!(judged(millis, took).result, CheckResult::Ok, "{millis} {took}");
        }
        let ahead = judged(63_000, 10);
        assert!(
            ahead.found.starts_with("this machine's clock is 63 s ahead of that of the room"),
            "{ahead:?}"
        );
        let behind = judged(-3_600_000, 10);
        assert!(
            behind.found.starts_with("this machine's clock is 3600 s behind that of the room"),
            "{behind:?}"
        );
        assert_eq!((ahead.result, behind.result), (CheckResult::Warning, CheckResult::Warning));
    }

    #[test]
    fn without_a_date_there_is_nothing_to_compare() {
        let now = Timestamp::from_millis(784_111_777_000);
        for date in [None, Some("yesterday"), Some("")] {
            assert_eq!(judge("the shop", date, now, now, true).result, CheckResult::NotChecked);
        }
    }
}
