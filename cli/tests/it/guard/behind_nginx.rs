//! A shop behind nginx with the shipped configuration.

use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use emulators::{Nginx, console};
use http_contract::{Client, RoomUnderTest};

use super::fixture::{Guard, issuer, pass, room};
use crate::support::{Local, header, status, text};

/// nginx with the shipped configuration, in front of the guard on this port. The shop says what it was told of the visitor.
fn nginx(guard: u16) -> Nginx {
    let says = "shop $request_uri subject=[$http_x_beekeeper_subject] number=[$http_x_beekeeper_number]";
    let shop = format!(
        "location / {{ return 200 '{says}'; }}
         location /broken {{ return 500 'the shop is broken'; }}
         location /forbidden {{ return 403 'the shop forbids'; }}
         location /chat {{ return 200 'upgrade=[$http_upgrade] connection=[$http_connection]'; }}
         location /thanks {{ add_header Beekeeper-Session end; add_header Set-Cookie basket=; return 200 'thank you'; }}
         location /static/gone {{ return 444; }}"
    );
    Nginx::in_front_of_shop(guard, &shop, &[]).unwrap()
}

/// The same with locations of the shop's own in the shipped configuration.
fn nginx_with(guard: u16, locations: &str) -> Nginx {
    let arrival = "        location = /_beekeeper/arrival {\n";
    let with_locations = [(arrival, &*format!("{locations}\n{arrival}"))];
    Nginx::in_front_of_shop(guard, "location / { return 200 shop; }", &with_locations).unwrap()
}

