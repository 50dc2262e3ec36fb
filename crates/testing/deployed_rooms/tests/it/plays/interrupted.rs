//! `beekeeper deploy` and `beekeeper destroy` are interrupted at every stage, and the next run succeeds.

use std::thread;

use deployed_rooms::{Operator, Signal};
use emulators::thirds;

use super::lifecycle::{DEPLOY, account};

/// Lines that `beekeeper deploy` prints, in this order.
const DEPLOYING: [&str; 9] = [
    "\"step\":\"bucket\"",
    "upload the functions",
    "upload the template",
    "\"step\":\"plan\"",
    "\"step\":\"stack\"",
    "\"name\":\"Ledger\"",
    "\"name\":\"RoomSetup\"",
    "\"step\":\"tidy\"",
    "\"step\":\"smoke-check\"",
];

const DESTROYING: [&str; 6] = [
    "\"step\":\"remove\"",
    "\"name\":\"RoomSetup\"",
    "\"name\":\"Ledger\"",
    "\"step\":\"remove-bucket\"",
    "\"step\":\"remove-logs\"",
    "\"step\":\"verify\"",
];

/// Each stage is interrupted once by a kill and once by Ctrl-C.
fn interruptions(stages: &[&'static str]) -> impl Iterator<Item = (&'static str, Signal)> {
    let signals = [Signal::KILL, Signal::INT];
    thirds::of_this_run(stages.iter().flat_map(move |&stage| signals.map(|signal| (stage, signal))))
}

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn whatever_interrupts_a_deployment_the_next_run_succeeds() {
    let aws = account();
    let operator = Operator::new(aws, "operator").unwrap();
    let before = operator.listing().unwrap();
    // Two at a time.
    let next = std::sync::Mutex::new(interruptions(&DEPLOYING).enumerate());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((at, (stage, signal))) = next.lock().unwrap().next() else { break };
                    interrupted_while_deploying(&operator, &format!("room-{at}"), stage, signal);
                }
            });
        }
    });
    assert_eq!(operator.listing().unwrap(), before);
}

fn interrupted_while_deploying(operator: &Operator, room: &str, stage: &str, signal: Signal) {
    operator.profile(room, "Sale").unwrap();
    let deploy = [&["deploy", room], DEPLOY].concat();
    let ended = operator.stopped(&deploy, stage, signal).unwrap();
    assert_eq!(ended, (signal == Signal::INT).then_some(5), "{stage}");
    // From this step on, deploying only checks the room.
    let ended = operator.stopped(&deploy, "\"step\":\"schedule\"", Signal::INT).unwrap();
    assert_eq!(ended, Some(5), "after {stage} and {signal:?}");
    operator.done(&["destroy", room, "--yes", "--json"]).unwrap();
    println!("{stage}, {signal:?}: the next run succeeded");
}

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn whatever_interrupts_a_removal_the_next_run_succeeds() {
    let aws = account();
    let operator = Operator::new(aws, "operator").unwrap();
    let before = operator.listing().unwrap();
    operator.profile("sale", "Sale").unwrap();
    let deploy = [&["deploy", "sale"], DEPLOY].concat();
    let destroy = ["destroy", "sale", "--yes", "--json"];
    for (stage, signal) in interruptions(&DESTROYING) {
        operator.stopped(&deploy, "\"step\":\"schedule\"", Signal::INT).unwrap();
        let ended = operator.stopped(&destroy, stage, signal).unwrap();
        // The last step may be over before the signal arrives.
        let is_over = stage.contains("verify") && ended == Some(0);
        assert!(is_over || ended == (signal == Signal::INT).then_some(5), "{stage}: {ended:?}");
        let asks = operator.run(&["destroy", "sale"]).unwrap();
        assert_eq!(asks.status.code(), Some(6), "it asks as before, {stage}: {asks:?}");
        operator.done(&destroy).unwrap();
        assert_eq!(operator.listing().unwrap(), before, "after {stage} and {signal:?}");
        println!("{stage}, {signal:?}: the next run succeeded");
    }
}
