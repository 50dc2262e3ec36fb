//! `beekeeper doctor`, of rooms on this machine with shops of every kind.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use emulators::free_port;
use http_contract::RoomUnderTest;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Home, Local, closed_pipe, eventually, text, web_server};

/// What the doctor said.
struct Diagnosis {
    code: i32,
    report: Value,
}

impl Diagnosis {
    fn of(output: &Output) -> Self {
        let (said, complaint) = (text(&output.stdout), text(&output.stderr));
        let report = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}{complaint}"));
        Self { code: output.status.code().unwrap(), report }
    }

    fn of_room(room: &Local, more: &[&str]) -> Self {
        Self::of(&room.command(&[&["doctor", "--local", "--json"], more].concat()))
    }

    /// Each check of this name: its result, what it found, and what to do.
    fn checks(&self, name: &str) -> Vec<(&str, &str, &str)> {
        let checks = self.report["checks"].as_array().unwrap().iter().filter(|check| check["name"] == name);
        checks
            .map(|check| {
                let [result, found] = ["result", "found"].map(|member| check[member].as_str().unwrap());
                (result, found, check["advice"].as_str().unwrap_or_default())
            })
            .collect()
    }

    fn only(&self, name: &str) -> (&str, &str, &str) {
        match self.checks(name)[..] {
            [only] => only,
            _ => panic!("{name}: {}", self.report),
        }
    }
}

/// A shop that answers like this to whoever has no pass, and like that to whoever brings one.
fn shop(without: &'static str, with: &'static str) -> String {
    web_server(move |path| if path.contains("bk_pass=") { with } else { without })
}

#[test]
fn a_room_with_a_guarded_shop_is_ready() {
    let shop = shop("403 Forbidden", "403 Forbidden");
    let room = Local::start(&["--shop", &shop]);
    let diagnosis = Diagnosis::of_room(&room, &["--visitors", "40"]);
    assert_eq!((diagnosis.code, &diagnosis.report["ready"]), (0, &Value::Bool(true)), "{}", diagnosis.report);
    for name in ["room", "crowd", "page", "keys", "way-around"] {
        assert_eq!(diagnosis.only(name).0, "ok", "{}", diagnosis.report);
    }
    let (result, unseen, what) = diagnosis.only("shop");
    assert!(
        result == "not-checked" && unseen.ends_with(" can't be seen from here"),
        "a guard may answer: {unseen}"
    );
    assert!(what.ends_with("needs no pass, with --throttle --health URL"), "{what}");
    assert!(
        diagnosis.only("page").1.ends_with(" kB") && diagnosis.only("page").1.contains("the built-in page")
    );
    assert!(diagnosis.checks("machine")[0].1.starts_with("the room can write to its file"));
    assert_eq!(diagnosis.only("clock").0, "not-checked", "there is no other clock");
    assert_eq!(room.status()["joined"], 0, "no place is taken");

    let off = room.command(&["off", "--local", "--yes"]);
    assert!(off.status.success(), "{off:?}");
    let diagnosis = Diagnosis::of_room(&room, &[]);
    let (result, found, _) = diagnosis.only("room");
    assert_eq!(result, "ok", "as its operator wants it: {found}");
    assert!(found.ends_with(": everybody goes straight to the shop until you turn it on"), "{found}");
}

#[test]
fn a_limit_of_active_visitors_that_no_guard_reports_to_is_a_warning() {
    let shop = shop("403 Forbidden", "403 Forbidden");
    let room = Local::start(&["--shop", &shop, "--active-visitors", "5"]);
    let diagnosis = Diagnosis::of_room(&room, &[]);
    let checks = diagnosis.checks("active");
    let [("warning", silent, what), ("warning", long, _)] = checks[..] else { panic!("{checks:?}") };
    assert!(
        (silent.starts_with("0 of 5, up to 5 more this minute, ") || silent.starts_with("0 of 5, by"))
            && silent.ends_with(", so everybody counts for 2 h 0 min"),
        "{silent}"
    );
    assert!(what.contains("beekeeper keys guard --data "), "{what}");
    assert!(long.ends_with(" a place in the shop for 60 min, and a little longer"), "{long}");
}

