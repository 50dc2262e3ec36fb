//! Bad input of every kind. None of it may count as a place, appear in a response, or affect the next visitor.

use crate::{Client, RoomUnderTest};

pub(crate) fn check(room: &impl RoomUnderTest, client: &Client) {
    malformed_cookies(client);
    a_query_parameter_is_not_a_cookie(client);
    malformed_requests(room, client);
    a_room_without_a_limit_takes_no_reports(client);
    assert_eq!(client.get("/polling").status, 200, "after all that");
}

fn malformed_cookies(client: &Client) {
    let place = client.join();
    let (name, value) = place.split_once('=').expect("a name and a value");
    let parts: Vec<_> = value.split('-').collect();
    let (epoch, token, ticket) = (parts[0], parts[1], parts[2]);
    let long = "a".repeat(3000);
    let forged = [
        name.to_owned(),
        format!("{name}="),
        format!("{name}=--"),
        format!("{name}={epoch}-{token}"),
        format!("{name}={epoch}-{token}-{ticket}-1"),
        format!("{name}={epoch}-{token}-0"),
        format!("{name}={epoch}-{token}--1"),
        format!("{name}={epoch}-{token}-1e3"),
        format!("{name}={epoch}-{token}-99999999999999999999"),
        format!(
            "{name}={epoch}-{}-{ticket}",
            token.to_uppercase().replace(|c: char| c.is_ascii_digit(), "A")
        ),
        format!("{name}={epoch}-{}-{ticket}", &token[1..]),
        format!("{name}={epoch}-{token}g-{ticket}"),
        format!("{name}=zzzz-{token}-{ticket}"),
        format!("{name}=\"{value}\""),
        format!("{name}={value}\""),
        format!("{name}=$util.parseJson('x')"),
        format!("{name}={{\"S\":\"x\"}}"),
        format!("x{name}={value}"),
        format!("{name}x={value}"),
        format!("{}={value}", name.to_uppercase()),
        format!("{name}=%00{value}"),
        format!("{name}={long}"),
        format!("{long}={value}"),
        "=".into(),
        ";;;;".into(),
    ];
    for cookie in forged {
        let shown: String = cookie.chars().take(80).collect();
        let poll = client.get_with("/polling", &cookie);
        assert_eq!((poll.status, &poll.json()["join"]), (200, &true.into()), "{shown}");
        assert_eq!(client.get_with("/client", &cookie).json()["known"], false, "{shown}");
        let door = client.newcomer(&[("Cookie", &cookie)]);
        assert!(door.header("set-cookie").is_some(), "a newcomer with {shown}");
    }
}

fn a_query_parameter_is_not_a_cookie(client: &Client) {
    let place = client.join();
    for path in ["/polling", "/client"] {
        for parameter in ["cookie", "Cookie"] {
            let answer = client.get(&format!("{path}?{parameter}={place}")).json();
            assert!(answer["join"] == true || answer["known"] == false, "{path}?{parameter}: {answer}");
        }
    }
}

fn a_room_without_a_limit_takes_no_reports(client: &Client) {
    let report = client.send("POST", "/guard", &[("Beekeeper-Key", "a-key"), ("Content-Length", "0")]);
    assert_eq!(report.status, 404, "{report:?}");
    let error = report.json()["error"].as_str().unwrap_or_default().to_owned();
    assert!(error.contains("counts no active visitors"), "{report:?}");
    let looked_at = client.get("/guard");
    assert_eq!((looked_at.status, looked_at.header("allow")), (405, Some("POST")), "{looked_at:?}");
}

fn malformed_requests(room: &impl RoomUnderTest, client: &Client) {
    let head = |lines: &str| format!("{}{lines}\r\n", client.head("GET", "/polling"));
    let refused: [(&str, Vec<u8>); 4] = [
        ("no HTTP at all", b"hello\r\n\r\n".to_vec()),
        ("a bad header name", head("a b: c\r\n").into_bytes()),
        ("a head of 100 kB", head(&format!("X-Long: {}\r\n", "a".repeat(100_000))).into_bytes()),
        ("a byte zero", head("X: \0\r\n").into_bytes()),
    ];
    for (what, request) in refused {
        if let Some(answer) = client.raw(&request) {
            assert!((400..500).contains(&answer.status), "{what}: {answer:?}");
            assert!(!answer.body.contains("panicked") && !answer.body.contains(".rs:"), "{what}: {answer:?}");
        }
    }
    let thousand = client.raw(head(&"X: y\r\n".repeat(1000)).as_bytes());
    let is_right = |status| if room.counts_headers() { (400..500).contains(&status) } else { status == 200 };
    assert!(
        thousand.as_ref().is_none_or(|answer| is_right(answer.status)),
        "a thousand headers: {thousand:?}"
    );
    let not_text = [client.head("GET", "/polling").as_bytes(), b"Cookie: \xff\xfe=1\r\n\r\n"].concat();
    assert!(client.raw(&not_text).is_some_and(|answer| answer.status < 500), "a cookie that is not text");
    let with_body = head("Content-Length: 5\r\n") + "hello";
    let answer = client.raw(with_body.as_bytes());
    assert_eq!(answer.map(|answer| answer.status), Some(200), "a body is ignored");
}
