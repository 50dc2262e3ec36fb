//! `beekeeper list`, and the completion of names.

use std::process::Command;
use std::time::{Duration, Instant};

use emulators::free_port;
use http_contract::Client;
use rexpect::session::spawn_command;
use serde_json::{Value, json};

use crate::support::{Home, Local, text};

const SALE: &str =
    "title = \"Sale\"\nregion = \"eu-central-1\"\nshop = \"https://shop.example/sale\"\nrate = 300\n";

#[test]
fn rooms_here_and_configured_rooms_are_listed() {
    let home = Home::new();
    let none = "no rooms yet; try one with: beekeeper local; configure one with: beekeeper init\n";
    assert_eq!(home.printed(&["list"]), none);
    assert_eq!(
        (home.printed(&["list", "--json"]), home.printed(&["list", "--names"])),
        ("[]\n".into(), String::new())
    );

    home.write("spring-sale", SALE);
    home.write("broken", "rate = 0");
    drop(Local::start_at_home(&home, "ale").interrupt());
    // It has five digits.
    let port = free_port().unwrap();
    let flags = ["--url", "https://wait.example", "--port", &port.to_string()];
    let brew = Local::start_at_home_with(&home, "brew", &flags);
    home.printed(&["pause", "brew", "--local"]);
    // The pause is in force a second later. Until then visitors are still released.
    std::thread::sleep(Duration::from_secs(2));
    let client = Client::new(&format!("http://127.0.0.1:{port}"), "brew");
    client.get("/beekeeper");
    client.get("/beekeeper");
    assert_eq!(
        home.printed(&["list"]),
        format!(
            "room         on this machine                on AWS\n\
         ale          not running                    -\n\
         brew         port {port}, paused, 2 waiting  -\n\
         broken       -                              invalid file; see: beekeeper config broken\n\
         spring-sale  -                              eu-central-1, not deployed from here\n"
        )
    );
    assert_eq!(home.printed(&["list", "--names"]), "ale\nbrew\nbroken\nspring-sale\n");
    let listed: Value = serde_json::from_str(&home.masked(&home.printed(&["list", "--json"]))).unwrap();
    let here = json!({
        "kept_in": "~/.local/share/beekeeper/brew", "running": true, "port": port, "state": "paused", "waiting": 2,
    });
    assert_eq!(listed[1], json!({ "name": "brew", "here": here, "aws": null }));
    assert!(listed[2]["error"].as_str().unwrap().contains("rate: a rate is"), "{listed}");
    let aws = json!({ "region": "eu-central-1", "deployed": "unknown" });
    let sale =
        json!({ "name": "spring-sale", "here": null, "path": "~/beekeeper/spring-sale.toml", "aws": aws });
    assert_eq!(listed[3], sale);
    drop(brew);
}

#[test]
fn an_account_that_cannot_be_asked_is_no_failure() {
    let home = Home::new();
    home.write("spring-sale", &format!("{SALE}account = \"012345678901\"\n"));
    // Takes the connection, and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let keys = [("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test")];
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    for access in [&keys[..], &[("AWS_EC2_METADATA_DISABLED", "true")]] {
        let began = Instant::now();
        let mut list = home.command(&["list"]);
        let output = list.envs(access.iter().copied()).env("AWS_ENDPOINT_URL", &endpoint).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let said = text(&output.stdout);
        assert!(said.ends_with("\nspring-sale  -                eu-central-1, unknown\n"), "{said}");
        assert!(began.elapsed() < Duration::from_mins(1), "{:?}", began.elapsed());
    }
}

#[test]
fn bash_completes_the_name_of_a_room() {
    let home = Home::new();
    home.write("spring-sale", SALE);
    home.write("autumn", SALE);
    // bash shows what is typed only if the terminal did when bash started.
    let mut bash = Command::new("sh");
    bash.args(["-c", "stty echo cols 100 && exec bash --norc --noprofile -i"]);
    bash.env("PS1", "ready> ").env("TERM", "dumb");
    for (name, value) in home.command(&[]).get_envs() {
        if let Some(value) = value {
            bash.env(name, value);
        }
    }
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_beekeeper")).parent().unwrap();
    bash.env("PATH", format!("{}:{}", program.display(), std::env::var("PATH").unwrap()));
    let mut bash = spawn_command(bash, Some(20_000)).unwrap();
    let mut typed = |keys: &str, completed: &str| {
        // What is typed before the prompt would be shown before it is completed.
        bash.exp_string("ready> ").unwrap();
        bash.send(keys).unwrap();
        bash.flush().unwrap();
        bash.exp_string(completed).unwrap();
    };
    typed("source <(beekeeper completions bash)\r", "\r\n");
    // Tab is pressed twice: for the flag, and for the name.
    typed("beekeeper config --js\tspr\t\r", "beekeeper config --json spring-sale");
    // Ctrl-U empties the line.
    for command in ["status --local", "set-rate", "deploy", "local", "message"] {
        typed(&format!("beekeeper {command} au\t\u{15}\r"), &format!("beekeeper {command} autumn "));
    }
    typed("exit\r", "exit");
    bash.exp_eof().unwrap();
}