#[test]
fn every_check_is_a_line_with_what_to_do_below() {
    let room = Local::start(&["--shop", &shop("200 OK", "200 OK")]);
    let paused = room.command(&["pause", "--local"]);
    assert!(paused.status.success(), "{paused:?}");
    let output = room.command(&["doctor", "--local"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "warnings are allowed: {said}");
    let directory = room.directory.path().display();
    let paused = format!(
        "warning      room          paused, rate 60 a minute, 0 joined, 0 waiting: visitors join, and nobody is released
                           let it open by itself: beekeeper on --data {directory} --at TIME; or now: beekeeper on --data {directory}\n"
    );
    assert!(said.starts_with(&paused), "{said}");
    assert!(said.contains("\nwarning      way-around    "), "{said}");
    assert!(said.contains("\n                           put the guard in front of it"), "{said}");
    assert!(said.trim_end().lines().last().unwrap().starts_with("demo is ready: no problems, "), "{said}");
}

#[test]
fn a_shop_that_everybody_can_enter_is_found() {
    let open = Local::start(&["--shop", &shop("200 OK", "200 OK")]);
    let diagnosis = Diagnosis::of_room(&open, &[]);
    let (result, found, advice) = diagnosis.only("way-around");
    assert_eq!((diagnosis.code, result), (0, "warning"), "{}", diagnosis.report);
    assert!(found.contains("shows a page to everybody") && advice.contains("docs/guard.md"));
    assert!(diagnosis.only("shop").1.contains("0 of 20 requests failed"), "{}", diagnosis.report);

    let gullible = Local::start(&["--shop", &shop("403 Forbidden", "200 OK")]);
    let diagnosis = Diagnosis::of_room(&gullible, &[]);
    let (result, found, _) = diagnosis.only("way-around");
    assert_eq!((diagnosis.code, result), (1, "problem"), "{}", diagnosis.report);
    assert!(found.ends_with("lets in whoever brings any text as a pass"), "{found}");

    let signs_in = Local::start(&["--shop", &shop("401 Unauthorized", "401 Unauthorized")]);
    assert_eq!(Diagnosis::of_room(&signs_in, &[]).only("way-around").0, "ok");
}

/// init, local and doctor say so, before there is a guard that would send the shop's visitors round in a circle.
#[test]
fn a_shop_that_leads_on_to_another_host_is_warned_of() {
    let www = shop("200 OK", "200 OK").replace("127.0.0.1", "localhost");
    let on: &'static str =
        Box::leak(format!("301 Moved Permanently\r\nLocation: {www}/sale").into_boxed_str());
    let shop = shop(on, on);
    let mut room = Local::start(&["--shop", &shop]);
    let diagnosis = Diagnosis::of_room(&room, &[]);
    let found = diagnosis.checks("shop");
    let (result, found, advice) = found[found.len() - 1];
    assert_eq!((diagnosis.code, result), (0, "warning"), "{}", diagnosis.report);
    assert!(found.contains("sends visitors on to localhost") && advice.contains("--shop"), "{found}");
    let warning =
        "warning: the shop sends visitors on to localhost; if the shop is there, write that host into shop";
    assert!(room.log().any(|line| line == warning));
    let flags =
        ["--title", "Sale", "--shop", &shop, "--rate", "300", "--throttle", "--region", "eu-central-1"];
    let output = Home::new().run(&[&["init", "sale"][..], &flags].concat());
    assert!(text(&output.stderr).lines().any(|line| line == warning), "{}", text(&output.stderr));
}

#[test]
fn a_shop_that_does_not_answer_or_leads_back_is_a_problem() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let room = Local::start(&["--shop", &format!("http://{closed}/")]);
    let output = room.command(&["doctor", "--local"]);
    let (said, complaint) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("problem      shop "), "{said}");
    assert!(said.contains("20 of 20 requests failed, the last one: Connection refused"), "{said}");
    assert!(complaint.starts_with("error: demo is not ready: 1 problem, "), "{complaint}");
    for format in [&[][..], &["--json"]] {
        let mut unread = Command::new(env!("CARGO_BIN_EXE_beekeeper"));
        unread.args(["doctor", "--local", "--data"]).arg(room.directory.path()).args(format);
        let code = unread.stdout(closed_pipe()).output().unwrap().status.code();
        assert_eq!(code, Some(1), "{format:?}");
    }

    let other = Local::start(&["--shop", &shop("403 Forbidden", "403 Forbidden")]);
    let door = format!("{}/beekeeper", other.base());
    let circling = Local::start(&["--shop", &door]);
    let diagnosis = Diagnosis::of_room(&circling, &[]);
    assert!(diagnosis.only("way-around").1.contains("round in a circle"), "{}", diagnosis.report);

    let away: &'static str = Box::leak(format!("302 Found\r\nLocation: {door}").into_boxed_str());
    let elsewhere = Local::start(&["--shop", &shop(away, away)]);
    let diagnosis = Diagnosis::of_room(&elsewhere, &[]);
    assert_eq!((diagnosis.code, diagnosis.only("way-around").0), (1, "problem"), "{}", diagnosis.report);
    assert!(diagnosis.only("way-around").1.contains("another waiting room"), "{}", diagnosis.report);
}

