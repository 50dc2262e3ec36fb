//! `beekeeper init`: by flags, and in a terminal.

use std::fs;

use rexpect::process::WaitStatus;
use rexpect::session::PtySession;

use crate::support::{Home, Local, text, web_server, website};

fn flags(shop: &str) -> Vec<&str> {
    let mut flags = vec!["init", "spring-sale", "--title", "Seal's Spring Sale", "--region", "eu-central-1"];
    flags.extend(["--shop", shop, "--rate", "300", "--throttle"]);
    flags
}

#[test]
fn flags_are_answers_and_nothing_is_asked() {
    let home = Home::new();
    let site = website();
    let shop = format!("{site}/old");
    let output = home.run(&flags(&shop));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let next = if cfg!(feature = "aws") {
        "deploy it with: beekeeper deploy spring-sale"
    } else {
        "start it with: beekeeper local spring-sale"
    };
    assert_eq!(
        home.masked(&text(&output.stdout)),
        format!("spring-sale is configured in ~/beekeeper/spring-sale.toml\n{next}\n")
    );
    let said = text(&output.stderr);
    assert!(
        said.starts_with(&format!(
            "{site}/old redirects to {site}/sale (301)\n{site}/sale answers 200 after "
        )),
        "{said}"
    );
    let written = fs::read_to_string(home.config_file("spring-sale")).unwrap();
    assert!(written.starts_with("# The configuration of the waiting room spring-sale."), "{written}");
    assert!(written.contains(&format!("shop = \"{shop}\"\n\n# How many")), "{written}");
    let left: Vec<_> = fs::read_dir(home.config_file("x").parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing is left behind but the configuration file");
}

#[test]
fn init_of_an_existing_room_edits_it() {
    let home = Home::new();
    let shop = format!("{}/sale", website());
    home.printed(&flags(&shop));
    let before = fs::read_to_string(home.config_file("spring-sale")).unwrap();
    let again = |extra: &[&str]| home.printed(&[&["init", "spring-sale"], extra].concat());
    let unchanged =
        format!("nothing changed: {} says all of this already\n", home.config_file("spring-sale").display());
    assert_eq!(again(&[]), unchanged);
    assert_eq!(fs::read_to_string(home.config_file("spring-sale")).unwrap(), before);
    assert_eq!(again(&["--rate", "500", "--no-throttle"]), "rate: 300 -> 500\nthrottle: true -> false\n");
    assert_eq!(
        again(&["--health", "http://127.0.0.1:1/up"]),
        "health: not set -> \"http://127.0.0.1:1/up\"\n"
    );
    let described: serde_json::Value = serde_json::from_str(&again(&["--rate", "5", "--json"])).unwrap();
    assert_eq!((&described["created"], &described["rate"]), (&false.into(), &5.into()));
}

#[test]
fn init_of_a_running_room_says_that_the_room_is_unchanged() {
    let home = Home::new();
    let shop = format!("{}/sale", website());
    home.printed(&flags(&shop));
    let said = |arguments: &[&str]| text(&home.run(&[&["init", "spring-sale"], arguments].concat()).stderr);
    assert_eq!(said(&["--rate", "400"]), "", "it does not run");
    let _room = Local::start_at_home(&home, "spring-sale");
    let unchanged = said(&["--rate", "500"]);
    assert!(
        unchanged.contains(
            "spring-sale runs on this machine, and is unchanged: it reads this file when it starts"
        ),
        "{unchanged}"
    );
    // Which flags it had, nobody knows here.
    assert!(unchanged.contains("start it again by the command that you started it with, and"), "{unchanged}");
    assert!(!unchanged.contains("beekeeper local"), "{unchanged}");
    assert!(unchanged.contains("beekeeper set-rate --local spring-sale 500"), "{unchanged}");
    assert_eq!(said(&["--rate", "500"]), "", "nothing changed in the file either");
    assert_eq!(home.printed(&["init", "spring-sale", "--no-throttle"]), "throttle: true -> false\n");
    let status = home.printed(&["status", "spring-sale", "--local", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["room"]["settings"]["rate"], 400, "as it was when it started: {status}");
}

#[test]
fn an_invalid_answer_is_refused_with_the_reason() {
    let home = Home::new();
    for (flag, answer, reason) in [
        ("--title", "", "a title is 1 to 100 characters on one line"),
        ("--region", "Atlantis", "must be a code like eu-central-1, or a place like Frankfurt"),
        (
            "--shop",
            "shop.example",
            "not a URL, because it has no https://; write it in full, such as https://shop.example/sale",
        ),
        ("--shop", "ftp://shop.example", "the URL must begin with http:// or https://, not ftp://"),
        ("--rate", "0", "a rate is a whole number of visitors a minute, from 1 to 270000"),
        ("--rate", "1,200", "from 1 to 270000, like 1200 or 3k"),
        ("--rate", "270001", "a rate is a whole number of visitors a minute, from 1 to 270000"),
    ] {
        let (code, said) = home.refused(&["init", "sale", flag, answer]);
        assert_eq!(code, 2);
        assert!(said.contains(reason), "{flag}: {said}");
    }
    let (code, said) = home.refused(&["init", "sale", "--throttle", "--no-throttle"]);
    let conflict = "the argument '--throttle' cannot be used with '--no-throttle'";
    assert!(code == 2 && said.contains(conflict), "{said}");
    let (code, said) = home.refused(&["init", "My Room"]);
    assert!(code == 2 && said.contains("a room's name is 1 to 30 lower-case letters, digits and hyphens"));
    let expected = "error: missing for a new room: --title, --shop, --throttle or --no-throttle\nhint: add the flags, or run the command in a terminal to be asked\n";
    assert_eq!(
        home.refused(&["init", "sale", "--rate", "5", "--region", "eu-central-1"]),
        (2, expected.into())
    );
    let (code, said) = home.refused(&["init"]);
    assert!(code == 2 && said.contains("missing for a new room: NAME"), "{said}");
}

#[test]
fn a_shop_that_does_not_answer_is_kept_only_with_yes() {
    let home = Home::new();
    let shop = "http://127.0.0.1:1/sale";
    let (code, said) = home.refused(&flags(shop));
    assert_eq!(code, 6);
    assert!(said.starts_with(&format!("{shop} does not answer: ")), "{said}");
    assert!(said.ends_with(&format!(
        "error: visitors would see no page at {shop}\nhint: nothing was written; to keep the URL anyway, add --yes\n"
    )), "{said}");
    assert!(!home.config_file("spring-sale").exists());
    home.printed(&[&flags(shop)[..], &["--yes"]].concat());
    assert!(home.config_file("spring-sale").exists());
}

#[test]
fn an_edge_is_a_flag_and_is_refused_where_there_can_be_none() {
    let home = Home::new();
    home.printed(&flags(&format!("{}/sale", website())));
    assert_eq!(home.printed(&["init", "spring-sale", "--edge", "yes"]), "edge: not set -> \"yes\"\n");
    for (edge, expected) in
        [("moving", "edge: \"moving\" needs domain"), ("on", "must be \"no\", \"moving\" or \"yes\"")]
    {
        let (code, said) = home.refused(&["init", "spring-sale", "--edge", edge]);
        assert!(code == 2 && said.contains(expected), "{said}");
    }
}

#[test]
fn an_empty_text_removes_an_optional_setting() {
    let home = Home::new();
    let shop = format!("{}/sale", website());
    home.printed(&flags(&shop));
    let page = tempfile::tempdir().unwrap();
    fs::write(page.path().join("page.toml"), "accent = \"#b3261e\"").unwrap();
    let folder = page.path().to_str().unwrap();
    for (flag, value) in
        [("--health", "https://shop.example/up"), ("--aws-profile", "events"), ("--page", folder)]
    {
        let key = flag.trim_start_matches("--").replace('-', "_");
        let set = |value: &str| home.printed(&["init", "spring-sale", flag, value]);
        assert_eq!(set(value), format!("{key}: not set -> \"{value}\"\n"));
        assert_eq!(set(""), format!("{key}: \"{value}\" -> not set\n"));
        assert!(set("").starts_with("nothing changed: "));
        // The file can be read.
        home.printed(&["config", "spring-sale"]);
    }
}

#[test]
fn a_shop_that_is_a_waiting_room_is_refused() {
    let home = Home::new();
    let room = Local::start(&[]);
    let door = format!("{}/beekeeper", room.url);
    let (code, said) = home.refused(&[&flags(&door)[..], &["--yes"]].concat());
    assert_eq!(code, 2);
    let expected =
        format!("error: {door} is a waiting room: visitors who are admitted there would be sent round");
    assert!(said.contains(&expected), "{said}");
    assert!(!home.config_file("spring-sale").exists());

    let shop = format!("{}/sale", website());
    home.printed(&flags(&shop));
    let mut file = fs::read_to_string(home.config_file("spring-sale")).unwrap();
    file += "domain = \"queue.shop.example\"\ncertificate = \"arn:aws:acm:eu-central-1:1:certificate/1\"\n";
    home.write("spring-sale", &file);
    let own_domain = ["init", "spring-sale", "--yes", "--shop", "https://queue.shop.example/sale"];
    let (code, said) = home.refused(&own_domain);
    assert!(code == 2 && said.contains("domain: is the shop's own name; give the room another"), "{said}");
}

#[test]
fn a_shop_that_refuses_visitors_without_a_pass_is_protected_as_recommended() {
    let home = Home::new();
    let shop = web_server(|_| "403 Forbidden");
    let output = home.run(&flags(&shop));
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("protected as recommended: the shop refuses visitors without a pass\n"), "{said}");
    let hint = format!(
        "warning: the throttle cannot measure {shop}/, because it has no pass; give it a URL that needs none with --health URL\n"
    );
    assert!(said.contains(&hint), "{said}");
    let output = home.run(&[&flags(&shop)[..], &["--health", "https://shop.example/up"]].concat());
    assert!(!text(&output.stderr).contains("cannot measure"), "{}", text(&output.stderr));
}

#[cfg(feature = "aws")]
#[test]
fn a_shop_on_this_machine_is_flagged_for_a_room_on_aws() {
    let home = Home::new();
    let shop = format!("{}/sale", website());
    let warning =
        format!("warning: {shop} is on this machine; a room on AWS and its visitors cannot reach it\n");
    let first = home.run(&flags(&shop));
    assert!(first.status.success() && text(&first.stderr).ends_with(&warning), "{}", text(&first.stderr));
    let again = home.run(&["init", "spring-sale", "--rate", "5"]);
    assert_eq!(text(&again.stderr), "", "it was said");
}

#[test]
fn a_region_that_is_not_in_the_list_is_accepted_with_a_warning() {
    let home = Home::new();
    let shop = format!("{}/sale", website());
    home.printed(&flags(&shop));
    let output = home.run(&["init", "spring-sale", "--region", "eu-east-9"]);
    let warning = "warning: unknown region eu-east-9; check the spelling\n";
    assert_eq!(text(&output.stderr), warning);
    assert_eq!(text(&output.stdout), "region: \"eu-central-1\" -> \"eu-east-9\"\n");
    let by_its_place = home.printed(&["init", "spring-sale", "--region", "Frankfurt"]);
    assert_eq!(by_its_place, "region: \"eu-east-9\" -> \"eu-central-1\"\n");
}

#[test]
fn a_region_with_a_letter_too_much_is_refused() {
    let home = Home::new();
    let shop = format!("{}/sale", website());
    home.printed(&flags(&shop));
    let (code, said) = home.refused(&["init", "spring-sale", "--region", "eu-centrall-1", "--yes"]);
    assert!(code == 2 && said.contains("is unknown; did you mean eu-central-1?"), "{said}");
}

/// No credentials are needed to say that.
#[test]
fn a_program_without_functions_says_so_before_anybody_signs_in() {
    let home = Home::new();
    let file = "title = \"Sale\"\nregion = \"eu-central-1\"\nshop = \"http://127.0.0.1:9\"\nrate = 300\narchitecture = \"arm64\"\n";
    home.write("sale", file);
    let lacks = "this program contains no function package";
    for order in [&["deploy", "sale", "--yes"][..], &["deploy", "sale", "--dry-run"]] {
        let (code, said) = home.refused(order);
        assert!(code == 1 && said.contains(lacks) && said.contains("cargo xtask dist"), "{said}");
    }
    let mut doctor = home.command(&["doctor", "sale"]);
    doctor.env("AWS_EC2_METADATA_DISABLED", "true");
    let said = text(&doctor.output().unwrap().stdout);
    let at = |text: &str| said.find(text).unwrap_or_else(|| panic!("{text}: {said}"));
    assert!(at(lacks) < at("credentials"), "{said}");
}

/// Keys that replace the text in the answer line.
fn corrected(there: &str, typed: &str) -> String {
    "\u{7f}".repeat(there.len()) + typed
}

/// Waits for the question, and answers it.
fn reply(person: &mut PtySession, question: &str, answer: &str) {
    person.exp_string(question).unwrap();
    person.send(answer).unwrap();
    person.send("\r").unwrap();
    person.flush().unwrap();
}

/// What is asked of somebody who has named the room.
const QUESTIONS: [&str; 5] = [
    "Title that visitors see:",
    "AWS region:",
    "URL of the shop:",
    "How many visitors may enter a minute?",
    "Lower the rate while the shop is slow or fails?",
];

#[test]
fn the_pages_count_the_questions() {
    const PAGES: [&str; 3] = [
        include_str!("../../../README.md"),
        include_str!("../../../docs/aws.md"),
        include_str!("../../../docs/first-event.md"),
    ];
    assert_eq!(QUESTIONS.len(), 5);
    for page in PAGES {
        assert!(page.contains("five questions"), "{page}");
        for other in ["four questions", "six questions", "seven questions"] {
            assert!(!page.contains(other), "{other}");
        }
    }
}

#[test]
fn a_person_is_asked_for_the_name_and_five_questions() {
    let [title, region, shop, rate, throttle] = QUESTIONS;
    let home = Home::new();
    let site = website();
    let mut person = home.person(&["init"]);
    reply(&mut person, "Short name of the room:", "My Room");
    // Refused with the reason. The answer can be corrected.
    person.exp_string("a room's name is 1 to 30").unwrap();
    // Ctrl-U empties the line.
    person.send("\u{15}spring-sale\r").unwrap();
    person.flush().unwrap();
    reply(&mut person, title, "Seal's Spring Sale");
    person.exp_string(region).unwrap();
    person.send("frank\t\r").unwrap();
    person.flush().unwrap();
    reply(&mut person, shop, "http://127.0.0.1:1/sale");
    person.exp_string("does not answer").unwrap();
    reply(&mut person, "Keep this URL?", "n");
    person.exp_string(shop).unwrap();
    person.send(&corrected("http://127.0.0.1:1/sale", &format!("{site}/old\r"))).unwrap();
    person.flush().unwrap();
    person.exp_string("(301)").unwrap();
    reply(&mut person, rate, "300");
    reply(&mut person, throttle, "y");
    person.exp_string("spring-sale is configured in").unwrap();
    person.exp_eof().unwrap();
    let shown = home.printed(&["config", "spring-sale"]);
    for line in ["Seal's Spring Sale", "eu-central-1  Frankfurt", &format!("{site}/old"), "300", "true"] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
}

#[test]
fn asked_again_the_answers_are_defaults_and_ctrl_c_leaves_the_old_file() {
    let home = Home::new();
    let shop = format!("{}/sale", website());
    home.printed(&flags(&shop));
    let before = fs::read(home.config_file("spring-sale")).unwrap();
    let mut person = home.person(&["init", "spring-sale"]);
    person.exp_string("is already configured").unwrap();
    reply(&mut person, "Seal's Spring Sale", " 2");
    reply(&mut person, "eu-central-1", "");
    person.exp_string(&shop).unwrap();
    person.send("\u{3}").unwrap();
    person.flush().unwrap();
    person.exp_string("error: interrupted; nothing was changed").unwrap();
    person.exp_eof().unwrap();
    assert!(matches!(person.process().wait().unwrap(), WaitStatus::Exited(_, 5)));
    assert_eq!(fs::read(home.config_file("spring-sale")).unwrap(), before);
}