/// A request to the public URL of the shop. Returns the answer with its head.
fn visit(nginx: &Nginx, path: &str, more: &[&str]) -> String {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--include", "--max-time", "20", "--http2", "--path-as-is"]);
    curl.args(["--resolve", &format!("shop.example:{}:127.0.0.1", nginx.https_port()), "--cacert"]);
    curl.arg(nginx.folder().join("certificate.pem")).args(more);
    curl.arg(format!("https://shop.example:{}{path}", nginx.https_port()));
    let output = curl.output().unwrap_or_else(|error| panic!("{error}; on Debian: apt-get install curl"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn set(answer: &str) -> String {
    let cookie = header(answer, "set-cookie").unwrap_or_else(|| panic!("{answer}"));
    format!("Cookie: {}", cookie.split(';').next().unwrap())
}

/// The visitor of a page of the shop, as nginx told the shop.
fn subject(page: &str) -> &str {
    let told = page.split("subject=[").nth(1).and_then(|rest| rest.split(']').next());
    told.filter(|_| status(page) == "200").unwrap_or_else(|| panic!("{page}"))
}

/// Exchanges a pass. Returns the header of the session.
fn enter(nginx: &Nginx, pass: &str) -> String {
    set(&visit(nginx, &format!("/?bk_pass={pass}"), &[]))
}

#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn nginx_with_the_shipped_configuration_keeps_everybody_out_who_did_not_wait() {
    let room = room();
    let guard = Guard::of(&room, &["--bypass-path", "/static/"]);
    let nginx = nginx(guard.port());
    let door = format!("{}/beekeeper", issuer(&room));

    let away = visit(&nginx, "/tickets/7?seat=a&row=%20b", &[]);
    assert_eq!((status(&away), header(&away, "location")), ("303", Some(&*door)));
    assert_eq!(header(&away, "cache-control"), Some("no-store"));
    let arrival = format!("/sale?bk_pass={}", pass(&room));
    let exchanged = visit(&nginx, &arrival, &["--header", &set(&away)]);
    let back = header(&exchanged, "location").unwrap();
    assert!(status(&exchanged) == "303" && back.ends_with("/tickets/7?seat=a&row=%20b"), "{exchanged}");
    let session = set(&exchanged);
    let inside = |path: &str, more: &[&str]| visit(&nginx, path, &[&["--header", &session], more].concat());
    let spoofed = ["--header", "X-Beekeeper-Number: 1", "--header", "X-Beekeeper-Subject: me"];
    let hidden = ["--http1.1", "--header", "Connection: X-Beekeeper-Subject, X-Forwarded-Uri, Cookie"];
    for more in [&[][..], &spoofed, &hidden] {
        let page = inside("/tickets/7", more);
        assert!(subject(&page).len() == 64 && page.contains("number=[]"), "{page}");
    }
    assert_eq!(status(&inside("/order", &["--data", "ticket=7"])), "200", "a form");
    for (protocol, told) in [
        ("websocket", "upgrade=[websocket] connection=[upgrade]"),
        ("WebSocket", "upgrade=[websocket] connection=[upgrade]"),
        ("h2c", "upgrade=[] connection=[]"),
        ("", "upgrade=[] connection=[]"),
    ] {
        let upgrade = format!("Upgrade: {protocol}");
        let names = "Connection: Upgrade, HTTP2-Settings, X-Beekeeper-Subject";
        let chat = inside("/chat", &["--http1.1", "--header", names, "--header", &upgrade]);
        assert!(chat.ends_with(told), "{protocol}: {chat}");
    }
    assert!(inside("/broken", &[]).contains("the shop is broken"), "the shop's own errors stay its own");
    assert!(inside("/forbidden", &[]).contains("the shop forbids"));

    std::thread::sleep(Duration::from_secs(4));
    let replayed = visit(&nginx, &arrival, &[]);
    assert_eq!((status(&replayed), header(&replayed, "location")), ("303", Some(&*door)));
    let late = visit(&nginx, "/order", &["--data", "ticket=7"]);
    assert_eq!((status(&late), header(&late, "location")), ("303", Some(&*door)), "a form");
    let spoofed = ["--header", "X-Beekeeper-Number: 1", "--header", "X-Forwarded-Uri: /static/"];
    let bypassed = visit(&nginx, "/static/a.css", &spoofed);
    assert!(bypassed.ends_with("subject=[] number=[]"), "{bypassed}");
    for sneaky in ["/static/../order", "/static/%2e%2e/order", "/_beekeeper/guard", "/order"] {
        let sent = visit(&nginx, sneaky, &spoofed);
        assert!(status(&sent) == "303" || status(&sent) == "404", "{sneaky}: {sent}");
    }
    // A shop with one program for all paths does there what the query or the body says.
    let challenge = "/.well-known/acme-challenge/evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr_oA";
    assert_eq!(status(&visit(&nginx, challenge, &[])), "200", "the shop's certificate");
    for path in [challenge, "/static/a.css"] {
        for (query, more) in [("?rest_route=/wc/store/v1/checkout", &[][..]), ("", &["--data", "a=1"])] {
            let sent = visit(&nginx, &format!("{path}{query}"), more);
            assert_eq!((status(&sent), header(&sent, "location")), ("303", Some(&*door)), "{path}{query}");
        }
    }
    // All that nginx lets through reaches the guard, and the URL once more. Of this session nginx has kept no answer.
    let another = enter(&nginx, &pass(&room));
    let large = ["a", "b", "c"].map(|name| format!("X-{name}: {}", "x".repeat(7_500)));
    let large = large.each_ref().map(|header| ["--header", header]).concat();
    let page =
        visit(&nginx, &format!("/{}", "x".repeat(5_000)), &[&["--header", &another], &large[..]].concat());
    assert_eq!(subject(&page).len(), 64, "{page}");
    let huge = format!("Cookie: a={}", "x".repeat(20_000));
    assert!(status(&visit(&nginx, "/", &["--http1.1", "--header", &huge])).starts_with('4'));

    drop(guard);
    let gone = inside("/tickets/7", &[]);
    assert!(status(&gone) == "503" && gone.contains("If you have a place in line, you keep it"), "{gone}");
}

/// What browsers say of themselves reaches the guard, and the guard's answer reaches them.
#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn nginx_tells_the_guard_where_an_answer_is_seen() {
    let room = Local::start(&["--shop", "https://shop.example/sale"]);
    let guard = Guard::of(&room, &["--one-session", "first"]);
    let nginx = nginx(guard.port());
    let client = Client::new(&room.base(), "demo");
    let place = client.cookie(&client.get("/beekeeper"));
    let pass = client.wait_for_pass(&place);
    let says = |path: &str, dest: &str, mode: &str, purpose: &str| {
        let said = [("Sec-Fetch-Dest", dest), ("Sec-Fetch-Mode", mode), ("Sec-Purpose", purpose)];
        let said: Vec<_> = said.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        visit(&nginx, path, &["--header", &said[0], "--header", &said[1], "--header", &said[2]])
    };
    let arrival = format!("/?bk_pass={pass}");
    for path in ["/api", &*arrival] {
        for (dest, mode, purpose, body) in [
            ("empty", "cors", "", "Please wait in line first.\n"),
            ("image", "no-cors", "", "Please wait in line first.\n"),
            ("document", "navigate", "prefetch;prerender", "Please wait in line first.\n"),
            ("iframe", "navigate", "", "<h1>Open the shop in its own window</h1>"),
            ("object", "navigate", "", "<h1>Open the shop in its own window</h1>"),
        ] {
            let refused = says(path, dest, mode, purpose);
            let bare = header(&refused, "location").is_none() && header(&refused, "set-cookie").is_none();
            assert!(status(&refused) == "403" && bare && refused.contains(body), "{dest}: {refused}");
        }
    }
    // By its cookie, the guard tells this browser from the next one, which came to the room first too.
    let arrives = |arrival: &str| {
        let unknown = says(arrival, "document", "navigate", "");
        visit(&nginx, arrival, &["--header", &set(&unknown)])
    };
    let exchanged = arrives(&arrival);
    assert!(set(&exchanged).contains("=session."), "none of them used it up: {exchanged}");
    std::thread::sleep(Duration::from_millis(1100));
    let taken = arrives(&format!("/?bk_pass={}", client.wait_for_pass(&place)));
    assert!(status(&taken) == "403" && taken.contains("open in another browser"), "{taken}");
}

/// nginx logs the URL of whatever fails.
#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn nginx_writes_no_pass_into_its_logs() {
    let room = room();
    let guard = Guard::of(&room, &["--bypass-path", "/static/a.css", "--bypass-path", "/static/gone"]);
    let nginx = nginx(guard.port());
    let arrives =
        |path: &str, more: &[&str]| visit(&nginx, &format!("{path}?x&bk_pass={}", pass(&room)), more);
    assert_eq!(status(&arrives("/", &[])), "303");
    let session = set(&arrives("/", &[]));
    let posted = arrives("/order", &["--header", &session, "--data", "ticket=7"]);
    assert!(subject(&posted).len() == 64 && posted.contains("shop /order?x&bk_pass="), "{posted}");
    assert_eq!(status(&arrives("/static/a.css", &[])), "200", "it bypasses");
    assert!(
        arrives("/static/a.css", &[]).contains("shop /static/a.css?x&bk_pass="),
        "the shop gets the whole URL"
    );
    assert_eq!(status(&arrives("/static/gone", &[])), "502", "the shop does not answer");
    drop(guard);
    for more in [&[][..], &["--head"], &["--data", "a form"]] {
        assert_eq!(status(&arrives("/", more)), "503", "nor does the guard");
    }
    assert_eq!(status(&visit(&nginx, "/without", &[])), "503");
    let log = |name: &str| std::fs::read_to_string(nginx.folder().join(name)).unwrap();
    let (errors, access) = (log("error.log"), log("access.log"));
    assert!(errors.contains("GET /without"), "errors are still logged: {errors}");
    for written in [errors, access] {
        assert!(!written.contains("bk_pass"), "{written}");
    }
}