#[test]
fn a_shop_without_a_page_is_a_problem_although_it_answers() {
    let room = Local::start(&["--shop", &shop("404 Not Found", "404 Not Found")]);
    let diagnosis = Diagnosis::of_room(&room, &[]);
    let found = diagnosis.checks("shop");
    assert_eq!((diagnosis.code, found[0].0, found[1].0), (1, "ok", "problem"), "{}", diagnosis.report);
    assert!(found[1].1.contains("answers 404"), "{}", diagnosis.report);
}

#[test]
fn a_shop_that_answers_a_made_up_pass_with_a_redirect_is_not_called_guarded() {
    // It may have set a cookie by which it lets the visitor in.
    let room = Local::start(&["--shop", &shop("403 Forbidden", "302 Found\r\nLocation: /")]);
    let diagnosis = Diagnosis::of_room(&room, &[]);
    let (result, found, _) = diagnosis.only("way-around");
    assert_eq!(result, "not-checked", "{}", diagnosis.report);
    assert!(found.contains("cannot be seen from here"), "{found}");
}

#[test]
fn a_throttle_that_measures_no_page_is_warned_of() {
    let guarded = Local::start(&["--shop", &shop("403 Forbidden", "403 Forbidden"), "--throttle"]);
    let diagnosis = Diagnosis::of_room(&guarded, &[]);
    let found = diagnosis.checks("shop");
    assert!(found[0].0 == "warning" && found[0].2.contains("--health"), "{}", diagnosis.report);
    assert!(found.iter().all(|(result, ..)| *result != "ok"), "{}", diagnosis.report);

    let shop = web_server(|path| if path == "/up" { "404 Not Found" } else { "403 Forbidden" });
    let health = format!("{shop}/up");
    let mistyped = Local::start(&["--shop", &shop, "--throttle", "--health", &health]);
    let diagnosis = Diagnosis::of_room(&mistyped, &[]);
    let (result, found, advice) = diagnosis.checks("shop")[1];
    assert_eq!((diagnosis.code, result), (0, "warning"), "{}", diagnosis.report);
    assert!(found.contains("answers 404") && advice.contains("--health"), "{}", diagnosis.report);
}

#[test]
fn a_shop_and_a_web_server_that_hang_are_problems() {
    // The system accepts connections, and nobody answers.
    let silent = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [shop, url] = silent.each_ref().map(|server| format!("http://{}", server.local_addr().unwrap()));
    let port = free_port().unwrap().to_string();
    let room = Local::start(&["--shop", &shop, "--url", &url, "--port", &port]);
    let diagnosis = Diagnosis::of_room(&room, &[]);
    let (result, found, _) = diagnosis.only("shop");
    assert_eq!((diagnosis.code, result), (1, "problem"), "{}", diagnosis.report);
    assert!(found.contains("20 of 20 requests failed"), "{found}");
    assert_eq!(diagnosis.only("way-around").0, "not-checked", "{}", diagnosis.report);
    for name in ["page", "keys"] {
        let (result, found, _) = diagnosis.only(name);
        assert_eq!(result, "problem", "{}", diagnosis.report);
        assert!(found.ends_with("does not answer within 5 seconds"), "{found}");
    }
}

#[test]
fn a_room_that_hangs_is_explained() {
    let room = Local::start(&["--shop", &shop("403 Forbidden", "403 Forbidden")]);
    room.signal("-STOP");
    let output = room.command(&["doctor", "--local"]);
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(
        complaint.starts_with("error: the room does not answer within 10 seconds\nhint: "),
        "{complaint}"
    );
}

