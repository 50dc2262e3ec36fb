//! A shop behind Caddy with the shipped configuration.

use std::time::{Duration, Instant};

use emulators::{Caddy, free_port};
use http_contract::Client;

use super::fixture::{Guard, cookie, issuer, pass, room};

const CADDY: &str = include_str!("../../../../docs/guard/Caddyfile");

/// Caddy with the shipped configuration, in front of the guard on this port. The shop is a site of Caddy itself, which says what
/// it was told of the visitor.
fn caddy(guard: u16) -> Caddy {
    let shop = free_port().unwrap();
    let says = "shop {uri} subject=[{header.X-Beekeeper-Subject}] number=[{header.X-Beekeeper-Number}{header.X_Beekeeper_Number}] upgrade=[{header.Upgrade}]";
    let thanks = "\theader /thanks Beekeeper-Session end\n\theader /thanks Set-Cookie basket=\n";
    let told = "[{header.X-Beekeeper-End-Cookie}]";
    let shop_itself = format!("\n}}\nhttp://127.0.0.1:{shop} {{\n{thanks}\trespond \"{says} {told}\"\n}}\n");
    let changes = [
        ("\n}\n\n", &*shop_itself),
        ("127.0.0.1:8090", &format!("127.0.0.1:{guard}")),
        ("127.0.0.1:3000", &format!("127.0.0.1:{shop}")),
    ];
    Caddy::with_shipped(CADDY, "shop.example", &changes).unwrap()
}

#[test]
#[ignore = "needs Caddy: cargo xtask test beekeeper"]
fn caddy_with_the_shipped_configuration_keeps_everybody_out_who_did_not_wait() {
    let room = room();
    let guard = Guard::of(&room, &["--bypass-path", "/static/"]);
    let caddy = caddy(guard.port());
    let shop = Client::new(&format!("http://127.0.0.1:{}", caddy.port()), "demo");
    let get = |path: &str, more: &[(&str, &str)]| shop.send("GET", path, more);
    let door = format!("{}/beekeeper", issuer(&room));
    let away = get("/tickets/7?seat=a", &[]);
    assert_eq!((away.status, away.location()), (302, &*door));
    let exchanged = get(&format!("/sale?bk_pass={}", pass(&room)), &[("Cookie", &cookie(&away))]);
    assert_eq!(exchanged.status, 302);
    assert!(exchanged.location().ends_with("/tickets/7?seat=a"), "{exchanged:?}");
    let session = cookie(&exchanged);
    let spoofed = [("X-Beekeeper-Number", "1"), ("X_Beekeeper_Number", "1"), ("X-Beekeeper-Subject", "me")];
    let hidden = [("Connection", "close, X-Beekeeper-Subject, X-Forwarded-Uri, X-Forwarded-Method")];
    let upgrade = [("Connection", "Upgrade, x-beekeeper-subject"), ("Upgrade", "websocket")];
    for more in [&[][..], &spoofed, &hidden, &upgrade] {
        let page = get("/tickets/7", &[&[("Cookie", &*session)], more].concat());
        let subject = page.body.split("subject=[").nth(1).unwrap().split(']').next().unwrap();
        assert!(subject.len() == 64 && page.body.contains("number=[]"), "{page:?}");
    }
    let bypassed = get("/static/a.css", &spoofed);
    assert!(bypassed.body.contains("subject=[] number=[]"), "{bypassed:?}");
    // The shop ends a session.
    let visitor = cookie(&get(&format!("/?bk_pass={}", pass(&room)), &[]));
    let thanks = get("/thanks", &[("Cookie", &visitor)]);
    assert!(
        thanks.status == 200 && thanks.body.ends_with(" []"),
        "it knows nothing of the cookie: {thanks:?}"
    );
    assert_eq!(thanks.header("beekeeper-session"), None, "{thanks:?}");
    let end = cookie(&thanks);
    assert!(end.starts_with("__Host-bk_demo_end="), "{thanks:?}");
    assert!(format!("{thanks:?}").contains("\"basket=\""), "the shop's own cookie comes too: {thanks:?}");
    let with = format!("{visitor}; {end}");
    assert_eq!(get("/", &[("Cookie", &visitor)]).header("set-cookie"), None);
    let begun = Instant::now();
    while get("/thanks.css", &[("Cookie", &with)]).status == 200 {
        assert!(begun.elapsed() < Duration::from_secs(40), "it was never ended");
        std::thread::sleep(Duration::from_millis(500));
    }
    assert!(begun.elapsed() > Duration::from_secs(25), "after {:?}", begun.elapsed());
    assert_eq!(get("/", &[("Cookie", &visitor)]).status, 302);
    for (protocols, told) in [
        (&["websocket"][..], "upgrade=[websocket]"),
        (&["WebSocket"], "upgrade=[websocket]"),
        (&["h2c", "websocket"], "upgrade=[websocket]"),
        (&["h2c"], "upgrade=[]"),
    ] {
        let upgrades = protocols.iter().map(|protocol| ("Upgrade", *protocol));
        let named: Vec<_> = [("Cookie", &*session), upgrade[0]].into_iter().chain(upgrades).collect();
        let chat = get("/chat", &named);
        assert!(chat.body.contains(told), "{protocols:?}: {chat:?}");
    }
    // What browsers say of themselves reaches the guard.
    let arrival = format!("/?bk_pass={}", pass(&room));
    for (dest, mode, purpose, expected) in [
        ("empty", "cors", "", "Please wait in line first."),
        ("iframe", "navigate", "", "Open the shop in its own window"),
        ("document", "navigate", "prefetch", "Please wait in line first."),
    ] {
        let said = [("Sec-Fetch-Dest", dest), ("Sec-Fetch-Mode", mode), ("Sec-Purpose", purpose)];
        let refused = get(&arrival, &said);
        assert!(refused.status == 403 && refused.body.contains(expected), "{said:?}: {refused:?}");
        assert_eq!(refused.header("set-cookie"), None);
    }
    let document = [("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Mode", "navigate")];
    assert_eq!(get(&arrival, &document).status, 302, "none of them used it up");
    for sneaky in ["/static/../order", "/static/%2e%2e/order", "/order"] {
        assert_eq!(get(sneaky, &[("X-Forwarded-Uri", "/static/")]).status, 302, "{sneaky}");
    }
    let late = pass(&room);
    drop(guard);
    assert_eq!(get("/tickets/7", &[("Cookie", &session)]).status, 502);
    assert_eq!(get(&format!("/?x=1&bk_pass={late}"), &[]).status, 502);
    let log = caddy.log().unwrap();
    assert!(log.contains("/tickets/7"), "errors are logged: {log}");
    assert!(log.contains("x=1") && !log.contains(&late), "and no pass: {log}");
}
