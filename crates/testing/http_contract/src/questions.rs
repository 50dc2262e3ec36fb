//! `/polling`, `/status`, `/client`, the keys, and paths that do not exist.

use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::{Client, RoomUnderTest};

pub(crate) fn check(room: &impl RoomUnderTest, client: &Client) {
    polls_say_how_the_line_stands(client);
    the_status_is_the_same_for_everybody(client);
    the_shop_may_ask(room, client);
    keys_are_public(client);
    an_issuer_says_where_its_keys_are(room, client);
    the_page_is_one_document(client);
    the_rooms_url_leads_to_its_door(client);
    nothing_else_is_there(room, client);
}

fn polls_say_how_the_line_stands(client: &Client) {
    let answer = client.get("/polling");
    assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-store")));
    let newcomer = answer.json();
    assert_eq!((&newcomer["allow"], &newcomer["join"]), (&false.into(), &true.into()));
    for (field, is_right) in [
        ("epoch", newcomer["epoch"].is_string()),
        ("served", newcomer["served"].is_u64()),
        ("rate", newcomer["rate"].is_u64()),
        ("waiting", newcomer["waiting"].is_u64()),
        ("state", newcomer["state"] == "on"),
        ("slow", newcomer["slow"] == false),
        ("message", newcomer["message"].is_string()),
        ("stretch", newcomer["stretch"] == 1),
    ] {
        assert!(is_right, "{field} in {newcomer}");
    }
    let place = client.join();
    let waiting = client.get_with("/polling", &place).json();
    assert!(waiting["allow"] == true || waiting.get("join").is_none(), "{waiting}");
}

/// What an edge may keep and give to anybody.
fn the_status_is_the_same_for_everybody(client: &Client) {
    let place = client.join();
    let hostile = format!("{place}; x=1");
    let of_place = [("Cookie", &*hostile), ("Origin", "https://evil.example"), ("Cache-Control", "no-store")];
    for headers in [&[][..], &of_place] {
        let status = client.send("GET", "/status?bk_pass=x", headers);
        assert_eq!((status.status, status.header("cache-control")), (200, Some("public, max-age=1")));
        for header in ["set-cookie", "vary", "access-control-allow-origin"] {
            assert_eq!(status.header(header), None, "{header}");
        }
        let mut said = status.json();
        assert!(said["at"].as_u64().is_some_and(|at| at > 1_700_000_000_000), "{said}");
        for personal in ["join", "late", "until"] {
            assert_eq!(said.get(personal), None, "{said}");
        }
        let mut newcomer = client.get("/polling").json();
        // The line moves meanwhile.
        for answer in [&mut said, &mut newcomer] {
            let fields = answer.as_object_mut().expect("an object");
            fields.retain(|name, _| {
                !["at", "join", "served", "waiting", "disorder", "passed"].contains(&&**name)
            });
        }
        assert_eq!(said, newcomer);
    }
}

fn the_shop_may_ask(room: &impl RoomUnderTest, client: &Client) {
    let newcomer = client.get("/client");
    assert_eq!(newcomer.json(), serde_json::json!({ "allow": false, "known": false }));
    let shop = room.shop();
    let origin = shop.split('/').take(3).collect::<Vec<_>>().join("/");
    assert_eq!(newcomer.header("access-control-allow-origin"), Some(&*origin), "an origin, never *");
    assert_eq!(newcomer.header("access-control-allow-credentials"), Some("true"));
}

fn keys_are_public(client: &Client) {
    let published = client.get("/.well-known/jwks.json");
    assert_eq!(published.header("access-control-allow-origin"), Some("*"), "any page may verify passes");
    let keys = published.json();
    let keys = keys["keys"].as_array().expect("a list of keys");
    assert!(!keys.is_empty());
    for key in keys {
        assert_eq!((&key["kty"], &key["alg"], &key["use"]), (&"RSA".into(), &"RS256".into(), &"sig".into()));
        assert!(key["n"].is_string() && key["e"].is_string() && key["kid"].is_string(), "{key}");
        assert!(key.get("d").is_none(), "the private half is private");
    }
}

fn an_issuer_says_where_its_keys_are(room: &impl RoomUnderTest, client: &Client) {
    let said = client.get("/.well-known/openid-configuration").json();
    let issuer = said["issuer"].as_str().expect("an issuer");
    assert_eq!(said["jwks_uri"], format!("{issuer}/.well-known/jwks.json"));
    assert_eq!(said["room"], room.name(), "the audience of its passes");
    assert_eq!(said["id_token_signing_alg_values_supported"], serde_json::json!(["RS256"]));
}

fn the_page_is_one_document(client: &Client) {
    let page = client.get("/wait/index.html");
    let policy = page.header("content-security-policy").unwrap_or_default();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(page.body.contains("noindex"));
    for name in ["script", "style"] {
        let inside = texts_inside(&page.body, name);
        assert!(!inside.is_empty(), "{name}");
        for text in inside {
            let hash = STANDARD.encode(digest::digest(&digest::SHA256, text.as_bytes()));
            assert!(policy.contains(&format!("'sha256-{hash}'")), "{policy}: {text}");
        }
    }
}

/// The texts of all elements with this name.
fn texts_inside<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
    let (start, end) = (format!("<{name}"), format!("</{name}>"));
    let elements = html.split(&start).skip(1).filter_map(|element| element.split_once('>'));
    elements.filter_map(|(_, text)| text.split_once(&end)).map(|(text, _)| text).collect()
}

fn the_rooms_url_leads_to_its_door(client: &Client) {
    for method in ["GET", "HEAD"] {
        let answer = client.send(method, "/", &[]);
        assert_eq!((answer.status, answer.location()), (302, "beekeeper"), "{method}");
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("set-cookie"), None, "the door gives the place");
    }
}

fn nothing_else_is_there(room: &impl RoomUnderTest, client: &Client) {
    for path in [
        "/beekeeper/",
        "/Beekeeper",
        "/wait/../Cargo.toml",
        "/wait/nope.js",
        "/wait/%2e%2e/x",
        "/admin",
        "//polling",
    ] {
        let answer = client.get(path);
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.json()["error"].is_string(), "{path}: {}", answer.body);
    }
    for path in [
        "/",
        "/beekeeper",
        "/polling",
        "/status",
        "/client",
        "/.well-known/jwks.json",
        "/.well-known/openid-configuration",
        "/wait/index.html",
    ] {
        for method in ["POST", "PUT", "DELETE", "PATCH"] {
            let answer = client.send(method, path, &[("Content-Length", "0")]);
            assert_eq!(answer.status, room.status_of_another_method(), "{method} {path}");
            assert!(answer.status != 405 || answer.json()["error"].is_string());
        }
    }
}