#[test]
fn a_page_that_cannot_be_read_stops_no_other_check() {
    let home = Home::new();
    let shop = shop("403 Forbidden", "403 Forbidden");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("page.toml"), "accent = \"#123456\"\n").unwrap();
    home.write(
        "sale",
        &format!(
            "title = \"Sale\"\nregion = \"eu-central-1\"\nshop = \"{shop}\"\nrate = 60\npage = {:?}\n",
            folder.path().to_str().unwrap()
        ),
    );
    let _room = Local::start_at_home(&home, "sale");
    let diagnose = || Diagnosis::of(&home.run(&["doctor", "sale", "--local", "--json"]));
    let fine = diagnose();
    assert!(fine.only("page").0 == "ok" && fine.only("page").1.contains("is your page"), "{}", fine.report);
    fs::write(folder.path().join("page.toml"), "accent = \"#654321\"\n").unwrap();
    let changed = diagnose();
    assert_eq!((changed.code, changed.only("page").0), (0, "warning"), "{}", changed.report);
    fs::write(folder.path().join("page.toml"), "accent = \"bee\"\n").unwrap();
    let broken = diagnose();
    assert_eq!(
        (broken.code, broken.only("page").0, broken.only("keys").0),
        (1, "problem", "ok"),
        "{}",
        broken.report
    );
}

#[test]
fn a_rehearsal_that_was_left_behind_is_a_problem() {
    let room = Local::start(&["--shop", &shop("403 Forbidden", "403 Forbidden")]);
    let mut socket = UnixStream::connect(room.directory.path().join("control.sock")).unwrap();
    socket.write_all(b"{\"order\":\"rehearse\",\"mark\":\"abcdefghijkmnpqr\"}\n").unwrap();
    let mut reply = String::new();
    socket.read_to_string(&mut reply).unwrap();
    assert!(reply.contains("\"reply\":\"changed\""), "{reply}");
    let diagnosis = Diagnosis::of_room(&room, &[]);
    let (result, _, advice) = diagnosis.checks("room")[1];
    assert_eq!((diagnosis.code, result), (1, "problem"), "{}", diagnosis.report);
    assert!(advice.contains("beekeeper reset --data "), "{advice}");
    assert!(room.command(&["reset", "--local", "--yes"]).status.success());
    assert_eq!(Diagnosis::of_room(&room, &[]).only("room").0, "ok");
}

#[test]
fn a_shop_that_leads_to_its_own_room_is_guarded() {
    let port = free_port().unwrap();
    let door: &'static str =
        Box::leak(format!("302 Found\r\nLocation: http://localhost:{port}/beekeeper").into_boxed_str());
    let room = Local::start(&["--shop", &shop(door, door), "--port", &port.to_string()]);
    let diagnosis = Diagnosis::of_room(&room, &[]);
    assert_eq!(diagnosis.only("way-around").0, "ok", "{}", diagnosis.report);
    let status = text(&room.command(&["status", "--local"]).stdout);
    assert!(status.contains("joined         0\n"), "no place is taken: {status}");
}

#[test]
fn a_room_that_nobody_reaches_at_its_url_is_a_problem() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let room = free_port().unwrap().to_string();
    let url = format!("https://{closed}");
    let shop = shop("403 Forbidden", "403 Forbidden");
    let room_here = Local::start(&["--shop", &shop, "--url", &url, "--port", &room]);
    let diagnosis = Diagnosis::of_room(&room_here, &["--visitors", "20k"]);
    let (result, found, advice) = diagnosis.only("page");
    assert_eq!((diagnosis.code, result), (1, "problem"), "{}", diagnosis.report);
    assert!(found.contains("does not answer"), "{found}");
    assert!(advice.contains(&format!("127.0.0.1:{room}")), "{advice}");
    assert_eq!(diagnosis.checks("certificate")[0].0, "problem", "{}", diagnosis.report);
    let (result, found, _) = diagnosis.only("crowd");
    assert_eq!((result, found), ("warning", "at 60 a minute, the last of 20,000 people waits 5 h 34 min"));
    let unlimited =
        diagnosis.checks("machine").into_iter().any(|(_, _, advice)| advice.contains("--join-limit"));
    assert!(!unlimited, "the URL is one of this machine");
}

