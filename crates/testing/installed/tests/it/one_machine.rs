//! docs/one-machine.md, typed from its first line to its last on a Debian with a shop that has customers meanwhile.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use emulators::{browser, console, workspace};

use crate::container::{Container, copy};

const PAGE: &str = include_str!("../../../../../docs/one-machine.md");
const CERTBOT: &str = include_str!("../one_machine/certbot.sh");
const SHOP: &str = include_str!("../one_machine/shop.conf");

/// What isn't typed as the page has it, by how its line begins. The downloads are of this build, an editor is `sed`, certbot is
/// the test's own, Friday is soon, and whoever watches a room ends that.
const STAND_INS: [(&str, &str); 6] = [
    ("curl -fsSLO https://github.com/", "cp /opt/beekeeper_amd64.deb ."),
    ("sudo apt-get install ./beekeeper_amd64.deb certbot", "sudo apt-get install ./beekeeper_amd64.deb"),
    // The shipped file has the page's names.
    (
        "sudoedit /etc/beekeeper/room.toml",
        "sudo sed -i -E \"s/^# (join_limit|throttle|health) = /\\1 = /\" /etc/beekeeper/room.toml",
    ),
    // Sessions that end soon, so that the visitor's does.
    (
        "sudoedit /etc/beekeeper/guard.toml",
        "sudo sed -i -e \"s|^# bypass_path = .*|bypass_path = [\\\"/health\\\"]|\" -e \"s/^# idle = .*/idle = \\\"1m\\\"/\" /etc/beekeeper/guard.toml",
    ),
    (
        "sudoedit /etc/nginx/nginx.conf",
        "sudo sed -i -e \"1i worker_rlimit_nofile 65536;\" -e \"s/worker_connections [0-9]*;/worker_connections 20000;/\" /etc/nginx/nginx.conf",
    ),
    (
        "sudo beekeeper on --data /var/lib/beekeeper --at \"Friday 12:00\"",
        "sudo beekeeper on --data /var/lib/beekeeper --at \"in 40s\"",
    ),
];

/// What is answered when the screen shows it: each question, and what `status --watch` shows of itself.
const TO_A_QUESTION: (&str, &str) = ("(y/N)", "y\r");
const TO_A_WATCH: (&str, &str) = ("waiting", "q");

/// The lines of the blocks that the page says are typed here.
fn lines() -> Vec<String> {
    let typed = console::blocks(PAGE).into_iter().filter(|block| block.marker.contains("runs "));
    typed.flat_map(|block| block.text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// A Debian with nginx and a shop at https, and somebody who may use sudo.
fn machine_with_a_shop() -> Container {
    let machine = Container::boot_with_nginx();
    let write = |path: &str, text: &str| std::fs::write(machine.root().join(path), text).unwrap();
    write("usr/local/bin/certbot", CERTBOT);
    write("etc/nginx/sites-available/shop", SHOP);
    machine.run("mkdir -p /var/www/shop/tickets /root/authority /etc/letsencrypt/live");
    for (page, heading) in
        [("sale", "Sale"), ("tickets/7", "Ticket 7"), ("health", "Well"), ("missing", "Missing")]
    {
        write(
            &format!("var/www/shop/{page}.html"),
            &format!("<!doctype html><title>Shop</title><h1>{heading}</h1>\n"),
        );
    }
    for line in [
        "echo \"127.0.0.1 $(uname -n) shop.example wait.example\" >>/etc/hosts",
        "cd /root/authority && openssl req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 2 \
         -subj '/CN=an authority of a test' -keyout ca.key -out ca.pem",
        "cp /root/authority/ca.pem /usr/local/share/ca-certificates/test.crt && update-ca-certificates",
        "chmod +x /usr/local/bin/certbot && /usr/local/bin/certbot sign --domain shop.example",
        "ln -s ../sites-available/shop /etc/nginx/sites-enabled/shop && systemctl reload nginx",
        "useradd --create-home --shell /bin/bash anna && echo 'anna ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/anna",
    ] {
        machine.run(line);
    }
    copy(
        &workspace::target().join("release-files/beekeeper_amd64.deb"),
        &machine,
        "/opt/beekeeper_amd64.deb",
    );
    machine
}

/// Every file of the machine's own with its text, its owner and its mode.
fn listing(machine: &Container) -> String {
    const PLACES: &str = "/etc /usr /var/www /root";

    let find = format!("find {PLACES} -printf '%p %M %U:%G %l\\n' | sort");
    let sums = format!("find {PLACES} -type f -print0 | sort -z | xargs -0 sha256sum");
    machine.run(&format!("{find}; {sums}; ls --ignore=beekeeper --ignore=beekeeper-guard /var/lib"))
}

/// What a customer sees of the shop, who keeps cookies and follows redirects. A worker of nginx that is being replaced may close a
/// connection before it answers: a browser asks again, and nobody notices.
fn shop(machine: &Container) -> String {
    const CLOSED: [i32; 5] = [16, 35, 52, 56, 92];
    const CURL: &str = "curl --silent --show-error --max-time 20 --location --cookie /run/customer --cookie-jar /run/customer \
        https://shop.example/tickets/7";

    let first = machine.try_run(CURL);
    let is_closed = first.status.code().is_some_and(|code| CLOSED.contains(&code));
    let answer = if is_closed { machine.try_run(CURL) } else { first };
    format!("{}{}", String::from_utf8_lossy(&answer.stdout), String::from_utf8_lossy(&answer.stderr))
}

/// A browser that tells how far it is.
struct Visitor {
    browser: Child,
    tells: BufReader<ChildStdout>,
}

impl Visitor {
    fn come(machine: &Container, who: &str) -> Self {
        let mut node = machine.in_its_network();
        node.arg("env").arg(format!("NODE_PACKAGES={}/", browser::packages().unwrap().display()));
        node.arg(format!("CHROMIUM={}", browser::chromium().unwrap().display()));
        let script = workspace::root().join("crates/testing/installed/tests/one_machine/visit.js");
        let mut browser = node.arg("node").arg(script).arg(who).stdout(Stdio::piped()).spawn().unwrap();
        let tells = BufReader::new(browser.stdout.take().unwrap());
        Self { browser, tells }
    }

    /// Waits until it tells this.
    fn until(&mut self, what: &str) {
        let mut line = String::new();
        self.tells.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), what);
    }

    fn leave(mut self) {
        assert!(self.browser.wait().unwrap().success());
    }
}

