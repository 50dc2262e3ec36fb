//! The certificates of the room and of the shop.

use std::io;
use std::time::Duration;

use futures_util::future::join_all;
use probe::{ServerCertificate, read_certificate};
use url::Url;
use waitroom::{Timestamp, WebUrl};

use crate::{DoctorCheck, Examined};

const CERTIFICATE: &str = "certificate";
/// Certificates are usually renewed thirty days before their end. So somebody should know by then.
const SOON: Duration = Duration::from_hours(14 * 24);
/// Enough for a server that is slow at every step. Only a name server may take longer.
const TIMEOUT: Duration = Duration::from_secs(40);

/// Whose certificate it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Room,
    Shop,
}

pub(crate) async fn check(examined: &Examined) -> Vec<DoctorCheck> {
    let (room, shop) = (&examined.room.url, &examined.room.settings.shop);
    let is_there = examined.found.is_some();
    let mut asked = Vec::new();
    if is_there {
        asked.push((Owner::Room, room));
    }
    if !is_there || shop.as_url().origin() != room.as_url().origin() {
        asked.push((Owner::Shop, shop));
    }
    join_all(asked.into_iter().map(|(owner, url)| of(examined, owner, url))).await
}

async fn of(examined: &Examined, owner: Owner, web_url: &WebUrl) -> DoctorCheck {
    let url = web_url.as_url();
    if url.scheme() != "https" {
        let whose = match owner {
            Owner::Room => "the room",
            Owner::Shop => "the shop",
        };
        let text = format!("{whose} is at {url}, without https");
        if web_url.is_on_this_machine() {
            return DoctorCheck::not_checked(CERTIFICATE, format!("{text}, on this machine"));
        }
        let advice = "use https: otherwise everybody on the way can read passes and take them";
        return DoctorCheck::warning(CERTIFICATE, text, advice);
    }
    if owner == Owner::Room && examined.address(url.clone()).host.is_some() {
        let host = url.host_str().unwrap_or_default();
        return DoctorCheck::not_checked(
            CERTIFICATE,
            format!("{host} is asked at another endpoint than AWS's own"),
        );
    }
    let opens = examined.status().and_then(|status| status.room.opens);
    judge(url, read(url.clone()).await, examined.now(), opens)
}

/// Reads the certificate in a thread, which goes on by itself if it takes too long.
async fn read(url: Url) -> io::Result<ServerCertificate> {
    let reading = tokio::task::spawn_blocking(move || read_certificate(&url));
    let late = |_| {
        let text = format!("no answer within {} seconds", TIMEOUT.as_secs());
        io::Error::new(io::ErrorKind::TimedOut, text)
    };
    tokio::time::timeout(TIMEOUT, reading).await.map_err(late)??
}

fn judge(
    url: &Url,
    shown: io::Result<ServerCertificate>,
    now: Timestamp,
    opens: Option<Timestamp>,
) -> DoctorCheck {
    let host = url.host_str().unwrap_or_default();
    let ServerCertificate { expires, refused } = match shown {
        Ok(shown) => shown,
        Err(error) => {
            let text = format!("{host}: no secure connection: {error}");
            let advice =
                format!("see whether a web server answers at {}", url.origin().ascii_serialization());
            return DoctorCheck::problem(CERTIFICATE, text, advice);
        }
    };
    let renew = format!("renew the certificate of {host}; certbot: sudo certbot renew");
    match expires {
        Some(end) if end <= now => {
            DoctorCheck::problem(CERTIFICATE, format!("{host}: expired on {end}; browsers refuse it"), renew)
        }
        _ if refused.is_some() => {
            let why = refused.unwrap_or_default();
            let advice = "for a real event, install a certificate that browsers trust, with the whole chain, for this host";
            DoctorCheck::problem(CERTIFICATE, format!("{host}: browsers refuse it: {why}"), advice)
        }
        Some(end) if opens.is_some_and(|opens| end <= opens) => {
            let text = format!("{host}: it expires on {end}, before the room opens");
            DoctorCheck::problem(CERTIFICATE, text, renew)
        }
        Some(end) if end.since(now) < SOON => {
            DoctorCheck::warning(CERTIFICATE, format!("{host}: {} left, until {end}", days(end, now)), renew)
        }
        Some(end) => {
            DoctorCheck::ok(CERTIFICATE, format!("{host}: valid, {} left, until {end}", days(end, now)))
        }
        None => DoctorCheck::ok(CERTIFICATE, format!("{host}: valid; its end cannot be read")),
    }
}

fn days(end: Timestamp, now: Timestamp) -> String {
    match end.since(now).as_secs() / 86_400 {
        1 => "1 day".into(),
        days => format!("{days} days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CheckResult;

    const DAY: Duration = Duration::from_hours(24);

    fn room() -> Url {
        "https://wait.example:8443/prod".parse().unwrap()
    }

    fn judged(end_in: i32, refused: Option<&str>, opens_in: Option<u32>) -> DoctorCheck {
        let now = Timestamp::from_millis(1_804_000_000_000);
        let end =
            if end_in < 0 { now - DAY * end_in.unsigned_abs() } else { now + DAY * end_in.unsigned_abs() };
        let shown = ServerCertificate { expires: Some(end), refused: refused.map(ToOwned::to_owned) };
        judge(&room(), Ok(shown), now, opens_in.map(|days| now + DAY * days))
    }

    #[test]
    fn a_certificate_that_ends_too_early_or_is_refused_is_found() {
        assert_eq!(judged(61, None, None).result, CheckResult::Ok);
        assert_eq!(judged(13, None, None).result, CheckResult::Warning);
        assert!(judged(13, None, Some(3)).found.contains("13 days left"));
        assert_eq!(judged(20, None, Some(21)).result, CheckResult::Problem);
        let expired = judged(-1, Some("invalid peer certificate: Expired"), None);
        assert!(
            expired.result == CheckResult::Problem && expired.found.contains("expired on"),
            "{expired:?}"
        );
        let unknown = judged(300, Some("invalid peer certificate: UnknownIssuer"), None);
        assert!(
            unknown.result == CheckResult::Problem && unknown.found.contains("UnknownIssuer"),
            "{unknown:?}"
        );
        let silent = judge(&room(), Err(io::ErrorKind::ConnectionRefused.into()), Timestamp::default(), None);
        assert_eq!(silent.result, CheckResult::Problem);
        assert!(silent.advice.unwrap().ends_with("at https://wait.example:8443"));
    }
}
