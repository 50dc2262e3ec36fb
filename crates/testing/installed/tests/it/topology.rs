//! What `docker compose up` starts, as processes of this machine: the program of this release and Caddy, with the shipped commands.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use emulators::{Caddy, ScriptServer, free_port, workspace};

use crate::installer::{Machine, Said, on_path};
use crate::releases::Releases;

const CADDYFILE: &str = include_str!("../../../../../infra/release/compose/Caddyfile");
const COMPOSE: &str = include_str!("../../../../../infra/release/compose/compose.yaml");
const INSTALL: &str = include_str!("../../../../../docs/install.md");
const KUBERNETES: &str = include_str!("../../../../../infra/release/kubernetes.yaml");
const TRY: &str = include_str!("../../../../../infra/release/compose/compose.override.yaml");

/// The guard asks every ten seconds for a room that was not there yet.
const PATIENCE: Duration = Duration::from_mins(1);

/// The command of a service, one argument a line.
fn command_of(compose: &str, service: &str) -> Vec<String> {
    list_after(compose, &format!("\n  {service}:\n"), "    command:\n")
}

/// The list below a key that comes after another text.
fn list_after(text: &str, after: &str, key: &str) -> Vec<String> {
    let lines = text.split(after).nth(1).unwrap().split(key).nth(1).unwrap().lines();
    let of_list =
        lines.map(str::trim_start).take_while(|line| line.starts_with("- ") || line.starts_with('#'));
    of_list.filter_map(|line| line.strip_prefix("- ")).map(str::to_owned).collect()
}

/// A service with the command that is shipped, except what depends on the machine.
fn start(name: &str, program: &Path, here: &[(&str, String)]) -> ScriptServer {
    ScriptServer::start(name, program, |command, port| {
        let own = [
            ("0.0.0.0:9180", format!("127.0.0.1:{}", free_port().unwrap())),
            ("/var/lib/beekeeper", name.to_owned()),
        ];
        let listens = ["0.0.0.0:8080", "0.0.0.0:8090"].map(|at| (at, format!("127.0.0.1:{port}")));
        for argument in command_of(TRY, name) {
            let changes = here.iter().chain(&own).chain(&listens);
            command.arg(changes.fold(argument, |text, (shipped, here)| text.replace(shipped, here)));
        }
    })
    .unwrap()
}

/// A browser, which keeps its cookies in a file.
struct Browser(tempfile::TempPath);

impl Browser {
    /// Follows redirects; the page and the headers on the way to it.
    fn get(&self, url: &str) -> (String, String) {
        let mut curl = Command::new(on_path("curl"));
        curl.args(["--silent", "--location", "--dump-header", "/dev/stderr", "--cookie"]).arg(&*self.0);
        let said = Said::of(curl.arg("--cookie-jar").arg(&*self.0).arg(url).output().unwrap());
        (said.out, said.err)
    }
}

