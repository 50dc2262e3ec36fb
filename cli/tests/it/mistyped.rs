//! Words that are no commands: the tip leads to what was meant, and never to what takes places from visitors.

use crate::support::Home;

/// What is said about this command line, for a person and for a script.
fn said(line: &[&str]) -> [String; 2] {
    let home = Home::new();
    [line.to_vec(), [line, &["--json"]].concat()].map(|line| {
        let (code, said) = home.refused(&line);
        assert_eq!(code, 2, "{line:?}: {said}");
        said
    })
}

#[test]
fn a_word_for_a_command_leads_to_what_it_means() {
    let on = &["beekeeper on NAME"][..];
    let stops = &["beekeeper pause NAME", "beekeeper close NAME", "beekeeper end NAME", "beekeeper off NAME"];
    let off_first = &["beekeeper off NAME", "beekeeper help"];
    for (words, commands) in [
        (&["resume", "start", "open", "unpause", "continue", "Start"][..], on),
        (&["stop", "quit", "shutdown", "STOP"], stops),
        (&["restart", "reboot"], on),
        (&["start"], &["beekeeper on NAME", "sudo systemctl start beekeeper"]),
        (&["stop"], &["beekeeper off NAME", "sudo systemctl stop beekeeper"]),
        (&["restart"], &["sudo systemctl restart beekeeper"]),
        (&["remove", "delete", "kill", "rm", "clear", "drop"], off_first),
    ] {
        for word in words {
            for line in [&[word, "sale"][..], &["help", word]] {
                for said in said(line) {
                    let places: Vec<_> = commands.iter().map(|command| said.find(command)).collect();
                    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{line:?}: {said}");
                    assert!(!said.contains("similar"), "{line:?}: {said}");
                }
            }
        }
    }
}

#[test]
fn no_tip_names_a_command_that_takes_places_from_visitors() {
    for line in [
        &["rest", "sale"][..],
        &["rset"],
        &["resett"],
        &["Reset"],
        &["destory"],
        &["destroi"],
        &["DESTROY"],
        &["resume"],
        &["restart"],
        &["delete"],
        &["remove"],
        &["--reset"],
        &["--destory"],
        &["help", "rset"],
    ] {
        for said in said(line) {
            let tips = said.replace(&format!("'{}'", line.last().unwrap()), "").to_lowercase();
            let tips = tips.replace(&format!("'{}'", line[0]).to_lowercase(), "");
            assert!(!tips.contains("reset") && !tips.contains("destroy"), "{line:?}: {said}");
            assert!(said.contains("beekeeper") || said.contains("--help"), "{line:?}: {said}");
        }
    }
    for line in [&["keys", "dorp", "sale"][..], &["keys", "remove", "sale"], &["keys", "revoke", "sale"]] {
        for said in said(line) {
            assert!(!said.contains("'drop'") && said.contains("beekeeper help keys"), "{line:?}: {said}");
            assert!(!said.contains("beekeeper off"), "{line:?}: {said}");
        }
    }
}

#[test]
fn a_rate_of_nobody_leads_to_pause() {
    for said in said(&["set-rate", "sale", "0"]) {
        assert!(said.contains("to let nobody in, use: beekeeper pause NAME; a rate is"), "{said}");
    }
    for said in said(&["set-rate", "sale", "many"]) {
        assert!(said.contains(": a rate is") && !said.contains("pause"), "{said}");
    }
}

#[test]
fn a_negative_number_is_refused_as_a_number() {
    for line in [
        &["init", "sale", "--rate", "-1"][..],
        &["local", "--visitors", "-1"],
        &["rehearse", "sale", "--visitors", "-1"],
        &["close", "sale", "--after", "-1"],
        &["history", "sale", "--limit", "-1"],
    ] {
        for said in said(line) {
            assert!(said.contains("invalid value '-1' for '"), "{line:?}: {said}");
        }
    }
}

#[test]
fn a_flag_of_another_command_leads_to_that_command() {
    for (line, meant) in [
        (&["set-rate", "--rate", "60", "--data", "/srv"][..], "beekeeper set-rate NAME 60"),
        (&["off", "--data", "/srv", "--at", "Friday 12:00"], "on, close and end can"),
        (&["pause", "--at", "Friday", "12:00"], "on, close and end can"),
        (&["end", "sale", "--after", "5"], "beekeeper close NAME --after 5000"),
        (&["on", "--At", "noon"], ""),
    ] {
        for said in said(line) {
            assert!(said.contains(meant) && !said.contains("as a value"), "{line:?}: {said}");
            assert!(!said.contains("similar") && !said.contains("quotation"), "{line:?}: {said}");
        }
    }
    for said in said(&["message", "sale", "--- Sale ---"]) {
        assert!(said.contains("use '-- --- Sale ---'"), "{said}");
    }
}

#[test]
fn a_number_before_the_name_leads_to_the_order_of_both() {
    for said in said(&["set-rate", "300", "spring-sale"]) {
        assert!(said.contains("the name comes first: beekeeper set-rate spring-sale 300"), "{said}");
    }
    for no_name in [&["set-rate", "spring-sale", "many"][..], &["set-rate", "0", "--data", "r17"]] {
        for said in said(no_name) {
            assert!(!said.contains("comes first"), "{said}");
        }
    }
}

#[test]
fn a_time_of_two_words_is_to_be_quoted() {
    for line in [
        &["on", "sale", "--at", "Friday", "12:00"][..],
        &["on", "--data", "/srv", "--at", "Friday", "12:00"],
        &["close", "--at", "Friday", "12:00", "sale"],
    ] {
        for said in said(line) {
            let said = said.replace("\\\"", "\"");
            assert!(
                said.contains("put the time in quotation marks: --at \"Friday 12:00\""),
                "{line:?}: {said}"
            );
        }
    }
    for said in said(&["on", "sale", "--at", "Fryday", "12:00"]) {
        assert!(!said.contains("quotation"), "{said}");
    }
}

#[test]
fn a_typo_of_a_harmless_command_is_still_understood() {
    for (typo, meant) in
        [("statsu", "'status'"), ("pasue", "'pause'"), ("repot", "'report'"), ("setrate", "'set-rate'")]
    {
        for said in said(&[typo, "sale"]) {
            assert!(said.contains(meant) && !said.contains("reset"), "{typo}: {said}");
            assert!(!said.contains("similar subcommands"), "only the closest one: {said}");
        }
    }
}
