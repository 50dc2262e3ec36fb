//! Runs docs/first-event.md, command by command, with the permissions that the docs list.

use std::fs;
use std::process::{Command, Output};
use std::time::Duration;

use deployed_rooms::{Operator, Running};
use emulators::{LocalEmu, Nginx, Options, console, stage_at};
use http_contract::Client;
use tempfile::TempDir;

const DOCUMENT: &str = include_str!("../../../../../../docs/first-event.md");
const SHOP: &str = "https://shop.example/sale";
/// The room's URL in the document.
const ROOM: &str = "https://a1b2c3d4e5.execute-api.us-east-1.amazonaws.com/prod";

#[test]
#[ignore = "needs LocalEmu, the function packages, nginx, curl, openssl and real minutes: cargo xtask test deployed"]
fn the_first_event_goes_as_told() {
    let aws: &LocalEmu = Box::leak(Box::new(LocalEmu::start(Options::default()).unwrap()));
    let operator = Operator::new(aws, "developer").unwrap();
    let before = operator.listing().unwrap();
    // No server answers at shop.example.
    let health = format!("{}/_localemu/health", aws.endpoint());
    let (mut room, mut guarded) = (String::new(), None);
    let commands = console::commands(DOCUMENT);
    assert!(commands.len() > 10, "{commands:?}");
    for (command, told) in commands {
        let told = console::without_seconds(&told);
        let typed = command.replace(ROOM, &room);
        let said = if let Some(guard) = typed.strip_prefix("beekeeper guard ") {
            let (shop, said) = GuardedShop::open(aws, &operator, guard, &room);
            guarded = Some(shop);
            said
        } else if let Some(curl) = typed.strip_prefix("curl ") {
            let shop = guarded.as_ref().unwrap();
            printed(&command, &shop.curl(&words(curl)))
        } else {
            let typed =
                typed.strip_prefix("beekeeper ").unwrap_or_else(|| panic!("{command}: who tries that?"));
            // On a Friday afternoon, Friday's noon is past.
            let typed = words(&typed.replace(SHOP, &health).replace("Friday 12:00", "tomorrow 12:00"));
            let typed: Vec<_> = typed.iter().map(String::as_str).collect();
            printed(&command, &operator.run(&typed).unwrap()).replace(&health, SHOP)
        };
        let door = said.lines().find_map(|line| line.strip_prefix("waiting room "));
        if let Some(url) = door.and_then(|url| url.trim().strip_suffix("/beekeeper")) {
            url.clone_into(&mut room);
        }
        let said = if room.is_empty() { said } else { said.replace(&room, ROOM) };
        assert!(
            console::is_as_told(&said, &told),
            "{command}\nis told to print\n{told}\nand printed\n{said}"
        );
        // After its last check by curl, the document sends its reader through the room.
        if command.contains("bk_pass=made.up.pass") {
            guarded.as_ref().unwrap().lets_in_who_waited(aws, &room);
        }
    }
    assert_eq!(operator.listing().unwrap(), before, "nothing is left");
}

fn words(typed: &str) -> Vec<String> {
    console::words(typed)
}

/// What a command printed, which must have succeeded.
fn printed(command: &str, output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{command}: {said}{}", String::from_utf8_lossy(&output.stderr));
    said.into_owned()
}

/// The shop behind nginx and the guard, as on Thursday.
struct GuardedShop {
    nginx: Nginx,
    _guard: Running,
    _keys: TempDir,
}

impl GuardedShop {
    /// Starts the guard with these arguments of the document. Returns what it printed.
    fn open(aws: &LocalEmu, operator: &Operator, typed: &str, room: &str) -> (Self, String) {
        // No server answers at the room's URL, so its keys are fetched here. And any port is as good as another.
        let keys = tempfile::tempdir().unwrap();
        let file = keys.path().join("jwks.json");
        let published = Client::new(&stage_at(&aws.endpoint(), room), "spring-sale");
        fs::write(&file, published.get("/.well-known/jwks.json").body).unwrap();
        let typed = format!("guard {typed} --listen 0 --keys {}", file.display());
        let typed = words(&typed);
        let typed: Vec<_> = typed.iter().map(String::as_str).collect();
        let (guard, said) = operator.started(&typed, "Ctrl-C").unwrap();
        let asked = said.lines().find(|line| line.ends_with("/auth-request")).unwrap();
        let port = asked.trim_end_matches("/auth-request").rsplit(':').next().unwrap().parse().unwrap();
        let nginx =
            Nginx::in_front_of_shop(port, "location / { return 200 'Welcome to the sale'; }", &[]).unwrap();
        (Self { nginx, _guard: guard, _keys: keys }, said)
    }

    /// curl, for which shop.example is this shop.
    fn curl(&self, arguments: &[String]) -> Output {
        let mut curl = Command::new("curl");
        curl.arg("--connect-to").arg(format!("shop.example:443:127.0.0.1:{}", self.nginx.https_port()));
        curl.arg("--cacert").arg(self.nginx.folder().join("certificate.pem")).args(arguments);
        curl.output().unwrap_or_else(|error| panic!("{error}; on Debian: apt-get install curl"))
    }

    /// A browser that waits in the room comes to the page, at a clean URL. The same link opens nothing for another.
    fn lets_in_who_waited(&self, aws: &LocalEmu, room: &str) {
        let visitor = Client::new(&stage_at(&aws.endpoint(), room), "spring-sale");
        let cookie = visitor.join();
        let pass = visitor.wait_for_pass(&cookie);
        let visit = |link: &str| {
            let arguments = [
                "--silent",
                "--location",
                "--max-redirs",
                "1",
                "--cookie",
                "",
                "--write-out",
                " %{url_effective}",
            ];
            let arguments = [&arguments[..], &[link]].concat().into_iter().map(str::to_owned);
            self.curl(&arguments.collect::<Vec<_>>())
        };
        let link = format!("{SHOP}?bk_pass={pass}");
        assert_eq!(printed(&link, &visit(&link)), format!("Welcome to the sale {SHOP}"));
        // A pass may be exchanged again for three seconds, because browsers repeat requests.
        std::thread::sleep(Duration::from_secs(4));
        let other = ["--silent", "--write-out", "%{redirect_url}", "--output", "/dev/null", &link];
        assert_eq!(printed(&link, &self.curl(&other.map(str::to_owned))), format!("{room}/beekeeper"));
    }
}
