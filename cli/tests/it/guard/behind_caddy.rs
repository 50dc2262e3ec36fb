//! A shop behind Caddy with the shipped configuration.

use emulators::Caddy;
use http_contract::Client;

use super::fixture::{Guard, cookie, issuer, pass, room};

const CADDY: &str = include_str!("../../../../docs/guard/Caddyfile");

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Caddy with the shipped configuration, in front of the guard on this port. The shop is a site of Caddy itself, which says what
/// it was told of the visitor.
fn caddy(guard: u16) -> Caddy {
    let shop = free_port();
    let says = "shop {uri} subject=[{header.X-Beekeeper-Subject}] number=[{header.X-Beekeeper-Number}{header.X_Beekeeper_Number}]";
    let shop_itself =
        format!("http://127.0.0.1:{shop} {{\n\trespond \"{says}\"\n}}\n# Change shop.example to your domain");
    let changes = [
        ("# Change shop.example to your domain", &*shop_itself),
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
    for more in [&[][..], &spoofed] {
        let page = get("/tickets/7", &[&[("Cookie", &*session)], more].concat());
        let subject = page.body.split("subject=[").nth(1).unwrap().split(']').next().unwrap();
        assert!(subject.len() == 64 && page.body.contains("number=[]"), "{page:?}");
    }
    let bypassed = get("/static/a.css", &spoofed);
    assert!(bypassed.body.ends_with("subject=[] number=[]"), "{bypassed:?}");
    assert_eq!(get("/api", &[("Sec-Fetch-Mode", "cors")]).status, 403);
    for sneaky in ["/static/../order", "/static/%2e%2e/order", "/order"] {
        assert_eq!(get(sneaky, &[("X-Forwarded-Uri", "/static/")]).status, 302, "{sneaky}");
    }
    drop(guard);
    assert_eq!(get("/tickets/7", &[("Cookie", &session)]).status, 502);
}
