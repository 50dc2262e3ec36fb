//! `beekeeper deploy` and `beekeeper destroy` are interrupted at every stage, and the next run succeeds.

use std::thread;

use deployed_rooms::{Operator, Signal};

use super::lifecycle::{DEPLOY, account};

/// Lines that `beekeeper deploy` prints, in this order.
const DEPLOYING: [&str; 9] = [
    "\"step\":\"bucket\"",
    "upload the function setup",
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

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn whatever_interrupts_a_deployment_the_next_run_succeeds() {
    let aws = account();
    let operator = Operator::new(aws, "operator").unwrap();
    let before = operator.listing().unwrap();
    // Two at a time. Each stage is interrupted once by a kill and once by Ctrl-C.
    let next = std::sync::Mutex::new(DEPLOYING.iter().enumerate());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((at, stage)) = next.lock().unwrap().next() else { break };
                    interrupted_while_deploying(&operator, &format!("room-{at}"), stage);
                }
            });
        }
    });
    assert_eq!(operator.listing().unwrap(), before);
}

fn interrupted_while_deploying(operator: &Operator, room: &str, stage: &str) {
    operator.profile(room, "Sale").unwrap();
    let deploy = [&["deploy", room], DEPLOY].concat();
    for signal in [Signal::KILL, Signal::INT] {
        let ended = operator.stopped(&deploy, stage, signal).unwrap();
        assert_eq!(ended, (signal == Signal::INT).then_some(5), "{stage}");
        // From this step on, deploying only checks the room.
        let ended = operator.stopped(&deploy, "\"step\":\"schedule\"", Signal::INT).unwrap();
        assert_eq!(ended, Some(5), "after {stage} and {signal:?}");
        operator.done(&["destroy", room, "--yes", "--json"]).unwrap();
        println!("{stage}, {signal:?}: the next run succeeded");
    }
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
    for stage in DESTROYING {
        for signal in [Signal::KILL, Signal::INT] {
            operator.stopped(&deploy, "\"step\":\"schedule\"", Signal::INT).unwrap();
            let ended = operator.stopped(&destroy, stage, signal).unwrap();
            // The last step may be over before the signal arrives.
            let is_over = stage.contains("verify") && ended == Some(0);
            assert!(is_over || ended == (signal == Signal::INT).then_some(5), "{stage}: {ended:?}");
            operator.done(&destroy).unwrap();
            assert_eq!(operator.listing().unwrap(), before, "after {stage} and {signal:?}");
            println!("{stage}, {signal:?}: the next run succeeded");
        }
    }
}
