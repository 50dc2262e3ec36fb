//! Runs docs/first-event.md, command by command, with the permissions that the docs list.

use deployed_rooms::Operator;
use emulators::{LocalEmu, Options, console};

const DOCUMENT: &str = include_str!("../../../../../../docs/first-event.md");

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn the_first_event_goes_as_told() {
    let aws: &LocalEmu = Box::leak(Box::new(LocalEmu::start(Options::default()).unwrap()));
    let operator = Operator::new(aws, "developer").unwrap();
    let before = operator.listing().unwrap();
    // No server answers at shop.example.
    let shop = format!("{}/_localemu/health", aws.endpoint());
    let commands = console::commands(DOCUMENT);
    assert!(commands.len() > 10, "{commands:?}");
    for (command, told) in commands {
        let told = console::without_seconds(&told);
        let typed =
            command.strip_prefix("beekeeper ").unwrap_or_else(|| panic!("{command}: who tries that?"));
        let words = console::words(&typed.replace("https://shop.example/sale", &shop));
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let output = operator.run(&words).unwrap();
        let said = String::from_utf8_lossy(&output.stdout).replace(&shop, "https://shop.example/sale");
        assert!(output.status.success(), "{command}: {said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(
            console::is_as_told(&said, &told),
            "{command}\nis told to print\n{told}\nand printed\n{said}"
        );
    }
    assert_eq!(operator.listing().unwrap(), before, "nothing is left");
}