#[test]
fn the_page_for_one_machine_is_typed_while_the_shop_answers() {
    let machine = machine_with_a_shop();
    let is_over = AtomicBool::new(false);
    let customers = thread::scope(|scope| {
        let (machine, is_over) = (&machine, &is_over);
        let customers = scope.spawn(move || {
            let mut answers = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                answers.push(shop(machine));
                thread::sleep(Duration::from_millis(100));
            }
            answers
        });
        // The customers go also if a line fails, or it would never end.
        let typed = catch_unwind(AssertUnwindSafe(|| type_the_page(machine)));
        is_over.store(true, Ordering::Relaxed);
        let customers = customers.join().unwrap();
        typed.unwrap_or_else(|failure| resume_unwind(failure));
        customers
    });
    let lost: Vec<_> = customers.iter().filter(|answer| !answer.contains("<h1>Ticket 7</h1>")).collect();
    assert!(lost.is_empty(), "{} of {}: {lost:?}", lost.len(), customers.len());
    assert!(customers.len() > 500, "{}", customers.len());
}

fn type_the_page(machine: &Container) {
    let begin = Instant::now();
    let mut unused = STAND_INS.map(|(line, _)| line).to_vec();
    let (mut before, mut visitor) = (None, None);
    let mut setups = 0;
    for line in lines().iter().map(String::as_str) {
        if line.starts_with("sudo systemctl enable --now beekeeper") && before.is_none() {
            before = Some(listing(machine));
        }
        let stand_in = STAND_INS.iter().find(|(begin, _)| line.starts_with(begin));
        if let Some((begin, _)) = stand_in {
            unused.retain(|unused| unused != begin);
        }
        let typed = stand_in.map_or(line, |(_, typed)| typed);
        let answer = if typed.ends_with("--watch") { TO_A_WATCH } else { TO_A_QUESTION };
        let shown = machine.type_line("anna", typed, answer);
        eprintln!("$ {typed}\n{shown}");
        if line == "sudo systemctl status beekeeper" {
            assert!(shown.contains("active (running)"), "{shown}");
        } else if line == "sudo beekeeper setup nginx" {
            setups += 1;
            assert!(shown.contains("nginx has read its new configuration"), "{shown}");
            assert!(!shown.contains("warning"), "the page has said what to write: {shown}");
            if setups == 2 {
                let mut browser = Visitor::come(machine, "operator");
                browser.until("shops");
                browser.leave();
            }
        } else if line.starts_with("sudo beekeeper doctor ") {
            // What belongs to the line above begins with a space.
            let unlike: Vec<_> =
                shown.lines().filter(|line| !line.starts_with("ok ") && !line.starts_with(' ')).collect();
            assert_eq!(unlike, ["spring-sale is ready: no problems, no warnings"], "{shown}");
        } else if line.starts_with("sudo beekeeper on ") {
            let mut browser = Visitor::come(machine, "customer");
            browser.until("waits");
            visitor = Some(browser);
        } else if line.ends_with(" --watch") {
            let mut browser = visitor.take().unwrap();
            browser.until("shops");
            browser.until("is back");
            browser.leave();
        }
        // As long as a person needs for the next line at least.
        thread::sleep(Duration::from_secs(1));
    }
    let minutes = begin.elapsed().as_secs_f64() / 60.0;
    assert_eq!((setups, unused), (3, Vec::new()), "the page has other lines than this test knows");
    let log = machine.run("journalctl --no-pager --output cat --unit 'beekeeper*'");
    let warned: Vec<_> =
        log.lines().filter(|line| [" WARN ", " ERROR "].iter().any(|word| line.contains(word))).collect();
    assert_eq!(warned, [""; 0], "nothing went wrong");
    let after = listing(machine);
    let [before, after] =
        [before.as_ref().unwrap(), &after].map(|listing| listing.lines().collect::<BTreeSet<_>>());
    assert_eq!(before.symmetric_difference(&after).collect::<Vec<_>>(), [&""; 0], "the machine is as it was");
    // Seen also if the test passes.
    let told = format!("docs/one-machine.md was typed in {minutes:.1} minutes\n");
    io::stderr().write_all(told.as_bytes()).unwrap();
}
