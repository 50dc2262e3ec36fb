//! What this line guarantees beyond the ports' contracts.

use std::time::{Duration, Instant};

use aws::AwsStore;
use waitroom::ports::{LineBack, LineFront, Store};

use crate::emulators::Emulators;
use crate::room::{TestRoom, config, run};

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn a_buried_message_is_in_the_dead_letters() {
    run(async {
        let test = TestRoom::new().await;
        test.send_to_line("not a visitor").await;
        let stray = test.store.line().receive(1, Duration::from_secs(5)).await.unwrap().remove(0);
        test.store.line().bury(stray.receipt, "not a visitor".into()).await.unwrap();
        assert_eq!(test.dead_letters().await, ["not a visitor"]);
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn more_than_ten_visitors_can_be_removed() {
    run(async {
        let test = TestRoom::new().await;
        let mut receipts = Vec::new();
        for n in 1..=25 {
            test.store.line().join(port_contracts::visitor::visitor(n)).await.unwrap();
        }
        while receipts.len() < 25 {
            let received = test.store.line().receive(10, Duration::from_secs(1)).await.unwrap();
            receipts.extend(received.into_iter().map(|delivery| delivery.receipt));
        }
        test.store.line().remove(receipts).await.unwrap();
        tokio::time::sleep(TestRoom::HIDDEN_FOR).await;
        assert_eq!(test.store.line().receive(10, Duration::ZERO).await.unwrap(), []);
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn receiving_from_an_empty_line_waits() {
    run(async {
        let test = TestRoom::new().await;
        // With the timeouts of a function.
        let line = config(&Emulators::shared().localemu());
        let store = AwsStore::with_separate_configs(test.ledger_config(), &line, test.resources.clone());
        for again in (0..5).rev() {
            let asked = Instant::now();
            match store.line().receive(10, Duration::from_secs(7)).await {
                Ok(received) => {
                    assert_eq!(received, []);
                    assert!(
                        asked.elapsed() >= Duration::from_secs(6),
                        "longer than the timeout of other calls"
                    );
                    break;
                }
                // A busy emulator answers later still.
                Err(error) => assert!(again > 0, "{error:?}"),
            }
        }
    });
}