#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn nginx_keeps_an_answer_for_a_moment_and_for_nobody_else() {
    let room = room();
    let guard = Guard::of(&room, &["--bypass-path", "/static/"]);
    let nginx = nginx(guard.port());
    let sessions = [enter(&nginx, &pass(&room)), enter(&nginx, &pass(&room))];
    let with = |headers: &[&str], path: &str| {
        let headers = headers.iter().flat_map(|header| ["--header", header]);
        visit(&nginx, path, &headers.collect::<Vec<_>>())
    };
    let subjects = sessions.each_ref().map(|session| subject(&with(&[session], "/")).to_owned());
    assert_ne!(subjects[0], subjects[1]);
    for _ in 0..5 {
        for (session, subject) in sessions.iter().zip(&subjects) {
            // A page and its files: one request for each number.
            let page = with(&[session], "/file/[1-20]");
            let told = page.matches(&format!("subject=[{subject}]")).count();
            assert_eq!(told, 20, "{page}");
        }
    }
    let metrics = Client::new(&guard.metrics, "demo").get("/metrics").body;
    let entered = metrics
        .lines()
        .find_map(|line| line.strip_prefix("beekeeper_guard_requests_total{outcome=\"entered\"} "));
    let asked: u32 = entered.unwrap().parse().unwrap();
    assert!((2..150).contains(&asked), "the guard was asked about {asked} of 202 requests");

    // Whatever a visitor claims that the shop has ended, nginx keeps one answer for their session.
    for end in 0..50 {
        let ended = format!("{}; __Host-bk_demo_end={end:022}", sessions[0]);
        assert_eq!(subject(&with(&[&ended], "/")), subjects[0]);
    }
    let kept = std::fs::read_dir(nginx.folder().join("guard-cache")).unwrap().count();
    assert!(kept <= sessions.len(), "{kept} answers");

    let session = sessions[0].strip_prefix("Cookie: ").unwrap();
    let value = session.strip_prefix("__Host-bk_demo_guard=").unwrap();
    let made_up = "Cookie: __Host-bk_demo_guard=session.made-up";
    let poisoned = [
        &*format!("{made_up}; {session}"),
        &format!("{made_up};{session}; __Host-bk_demo_guard=session.made-up"),
        &format!("Cookie: x;\t{session}"),
        &format!("Cookie: __Host-bk_other_guard=session.made-up; {session}"),
    ];
    let without = [&[][..], &[made_up], &["Cookie: __Host-bk_other_guard=session.made-up"], &["Cookie: x"]];
    let nobody_else_enters = |how: &str| {
        for headers in without {
            assert_eq!(status(&with(headers, "/")), "303", "{headers:?} after {how}");
        }
    };
    for cookies in poisoned {
        assert_eq!(subject(&with(&[cookies], "/")), subjects[0], "{cookies}");
        nobody_else_enters(cookies);
    }
    for version in ["--http1.1", "--http2"] {
        let page = visit(&nginx, "/", &[version, "--header", made_up, "--header", &sessions[0]]);
        assert_eq!(subject(&page), subjects[0], "{page}");
        nobody_else_enters("two lines");
    }
    // What the guard would not take, nginx does not either, although it has an answer for this session.
    for other in ["bk_demo_guard", "__Host-bk_other_guard", "x__Host-bk_demo_guard", "__host-bk_demo_guard"] {
        subject(&with(&[&sessions[0]], "/"));
        let cookie = format!("Cookie: {other}={value}");
        assert_eq!(status(&with(&[&cookie], "/")), "303", "{cookie}");
    }

    for headers in without {
        assert_eq!(subject(&with(headers, "/static/a.css")), "", "it bypasses");
        assert_eq!(status(&with(headers, "/")), "303", "a bypass opens nothing else: {headers:?}");
    }
    subject(&with(&[&sessions[0]], "/static/a.css"));
    nobody_else_enters("a bypass with a session");
    subject(&with(&[&sessions[0]], "/"));
    let cleaned = with(&[&sessions[0]], &format!("/tickets/7?seat=a&bk_pass={}", pass(&room)));
    assert_eq!(
        (status(&cleaned), header(&cleaned, "location")),
        ("303", Some("/tickets/7?seat=a")),
        "{cleaned}"
    );
}

