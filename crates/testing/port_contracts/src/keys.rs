//! The keys that sign passes: the published record, and the secret part of each key.

use std::time::Duration;

use futures_util::future;
use pass::{KeyRecord, KeyRefusal, SecretKeys};
use waitroom::ports::{AuditTrail, KeyAdmin, KeyBoard, Keys};
use waitroom::{AuditedChange, Author, KeyOrder};

use crate::Fixture;

const PASS_LIFETIME: Duration = Duration::from_mins(5);

fn secret() -> SecretKeys {
    SecretKeys::generate(None).expect("generate")
}

/// Stores and publishes the next key, as a producer does.
async fn publish<F: Fixture>(fixture: &F) -> SecretKeys {
    let store = fixture.ledger();
    let mut record = store.key_record().await.expect("record");
    let keys = store.create_secret_keys(record.next_number(), secret()).await.expect("create");
    record.publish(keys.signing.public().expect("public"), PASS_LIFETIME, fixture.now().as_secs());
    assert!(store.publish_keys(record).await.expect("publish"));
    keys
}

async fn order(store: &impl KeyAdmin, order: KeyOrder) -> Result<KeyRecord, KeyRefusal> {
    store.order_keys(order, Author::new("anna")).await.expect("order")
}

pub async fn a_new_room_has_no_keys<F: Fixture>() {
    let fixture = F::new().await;
    assert_eq!(fixture.ledger().key_record().await.expect("record"), KeyRecord::default());
    assert_eq!(fixture.ledger().secret_keys(1).await.expect("secret"), None);
}

pub async fn the_first_secret_key_wins<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    let (ours, theirs) = (secret(), secret());
    assert_eq!(store.create_secret_keys(1, ours.clone()).await.expect("create"), ours);
    assert_eq!(store.create_secret_keys(1, theirs).await.expect("create"), ours);
    let another = store.create_secret_keys(2, secret()).await.expect("create");
    assert_ne!(another, ours);
    assert_eq!(store.secret_keys(1).await.expect("secret"), Some(ours));
    assert_eq!(store.secret_keys(2).await.expect("secret"), Some(another));
}

pub async fn of_concurrent_secret_keys_everybody_gets_the_same<F: Fixture>() {
    let fixture = F::new().await;
    let created = (0..4).map(|_| fixture.ledger().create_secret_keys(1, secret()));
    let created: Vec<_> =
        future::join_all(created).await.into_iter().map(|created| created.expect("create")).collect();
    assert!(created.iter().all(|keys| *keys == created[0]));
}

pub async fn of_concurrent_records_one_is_published<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    let records = [secret(), secret()].map(|secret| {
        let mut record = KeyRecord::default();
        record.publish(secret.signing.public().expect("public"), PASS_LIFETIME, 1000);
        record
    });
    let both = records.iter().map(|record| store.publish_keys(record.clone()));
    let published: Vec<_> =
        future::join_all(both).await.into_iter().map(|published| published.expect("publish")).collect();
    assert_eq!(published.iter().filter(|&&published| published).count(), 1);
    let stored = store.key_record().await.expect("record");
    let first = published.iter().position(|&published| published).expect("one");
    assert_eq!((stored.version, stored.keys()), (1, records[first].keys()));
    assert!(
        !store.publish_keys(records[first].clone()).await.expect("publish"),
        "the version is another one"
    );
    assert!(store.publish_keys(stored).await.expect("publish"));
}

pub async fn a_rotation_is_asked_for_once_and_noted<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    assert_eq!(order(store, KeyOrder::ROTATE).await, Err(KeyRefusal::NoKeys));
    publish(&fixture).await;
    let before = store.key_record().await.expect("record");
    let after = order(store, KeyOrder::ROTATE).await.expect("carried out");
    assert_eq!(store.key_record().await.expect("record"), after);
    assert!(after.is_asked_for_another() && after.version > before.version);
    assert_eq!(order(store, KeyOrder::ROTATE).await, Err(KeyRefusal::Rotating));
    assert!(!store.publish_keys(before).await.expect("publish"), "a producer reads the order first");
    publish(&fixture).await;
    let record = store.key_record().await.expect("record");
    assert_eq!((record.is_asked_for_another(), record.keys().len()), (false, 2));
    let changes: Vec<_> = store
        .entries(10)
        .await
        .expect("entries")
        .into_iter()
        .map(|entry| (entry.who, entry.change))
        .collect();
    let from = record.keys()[0].jwk.kid().to_owned();
    assert_eq!(
        changes,
        [(Author::new("anna"), AuditedChange::KeyRotation { from })],
        "refusals are not noted"
    );
}

pub async fn a_dropped_key_is_unpublished_and_noted<F: Fixture>() {
    let fixture = F::new().await;
    let store = fixture.ledger();
    let first = publish(&fixture).await;
    let kid = first.signing.public().expect("public").kid().to_owned();
    let unknown = KeyOrder::Drop { id: "~".into() };
    assert_eq!(order(store, unknown).await, Err(KeyRefusal::Unknown("~".into())));
    let after = order(store, KeyOrder::Drop { id: kid[..8].into() }).await.expect("carried out");
    assert!(after.keys().is_empty());
    assert_eq!(store.key_record().await.expect("record"), after);
    let second = publish(&fixture).await;
    assert_ne!(second.signing, first.signing);
    let entries = store.entries(10).await.expect("entries");
    let changes: Vec<_> = entries.into_iter().map(|entry| entry.change).collect();
    assert_eq!(changes, [AuditedChange::KeyDrop { from: kid }]);
}
