//! Where the keys are: the private ones in the secret, the public ones in the table, and how rooms of before get there.

use std::error::Error;
use std::time::Duration;

use aws::AwsStore;
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future;
use pass::{KeyRecord, KeyRing, PrivateKey, ProofKey, SecretKeys};
use waitroom::ports::{Fault, KeyAdmin, KeyBoard, Keys};
use waitroom::{Author, KeyOrder};

use crate::room::{Item, TestRoom, now, run};

const HOUR: Duration = Duration::from_hours(1);

fn secret() -> SecretKeys {
    SecretKeys::generate(None).unwrap()
}

fn text(item: &Item, attribute: &str) -> String {
    item[attribute].as_s().unwrap().clone()
}

/// Whether the item has this private key, in whatever attribute.
fn contains(item: &Item, key: &PrivateKey) -> bool {
    let key = serde_json::to_string(key).unwrap();
    item.values().any(|value| value.as_s().is_ok_and(|text| text.contains(key.trim_matches('"'))))
}

async fn publish(store: &AwsStore, number: u64) -> SecretKeys {
    let keys = store.create_secret_keys(number, secret()).await.unwrap();
    let mut record = store.key_record().await.unwrap();
    record.publish(keys.signing.public().unwrap(), HOUR, now().as_secs());
    assert!(store.publish_keys(record).await.unwrap());
    keys
}

/// A room as the versions before the secret have left it: both keys in the table, and no record.
async fn room_of_before(test: &TestRoom) -> (KeyRing, ProofKey) {
    let (ring, proof) = (KeyRing::generate().unwrap(), ProofKey::generate().unwrap());
    let json = [
        ("key/private", "ring", serde_json::to_string(&ring).unwrap()),
        ("key/public", "jwks", serde_json::to_string(&ring.jwks().unwrap()).unwrap()),
        ("key/proof", "key", serde_json::to_string(&proof).unwrap()),
    ];
    for (id, attribute, json) in json {
        let item = [("id", id.to_owned()), (attribute, json)];
        let mut item: Item =
            item.into_iter().map(|(name, value)| (name.to_owned(), AttributeValue::S(value))).collect();
        item.insert("format".into(), AttributeValue::N("1".into()));
        test.put(item).await;
    }
    (ring, proof)
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn the_table_has_the_public_key_and_never_the_private_one() {
    run(async {
        let test = TestRoom::new().await;
        let keys = publish(&test.store, 1).await;
        let public = test.item("key/public").await.unwrap();
        let record = test.store.key_record().await.unwrap();
        assert_eq!(text(&public, "jwks"), serde_json::to_string(&record.jwks()).unwrap());
        assert!(!contains(&public, &keys.signing));
        let private = test.item("key/private").await.unwrap();
        assert_eq!(private.len(), 2, "only its id and a format that earlier versions refuse: {private:?}");
        assert_eq!(private["format"], AttributeValue::N("2".into()));
        assert_eq!(test.item("key/proof").await, None);
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn whoever_has_no_secret_reads_the_record_and_no_key() {
    run(async {
        let test = TestRoom::new().await;
        publish(&test.store, 1).await;
        let store = test.store_without_secret();
        assert_eq!(store.key_record().await.unwrap(), test.store.key_record().await.unwrap());
        let denied = store.secret_keys(1).await.unwrap_err();
        assert_eq!(denied.fault, Fault::Broken);
        let why = denied.source().unwrap().to_string();
        assert!(
            why.starts_with("this function has no KEY_SECRET") && why.ends_with("deploy the stack again")
        );
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn a_room_of_before_signs_on_with_its_key_and_the_table_loses_it_after_an_hour() {
    run(async {
        let test = TestRoom::new().await;
        let (ring, proof) = room_of_before(&test).await;
        let before = test.store.key_record().await.unwrap();
        assert_eq!(before, KeyRecord::before_records(&ring.jwks().unwrap()));
        assert_eq!(test.store.secret_keys(1).await.unwrap(), None);

        let other = test.another_store();
        let both = future::join_all([&test.store, &other].map(|store| store.create_secret_keys(1, secret())));
        let moved = SecretKeys { signing: ring.current.clone(), proof };
        assert!(both.await.into_iter().all(|created| created.unwrap() == moved));

        // Producers of before read it in this form while an update runs, and after one that is rolled back.
        test.store.remove_moved_keys().await.unwrap();
        let mut private = test.item("key/private").await.unwrap();
        assert_eq!(text(&private, "ring"), serde_json::to_string(&ring).unwrap());
        assert_eq!(private["format"], AttributeValue::N("1".into()));

        let an_hour_ago = (now() - HOUR).as_millis().to_string();
        assert!(private.insert("moved_at".into(), AttributeValue::N(an_hour_ago)).is_some());
        test.put(private).await;
        test.store.remove_moved_keys().await.unwrap();
        for id in ["key/private", "key/proof"] {
            let item = test.item(id).await.unwrap();
            assert_eq!((item.len(), &item["format"]), (2, &AttributeValue::N("2".into())), "{id}");
        }
        assert_eq!(test.store.secret_keys(1).await.unwrap(), Some(moved));
        assert_eq!(test.store.key_record().await.unwrap(), before, "old passes stay valid");
        test.store.remove_moved_keys().await.unwrap();
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn keys_that_were_not_moved_stay_in_the_table() {
    run(async {
        let test = TestRoom::new().await;
        room_of_before(&test).await;
        test.store.remove_moved_keys().await.unwrap();
        assert!(test.item("key/private").await.unwrap().contains_key("ring"));
    });
}

/// An update that made the secret and was rolled back removes the secret with the keys.
#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn keys_of_before_are_moved_again_into_another_secret() {
    run(async {
        let test = TestRoom::new().await;
        let (ring, _) = room_of_before(&test).await;
        test.store.create_secret_keys(1, secret()).await.unwrap();
        let store = test.store_with_empty_secret().await;
        assert_eq!(store.create_secret_keys(1, secret()).await.unwrap().signing, ring.current);
    });
}

#[test]
#[ignore = "needs LocalEmu and DynamoDB Local: cargo xtask test aws"]
fn a_key_of_before_that_leaked_is_dropped_before_it_is_moved() {
    run(async {
        let test = TestRoom::new().await;
        let (ring, proof) = room_of_before(&test).await;
        let leaked = ring.current.public().unwrap().kid().to_owned();
        let operator = test.store_without_secret();
        let order = KeyOrder::Drop { id: leaked };
        let after = operator.order_keys(order, Author::new("anna")).await.unwrap().unwrap();
        assert!(after.keys().is_empty());
        assert_eq!(text(&test.item("key/public").await.unwrap(), "jwks"), r#"{"keys":[]}"#);
        let keys = publish(&test.store, after.next_number()).await;
        assert!(keys.signing != ring.current && keys.proof == proof);
        assert!(test.item("key/private").await.unwrap().contains_key("moved_at"), "it is removed too");
    });
}