#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn behind_nginx_a_session_that_was_ended_is_out_in_a_moment() {
    let room = Local::start(&["--shop", "https://shop.example/sale"]);
    let guard = Guard::of(&room, &[]);
    let nginx = nginx(guard.port());
    let client = Client::new(&room.base(), "demo");
    let place = client.cookie(&client.get("/beekeeper"));
    let pass = || client.wait_for_pass(&place);
    let is_inside = |session: &str| status(&visit(&nginx, "/", &["--header", session])) == "200";
    let first = enter(&nginx, &pass());
    assert!(is_inside(&first));
    // Passes of one second are the same to the guard.
    std::thread::sleep(Duration::from_millis(1100));
    let second = enter(&nginx, &pass());
    // Requests do not make nginx keep the answer for longer.
    let deadline = Instant::now() + Duration::from_secs(20);
    while is_inside(&first) {
        assert!(Instant::now() < deadline, "the first session was not ended by the second");
        std::thread::sleep(Duration::from_millis(100));
    }
    let page = visit(&nginx, "/", &["--header", &second]);
    assert!(subject(&page).len() == 64 && page.contains("number=[1]"), "{page}");
}

#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn behind_nginx_the_shop_ends_a_session_and_its_last_page_still_comes() {
    let room = room();
    let guard = Guard::of(&room, &["--bypass-path", "/static/"]);
    let nginx = nginx(guard.port());
    let [session, other] = [enter(&nginx, &pass(&room)), enter(&nginx, &pass(&room))];
    let subject_of = |session: &str| subject(&visit(&nginx, "/", &["--header", session])).to_owned();
    let (ours, theirs) = (subject_of(&session), subject_of(&other));

    let thanks = visit(&nginx, "/thanks", &["--header", &session]);
    assert!(thanks.ends_with("thank you"), "{thanks}");
    assert_eq!(header(&thanks, "beekeeper-session"), None, "{thanks}");
    let cookies: Vec<_> = thanks.lines().filter_map(|line| line.strip_prefix("set-cookie: ")).collect();
    let [basket, end] = cookies[..] else { panic!("{thanks}") };
    assert_eq!(basket, "basket=", "the shop's own cookie comes too");
    assert!(
        end.starts_with("__Host-bk_demo_end=")
            && end.ends_with("; Path=/; Max-Age=86400; HttpOnly; Secure; SameSite=Lax"),
        "{end}"
    );
    let end = end.split(';').next().unwrap();
    assert_eq!(header(&visit(&nginx, "/", &["--header", &session]), "set-cookie"), None);

    // Another visitor's word counts for nothing.
    let with = |session: &str| ["--header".to_owned(), format!("{session}; {end}")];
    let page = |session: &str, path: &str| {
        let headers = with(session);
        visit(&nginx, path, &[&headers[0], &headers[1]])
    };
    assert_eq!(subject(&page(&other, "/")), theirs);
    // nginx has just kept a yes for the session. It must not answer in place of the guard, which would not hear of the end.
    subject_of(&session);
    let told = Instant::now();
    let files = page(&session, "/style/[1-20]");
    assert_eq!(files.matches(&format!("subject=[{ours}]")).count(), 20, "{files}");
    let heard = Instant::now();
    let counted = |now: &str| {
        let metrics = Client::new(&guard.metrics, "demo").get("/metrics").body;
        metrics.lines().any(|line| line == format!("beekeeper_guard_sessions {now}"))
    };
    assert!(counted("2"), "it lives on for a moment");
    // Its visitor goes on clicking. The guard knows by now.
    while status(&visit(&nginx, "/", &["--header", &session])) == "200" {
        assert!(heard.elapsed() < Duration::from_secs(40), "it was never ended");
        std::thread::sleep(Duration::from_millis(500));
    }
    assert!(told.elapsed() > Duration::from_secs(25), "after {:?}", told.elapsed());
    assert!(counted("1"));
    assert_eq!(subject_of(&other), theirs, "the other one goes on");
}

