//! What the handlers are told when AWS is not there, or does not want.

use std::error::Error;
use std::net::TcpListener;

use aws::{AwsStore, RoomResources};
use waitroom::ports::{Admissions, Fault, LineBack, LineLength, PortError, RoomReader};

use crate::room::{TestRoom, config, run};

fn places() -> RoomResources {
    RoomResources {
        ledger_table: "nowhere".into(),
        line_url: "http://localhost/000000000000/nowhere".into(),
        dead_letters_url: "http://localhost/000000000000/nowhere-dead".into(),
    }
}

fn why(error: &PortError) -> String {
    error.source().unwrap().to_string()
}

#[test]
fn nobody_there_is_busy_and_nothing_was_done() {
    run(async {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let config = config(&format!("http://{free}"));
        let store = AwsStore::new(&config, places());
        let error = store.join(port_contracts::visitor::visitor(1)).await.unwrap_err();
        assert_eq!(error.fault, Fault::Busy, "{}", why(&error));
        assert_eq!(error.to_string(), "could not put a visitor in line");
    });
}

#[test]
fn a_connection_that_breaks_leaves_it_open_whether_it_was_done() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let config = config(&format!("http://{}", listener.local_addr().unwrap()));
        // Three attempts, each of which is heard and not answered.
        let hangs_up = std::thread::spawn(move || {
            for connection in listener.incoming().take(3) {
                let mut heard = [0; 64];
                std::io::Read::read(&mut connection.unwrap(), &mut heard).unwrap();
            }
        });
        let store = AwsStore::new(&config, places());
        let error = store.join(port_contracts::visitor::visitor(1)).await.unwrap_err();
        assert_eq!(error.fault, Fault::Unsure, "{}", why(&error));
        hangs_up.join().unwrap();
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn a_stack_that_is_not_there_needs_a_person() {
    run(async {
        let test = TestRoom::new().await;
        test.delete_table().await;
        let error = test.store.room().await.unwrap_err();
        assert_eq!((error.fault, error.to_string().as_str()), (Fault::Broken, "could not read the room"));
        let why = why(&error);
        assert!(why.starts_with("ResourceNotFoundException: "), "{why}");
        assert!(why.ends_with("; is the stack deployed, in this region?"), "{why}");
        test.delete_line().await;
        assert_eq!(test.store.waiting().await.unwrap_err().fault, Fault::Broken);
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn a_ledger_that_nobody_furnished_says_so() {
    run(async {
        let test = TestRoom::unfurnished().await;
        let error = test.store.room().await.unwrap_err();
        assert_eq!(error.fault, Fault::Broken);
        let expected = "the ledger has no item room; deploy the stack again, which puts it there";
        assert_eq!(why(&error), expected);
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn one_damaged_item_is_one_visitors_trouble_and_is_named_without_the_token() {
    run(async {
        let test = TestRoom::new().await;
        let (unlucky, lucky) =
            (port_contracts::visitor::visitor(1).token, port_contracts::visitor::visitor(2).token);
        let admission = port_contracts::visitor::admission(1, 1);
        test.store.admit(unlucky, admission).await.unwrap();
        let mut item = test.item(&format!("admission/{unlucky}")).await.unwrap();
        item.remove("until");
        test.put(item).await;
        for error in [
            test.store.admission(unlucky).await.unwrap_err(),
            test.store.admit(unlucky, admission).await.unwrap_err(),
        ] {
            assert_eq!(error.fault, Fault::Broken);
            let expected = "until is missing; correct the item admission/… of the ledger, or delete it and deploy the stack again";
            assert_eq!(why(&error), expected);
        }
        assert_eq!(test.store.admission(lucky).await.unwrap(), None);
    });
}