#[test]
fn a_visitor_waits_and_enters_the_shop() {
    let machine = Machine::with(&["curl"]);
    assert!(machine.install(&Releases::of_this_build(), &[]).well);
    let program = machine.program();
    let [wait, shop] = [(); 2].map(|()| format!("http://127.0.0.1:{}", free_port().unwrap()));
    let here = [
        ("http://wait.localhost", wait.clone()),
        ("http://shop.localhost", shop.clone()),
        ("10.213.80.0/29", "127.0.0.1".to_owned()),
    ];
    let room = start("room", &program, &here);
    let guard = start("guard", &program, &here);
    let pages = workspace::root().join("infra/release/compose/shop");
    let pages = format!(
        "http://127.0.0.1:{} {{\n\troot * {}\n\ttemplates\n\tfile_server\n}}",
        free_port().unwrap(),
        pages.display()
    );
    let shop_itself = pages.split(' ').next().unwrap().to_owned();
    // Caddy's own port is that of a page, which says when it's up.
    let caddyfile = format!("{CADDYFILE}\nready {{\n\trespond ready\n}}\n{pages}\n");
    let changes = [
        ("{$WAIT}", &*wait),
        ("{$SHOP}", &shop),
        ("room:8080", &format!("127.0.0.1:{}", room.port())),
        ("guard:8090", &format!("127.0.0.1:{}", guard.port())),
        ("shop:3000", &shop_itself),
    ];
    let caddy = Caddy::with_shipped(&caddyfile, "ready", &changes).unwrap();

    let browser = Browser(tempfile::NamedTempFile::new().unwrap().into_temp_path());
    let first = browser.get(&format!("{shop}/"));
    assert!(first.1.contains(&format!("{wait}/beekeeper")), "to the room: {first:?}");
    let begin = Instant::now();
    let entered = loop {
        let (page, headers) = browser.get(&format!("{shop}/"));
        if page.contains("You're in") {
            break page;
        }
        assert!(begin.elapsed() < PATIENCE, "{headers}\n{page}\n{}", caddy.log().unwrap());
        thread::sleep(Duration::from_millis(200));
    };
    assert!(entered.contains("Your number in line was 1."), "{entered}");
    assert!(browser.get(&format!("{shop}/")).0.contains("was 1."), "and stays in");

    let health = COMPOSE.split("test: [CMD, /beekeeper, ").nth(1).unwrap().split(']').next().unwrap();
    let data = room.folder().join("room");
    let is_well = || {
        let health = health.replace("/var/lib/beekeeper", data.to_str().unwrap());
        Command::new(&program).args(health.split(", ")).output().unwrap().status.success()
    };
    assert!(is_well());
    drop(room);
    assert!(!is_well());
    let (page, headers) = browser.get(&format!("{wait}/beekeeper"));
    assert!(
        page.contains("The waiting room is starting again") && headers.contains("503"),
        "{headers}\n{page}"
    );
    assert!(browser.get(&format!("{shop}/")).0.contains("was 1."), "whoever is in stays in");
}

/// The try differs from the real one only in the addresses and the title, and in https.
#[test]
fn the_try_is_the_real_one_by_http() {
    for service in ["room", "guard"] {
        let real = command_of(COMPOSE, service).into_iter().map(|argument| {
            let here = argument.replace("https://", "http://").replace(".example", ".localhost");
            here.replace("Our sale", "A try")
        });
        let tried = command_of(TRY, service).into_iter().filter(|argument| argument != "--http");
        assert_eq!(tried.collect::<Vec<_>>(), real.collect::<Vec<_>>(), "{service}");
    }
}

/// In the containers root has no privileges, so it reads what everybody may read, whatever the umask of who unpacked it.
#[test]
fn caddy_can_read_what_was_unpacked_with_any_umask() {
    let (_, unpack) = INSTALL.split_once("/beekeeper-compose.tar.gz | ").unwrap();
    let line = format!("umask 077; {}", unpack.lines().next().unwrap());
    let archive = File::open(workspace::target().join("release-files/beekeeper-compose.tar.gz")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    let unpacked = shell.args(["-c", &line]).current_dir(folder.path()).stdin(archive).status().unwrap();
    assert!(unpacked.success());
    for (path, expected) in [("Caddyfile", 0o644), ("shop", 0o755), ("shop/index.html", 0o644)] {
        let found = folder.path().join("beekeeper-compose").join(path).metadata().unwrap();
        assert_eq!(found.permissions().mode() & 0o777, expected, "{path}");
    }
}

/// Kubernetes runs the same. Which proxy to trust depends on the cluster.
#[test]
fn kubernetes_runs_what_compose_does() {
    for service in ["room", "guard"] {
        let container = list_after(KUBERNETES, &format!("        - name: {service}\n"), "          args:\n");
        let mut compose = command_of(COMPOSE, service);
        compose.retain(|argument| !argument.starts_with("--trust-proxy="));
        assert_eq!(container, compose, "{service}");
    }
}

/// Without the guard nobody enters the shop, so it stays where it is too.
#[test]
fn kubernetes_moves_neither_pod_to_save_a_node() {
    let templates: Vec<_> = KUBERNETES.split("\n  template:\n").skip(1).collect();
    assert_eq!(templates.len(), 2);
    for template in templates {
        let (metadata, _) = template.split_once("\n    spec:\n").unwrap();
        for annotation in [
            "cluster-autoscaler.kubernetes.io/safe-to-evict: \"false\"",
            "karpenter.sh/do-not-disrupt: \"true\"",
        ] {
            assert!(metadata.lines().any(|line| line.trim() == annotation), "{annotation}:\n{metadata}");
        }
    }
}