#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn a_page_of_the_shop_for_which_nginx_asks_for_a_password_still_does() {
    let room = room();
    let guard = Guard::of(&room, &[]);
    let staff =
        "location /staff { auth_basic staff; auth_basic_user_file /dev/null; proxy_pass http://shop; }";
    let nginx = nginx_with(guard.port(), staff);
    let session = enter(&nginx, &pass(&room));
    let asked = visit(&nginx, "/staff", &["--header", &session]);
    assert_eq!((status(&asked), header(&asked, "location")), ("401", None), "{asked}");
    assert_eq!(header(&asked, "www-authenticate"), Some("Basic realm=\"staff\""), "{asked}");
    assert!(visit(&nginx, "/", &["--header", &session]).ends_with("shop"), "the others don't");
}

/// The guard's page for a visitor who is in another browser stands for its own 403 only.
#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn what_nginx_itself_forbids_is_not_said_to_be_open_in_another_browser() {
    let room = room();
    let guard = Guard::of(&room, &[]);
    let closed =
        "location /backup { deny all; proxy_pass http://shop; }\nlocation /pictures/ { alias /usr/; }";
    let nginx = nginx_with(guard.port(), closed);
    let session = enter(&nginx, &pass(&room));
    for path in ["/backup", "/pictures/"] {
        let forbidden = visit(&nginx, path, &["--header", &session]);
        assert_eq!(status(&forbidden), "403", "{path}: {forbidden}");
        assert!(forbidden.contains("<h1>403 Forbidden</h1>"), "{path}: {forbidden}");
    }
    let image = ["--header", "Sec-Fetch-Dest: image", "--header", "Sec-Fetch-Mode: no-cors"];
    let refused = visit(&nginx, "/pictures/", &image);
    assert!(refused.contains("Please wait in line first."), "the guard's own: {refused}");
}

/// The refusal is the guard's page, for which nginx asks it once more.
#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn nginx_waits_for_no_body_of_somebody_whom_the_guard_refuses() {
    let room = room();
    let guard = Guard::of(&room, &[]);
    let nginx = nginx(guard.port());
    let script = ["--header", "Sec-Fetch-Dest: empty", "--header", "Sec-Fetch-Mode: cors"];
    for said in ["Content-Length: 1000", "Transfer-Encoding: chunked"] {
        let at_once = ["--http1.1", "--max-time", "5", "--request", "POST", "--header", said];
        let refused = visit(&nginx, "/api", &[&at_once[..], &script].concat());
        assert_eq!(status(&refused), "403", "{said}: {refused}");
        assert!(refused.ends_with("Please wait in line first.\n"), "{said}: {refused}");
    }
    let mut upload = tempfile::NamedTempFile::new().unwrap();
    upload.write_all(&vec![b'a'; 900_000]).unwrap();
    let body = format!("@{}", upload.path().display());
    for version in ["--http1.1", "--http2"].repeat(10) {
        let refused = visit(&nginx, "/api", &[&[version, "--data-binary", &body][..], &script].concat());
        assert_eq!(status(&refused), "403", "{version}: {refused}");
    }
}