#[test]
fn before_the_first_deployment_the_shop_is_examined_also_without_credentials() {
    let home = Home::new();
    let shop = shop("200 OK", "200 OK");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    home.write(
        "sale",
        &format!("title = \"Sale\"\nregion = \"eu-central-1\"\nshop = \"{shop}\"\nrate = 60\n"),
    );
    let mut command = home.command(&["doctor", "sale", "--json"]);
    command.env("AWS_EC2_METADATA_DISABLED", "true").env("AWS_ENDPOINT_URL", format!("http://{closed}"));
    let diagnosis = Diagnosis::of(&command.stdin(Stdio::null()).output().unwrap());
    assert_eq!(diagnosis.code, 4, "{}", diagnosis.report);
    let (result, found, _) = diagnosis.only("credentials");
    assert!(result == "problem" && found.ends_with("; so only the shop is checked"), "{found}");
    assert!(diagnosis.only("shop").1.contains("is on this machine"), "{}", diagnosis.report);
    assert_eq!((&diagnosis.report["ready"], &diagnosis.report["deployed"]), (&false.into(), &false.into()));
}

#[test]
fn a_room_that_is_not_there_is_explained() {
    let home = Home::new();
    for (arguments, code, expected) in [
        (&["doctor"][..], 2, "error: no room is named"),
        (&["doctor", "sale"], 3, "error: there is no room sale"),
        (&["doctor", "--local"], 3, "error: could not reach the room demo: no room runs in"),
        (&["doctor", "--local", "Sale!"], 2, "error: invalid value 'Sale!'"),
        (&["doctor", "--local", "--visitors", "many"], 2, "error: invalid value 'many'"),
    ] {
        let (exit, complaint) = home.refused(arguments);
        assert_eq!(exit, code, "{arguments:?}: {complaint}");
        assert!(complaint.starts_with(expected), "{arguments:?}: {complaint}");
    }
}

/// A web server with a certificate of `localhost` that is valid for so many days.
struct SecureSite {
    process: Child,
    folder: TempDir,
    port: u16,
}

impl SecureSite {
    fn start(days: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]);
        openssl.args(["-days", &days.to_string(), "-subj", "/CN=localhost"]);
        openssl.args([
            "-addext",
            "subjectAltName=DNS:localhost",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ]);
        openssl.args(["-keyout", "key.pem", "-out", "certificate.pem"]).current_dir(folder.path());
        let made =
            openssl.output().unwrap_or_else(|error| panic!("{error}; on Debian: apt-get install openssl"));
        assert!(made.status.success(), "{}", text(&made.stderr));
        let port = free_port().unwrap();
        let mut serve = Command::new("openssl");
        serve.args(["s_server", "-quiet", "-www", "-cert", "certificate.pem", "-key", "key.pem", "-accept"]);
        serve.arg(format!("127.0.0.1:{port}")).current_dir(folder.path());
        let process = serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let site = Self { process, folder, port };
        eventually("openssl s_server listens", || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok());
        site
    }

    fn url(&self) -> String {
        format!("https://localhost:{}/", self.port)
    }
}

/// What the doctor says of the certificate of the room's shop, on a machine that trusts only what is in this file.
fn certificate(room: &Local, trusted: &Path) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_beekeeper"));
    command.args(["doctor", "--local", "--json", "--data"]).arg(room.directory.path());
    let diagnosis = Diagnosis::of(&command.env("SSL_CERT_FILE", trusted).output().unwrap());
    let (result, found, _) = diagnosis.checks("certificate")[1];
    (result.to_owned(), found.to_owned())
}

impl Drop for SecureSite {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

#[test]
#[ignore = "needs openssl: cargo xtask test beekeeper"]
fn a_certificate_that_ends_soon_or_that_nobody_trusts_is_found() {
    let soon = SecureSite::start(10);
    let room = Local::start(&["--shop", &soon.url()]);
    let own = soon.folder.path().join("certificate.pem");
    let (result, found) = certificate(&room, &own);
    assert_eq!(result, "warning", "{found}");
    assert!(found.starts_with("localhost: 9 days left, until 2"), "{found}");

    let long = SecureSite::start(100);
    let trusted = tempfile::tempdir().unwrap();
    let both = trusted.path().join("both.pem");
    let of = |site: &SecureSite| fs::read_to_string(site.folder.path().join("certificate.pem")).unwrap();
    fs::write(&both, of(&soon) + &of(&long)).unwrap();
    let room = Local::start(&["--shop", &long.url()]);
    let (result, found) = certificate(&room, &both);
    assert_eq!(result, "ok", "{found}");
    assert!(found.starts_with("localhost: valid, 99 days left, until 2"), "{found}");
    let (result, found) = certificate(&room, &own);
    assert_eq!(result, "problem", "{found}");
    assert!(
        found.starts_with(
            "localhost: browsers refuse it: this machine doesn't know who signed the certificate: "
        ),
        "{found}"
    );
}
