//! Custom pages.

use std::fs;

use emulators::{console, free_port};
use http_contract::Client;

use crate::support::{Local, operate, text};

const GUIDE: &str = include_str!("../../../docs/page.md");

/// The folder of docs/page.md, and one image more.
#[test]
fn a_folder_with_a_colour_and_a_logo_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let blocks = console::blocks(GUIDE);
    let file = blocks.iter().find(|block| block.language == "toml").unwrap();
    fs::write(folder.path().join("page.toml"), &file.text).unwrap();
    let commands = console::commands(GUIDE);
    let [(ls, listed), (start, _)] = &commands[..] else { panic!("{commands:?}") };
    assert_eq!(
        (ls.as_str(), listed.as_str(), start.as_str()),
        ("ls branding", "bee.svg  page.toml\n", "beekeeper local --page branding")
    );
    for image in ["bee.svg", "meadow.svg"] {
        fs::write(folder.path().join(image), "<svg xmlns=\"http://www.w3.org/2000/svg\"/>").unwrap();
    }
    let room = Local::start(&["--page", folder.path().to_str().unwrap()]);
    let client = Client::new(&room.url, "demo");
    for path in ["/wait/index.html", "/preview/paused/wait/index.html"] {
        let page = client.get(path);
        assert!(page.body.contains("<img class=\"logo\" src=\"data:image/svg+xml;base64,"), "{path}");
        assert!(page.body.contains("--accent: #b3261e;"), "{path}");
    }
    assert_eq!(client.get("/wait/meadow.svg").header("content-type"), Some("image/svg+xml"));

    fs::write(folder.path().join("page.toml"), "accent = \"reddish\"").unwrap();
    let preview = client.get("/preview/paused/wait/index.html");
    assert!(preview.body.contains("page.toml: accent: must be a colour such as #b26a00"), "{}", preview.body);
    assert_eq!(client.get("/wait/index.html").status, 200, "the room keeps the page it was started with");
}

#[test]
fn a_page_that_cannot_be_shown_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let page = "<head></head><body><p data-bk=state><script src=//cdn.example/x.js></script></body>";
    fs::write(folder.path().join("index.html"), page).unwrap();
    let data = tempfile::tempdir().unwrap();
    let output = operate(data.path(), &["local", "--port", "0", "--page", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    for complaint in ["index.html: has <script>", "index.html: has no element \"when\""] {
        assert!(said.contains(complaint), "{said}");
    }
}

#[test]
fn a_browser_at_a_wrong_address_gets_a_page_that_leads_to_the_door() {
    let room = Local::start(&[]);
    let client = Client::new(&room.url, "demo");
    let browser = ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8");
    for (path, door) in [
        ("/beekeper", "\"beekeeper\""),
        ("/beekeeper/", "\"../beekeeper\""),
        ("/wait/a/b", "\"../../beekeeper\""),
    ] {
        let answer = client.send("GET", path, &[browser]);
        assert_eq!((answer.status, answer.header("content-type")), (404, Some("text/html; charset=utf-8")));
        assert!(answer.body.contains(&format!("<a href={door}>")), "{path}: {}", answer.body);
    }
    for other in ["application/json", "*/*", "text/htmlx"] {
        let answer = client.send("GET", "/beekeper", &[("Accept", other)]);
        assert!(answer.status == 404 && answer.json()["error"].is_string(), "{other}: {}", answer.body);
    }
}

#[test]
fn a_public_room_has_no_preview() {
    let room = Local::start(&[]);
    assert_eq!(Client::new(&room.url, "demo").get("/preview/").status, 200);
    let (directory, _) = room.interrupt();
    let port = free_port().unwrap();
    let room = Local::start_in(directory, &["--url", "https://wait.example", "--port", &port.to_string()]);
    let behind = Client::new(&format!("http://127.0.0.1:{port}"), "demo");
    assert_eq!(behind.get("/preview/").status, 404);
    drop(room);
}