/// The blocks that the guides add to the shipped configuration.
#[test]
#[ignore = "needs nginx, curl and openssl: cargo xtask test beekeeper"]
fn nginx_takes_what_the_documentation_adds() {
    const GUARD: &str = include_str!("../../../../docs/guard.md");
    const SECURITY: &str = include_str!("../../../../docs/guard-security.md");
    const SHIPPED: &str = include_str!("../../../../docs/guard/nginx.conf");

    let block = |page: &'static str, begins: &str| {
        let mut blocks = console::blocks(page).into_iter().filter(|block| block.language == "nginx");
        blocks.find(|block| block.text.starts_with(begins)).unwrap_or_else(|| panic!("{begins}")).text
    };
    let (_, after) = SHIPPED.split_once("proxy_hide_header Beekeeper-Session;\n").unwrap();
    let (shipped, _) = after.split_once("        # The same for a visitor with a pass.").unwrap();
    let room = room();
    let guard = Guard::of(&room, &["--bypass-network", "203.0.113.7", "--trust-proxy", "127.0.0.1"]);
    let before_the_shop = |shipped: &str, server: &str| {
        let shop = "location / { return 200 'shop $request_uri'; }";
        Nginx::in_front_of_shop(guard.port(), shop, &[(shipped, server)]).unwrap()
    };
    let door = format!("{}/beekeeper", issuer(&room));
    let is_sent_away = |answer: &str| status(answer) == "303" && header(answer, "location") == Some(&door);

    let one_event = before_the_shop(shipped, &block(GUARD, "location / {"));
    assert!(visit(&one_event, "/tickets/7", &[]).contains("shop /tickets/7"), "the others are open");
    for spelled in
        ["/", "", ";x/7", "/7?a", "%2f7", "/../spring-sale/7"].map(|end| format!("/spring-sale{end}"))
    {
        let shouted = spelled.replace("spring-sale", "Spring-SALE");
        for path in [&*spelled, &shouted, &format!("/index.php{spelled}"), &format!("/{spelled}")] {
            let away = visit(&one_event, path, &[]);
            assert!(is_sent_away(&away), "{path}: {away}");
        }
    }
    // A Java shop reads these without their parameters.
    for path in ["/;x/spring-sale/", "/a/..;/spring-sale/", "/spring-sale;x"] {
        let away = visit(&one_event, path, &[]);
        assert!(is_sent_away(&away), "{path}: {away}");
    }
    assert!(visit(&one_event, "/spring-sales", &[]).contains("shop /spring-sales"), "another page");
    let session = set(&visit(&one_event, &format!("/spring-sale/?bk_pass={}", pass(&room)), &[]));
    let inside = visit(&one_event, "/spring-sale/", &["--header", &session]);
    assert!(inside.contains("shop /spring-sale/"), "{inside}");

    let balancer = block(SECURITY, "set_real_ip_from ").replace("10.0.0.0/16", "127.0.0.1");
    let health = block(SECURITY, "location = /up ");
    let behind = before_the_shop(shipped, &format!("{balancer}{health}{shipped}"));
    assert!(visit(&behind, "/up", &[]).contains("shop /up"), "the health check");
    let from =
        |address: &str| visit(&behind, "/tickets/7", &["--header", &format!("X-Forwarded-For: {address}")]);
    assert!(from("203.0.113.7").contains("shop /tickets/7"), "its network needs no session");
    assert!(is_sent_away(&from("203.0.113.8")));

    // Into an nginx that somebody has, the guide takes nothing of what our server has in front of `auth_request`.
    let (ours, _) = SHIPPED.split_once("        # All locations of the shop, also").unwrap();
    let (_, ours) = ours.split_once("privkey.pem;\n").unwrap();
    let theirs = before_the_shop(ours, "");
    let arrived = visit(&theirs, &format!("/sale?bk_pass={}", pass(&room)), &[]);
    assert_eq!((status(&arrived), header(&arrived, "location")), ("303", Some("/sale")), "{arrived}");
}
