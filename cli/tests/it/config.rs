//! Configuration files, and mistakes in them.

use emulators::console;

use crate::support::Home;

const SALE: &str = "title = \"Seal's Spring Sale\"\nregion = \"eu-central-1\"\nshop = \"https://shop.example/sale\"\nrate = 300\nlog_days = 30\n";

#[test]
fn they_are_listed_and_shown() {
    let home = Home::new();
    assert_eq!(home.printed(&["config"]), "no rooms yet; configure one with: beekeeper init\n");
    assert_eq!(home.printed(&["config", "--json"]), "[]\n");
    home.write("spring-sale", SALE);
    home.write("autumn", &SALE.replace("eu-central-1", "us-west-2"));
    home.write("broken", "rate = 0");
    home.write("No Room", SALE);
    assert_eq!(
        home.masked(&home.printed(&["config"])),
        "autumn       us-west-2       300 a minute to https://shop.example/sale\n\
         broken       ~/beekeeper/broken.toml is invalid; see: beekeeper config broken\n\
         spring-sale  eu-central-1    300 a minute to https://shop.example/sale\n"
    );
    let shown = home.masked(&home.printed(&["config", "spring-sale"]));
    assert_eq!(
        shown,
        "spring-sale, in ~/beekeeper/spring-sale.toml
  title                Seal's Spring Sale
  shop                 https://shop.example/sale
  rate                 300
  throttle             false
  region               eu-central-1  Frankfurt
  log_days             30
"
    );
    let json = |arguments: &[&str]| {
        serde_json::from_str::<serde_json::Value>(&home.masked(&home.printed(arguments))).unwrap()
    };
    let sale = serde_json::json!({
        "name": "spring-sale", "path": "~/beekeeper/spring-sale.toml", "title": "Seal's Spring Sale",
        "region": "eu-central-1", "shop": "https://shop.example/sale", "rate": 300, "throttle": false, "log_days": 30,
    });
    assert_eq!(json(&["config", "spring-sale", "--json"]), sale);
    let all = json(&["config", "--json"]);
    assert_eq!((all.as_array().unwrap().len(), &all[2]), (3, &sale));
    assert!(all[1]["error"].as_str().unwrap().contains("rate: a rate is"), "{all}");
}

/// It may hold a guard's network, or a colleague's e-mail address.
#[test]
fn a_file_that_only_its_owner_reads_stays_so() {
    use std::fs::{Permissions, metadata, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    let home = Home::new();
    home.write("sale", SALE);
    let file = home.config_file("sale");
    set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(home.printed(&["init", "sale", "--rate", "5", "--yes"]), "rate: 300 -> 5\n");
    assert_eq!(metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_documentation_shows_settings_that_are_taken() {
    for page in [
        include_str!("../../../docs/abuse.md"),
        include_str!("../../../docs/active-visitors.md"),
        include_str!("../../../docs/aws.md"),
        include_str!("../../../docs/edge.md"),
        include_str!("../../../docs/no-shows.md"),
    ] {
        let blocks = console::blocks(page);
        let settings = blocks.iter().find(|block| block.language == "toml").unwrap();
        let home = Home::new();
        home.write("spring-sale", &(SALE.to_owned() + &settings.text));
        let shown = home.printed(&["config", "spring-sale"]);
        for (name, _) in settings.text.lines().filter_map(|line| line.split_once(" = ")) {
            assert!(shown.contains(&format!("\n  {name} ")), "{name} in:\n{shown}");
        }
    }
}

#[test]
fn every_mistake_in_a_file_is_named_with_its_path() {
    let home = Home::new();
    home.write("sale", "rate = 0\ncolour = \"red\"\n");
    let complaint = "error: ~/beekeeper/sale.toml is invalid: title: is missing
shop: is missing
rate: a rate is a whole number of visitors a minute, from 1 to 270000
colour: is not a setting; remove the line, or correct the name
";
    for command in [&["config", "sale"][..], &["status", "sale"], &["init", "sale", "--rate", "5"]] {
        assert_eq!(home.refused(command), (1, complaint.into()), "{command:?}");
    }
}

#[test]
fn a_typo_does_not_hit_another_room() {
    let home = Home::new();
    let nothing = "error: no room is named\nhint: configure a room for AWS with: beekeeper init; or for a room on this machine, use --local\n";
    assert_eq!(home.refused(&["status"]), (2, nothing.into()));
    let unknown = "error: there is no room spring: ~/beekeeper/spring.toml does not exist\nhint: configure it with: beekeeper init spring; or for a room on this machine, use --local\n";
    assert_eq!(home.refused(&["off", "spring"]), (3, unknown.into()));
    home.write("spring-sale", SALE);
    home.write("autumn", SALE);
    let which = "error: no room is named\nhint: name one of autumn, spring-sale; or for a room on this machine, use --local\n";
    for command in
        [&["off"][..], &["set-rate", "600"], &["message", "spring-sale"], &["reset", "--yes"], &["logs"]]
    {
        assert_eq!(home.refused(command), (2, which.into()), "{command:?}");
    }
    let unknown = "error: there is no room spring: ~/beekeeper/spring.toml does not exist\nhint: your rooms are autumn, spring-sale; to configure another: beekeeper init spring; or for a room on this machine, use --local\n";
    assert_eq!(home.refused(&["set-rate", "spring", "600"]), (3, unknown.into()));
}
