//! A separate room for each test: a table, a line and its dead letters.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use aws::{AwsStore, RoomResources, tuned};
use aws_config::timeout::TimeoutConfig;
use aws_config::{Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use aws_sdk_sqs::types::QueueAttributeName;
use waitroom::{Room, Timestamp, fixture};

use crate::emulators::Emulators;

pub(crate) type Item = std::collections::HashMap<String, AttributeValue>;

/// Runs a test's future on its own runtime. The clients must be created in it, because they stop working when it ends.
pub(crate) fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

/// With a message, because DynamoDB Local rejects an empty text.
pub(crate) fn first_room() -> Room {
    let mut room = fixture::room(300);
    room.settings.message = "Welcome".parse().unwrap();
    room
}

pub(crate) struct TestRoom {
    pub(crate) store: AwsStore,
    pub(crate) resources: RoomResources,
    ledger: SdkConfig,
    line: SdkConfig,
    dynamodb: aws_sdk_dynamodb::Client,
    sqs: aws_sdk_sqs::Client,
    key_secret: String,
}

impl TestRoom {
    /// How long a received visitor is hidden from other receivers.
    pub(crate) const HIDDEN_FOR: Duration = Duration::from_secs(10);

    /// On DynamoDB Local, Amazon's own emulator, which is strict.
    ///
    /// This version is from 2020. It accepts at most ten writes in one transaction and no empty text, and does not
    /// return the item that made a condition fail. Tests that need these run [on LocalEmu](Self::on_localemu).
    pub(crate) async fn new() -> Self {
        Self::empty().await.with_room().await
    }

    pub(crate) async fn on_localemu() -> Self {
        Self::empty_on(&Emulators::shared().localemu()).await.with_room().await
    }

    async fn with_room(self) -> Self {
        self.store.create_room(&first_room()).await.unwrap();
        self
    }

    pub(crate) fn ledger_config(&self) -> &SdkConfig {
        &self.ledger
    }

    /// An empty table and empty queues.
    pub(crate) async fn empty() -> Self {
        Self::empty_on(&Emulators::shared().dynamodb()).await
    }

    async fn empty_on(dynamodb: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
        let name = format!("room-{}-{now}-{number}", std::process::id());

        let (ledger, line) = (patient(&config(dynamodb)), patient(&config(&Emulators::shared().localemu())));
        let dynamodb = aws_sdk_dynamodb::Client::new(&ledger);
        create_table(&dynamodb, &name).await;
        let sqs = aws_sdk_sqs::Client::new(&line);
        let dead_letters_url = create_queue(&sqs, &format!("{name}-dead")).await;
        let line_url = create_queue(&sqs, &name).await;
        let resources = RoomResources { ledger_table: name, line_url, dead_letters_url };
        let key_secret = create_secret(&line, &resources.ledger_table).await;
        let store = AwsStore::with_separate_configs(&ledger, &line, resources.clone());
        let store = store.with_key_secret(&line, key_secret.clone());
        Self { store, resources, ledger, line, dynamodb, sqs, key_secret }
    }

    /// Another handle to the same room, with an empty cache.
    pub(crate) fn another_store(&self) -> AwsStore {
        self.store_without_secret().with_key_secret(&self.line, self.key_secret.clone())
    }

    /// A handle as everybody has it who does not sign passes.
    pub(crate) fn store_without_secret(&self) -> AwsStore {
        AwsStore::with_separate_configs(&self.ledger, &self.line, self.resources.clone())
    }

    /// A handle with another, empty secret, as after an update that made one and was rolled back.
    pub(crate) async fn store_with_empty_secret(&self) -> AwsStore {
        let name = format!("{}-another", self.resources.ledger_table);
        self.store_without_secret().with_key_secret(&self.line, create_secret(&self.line, &name).await)
    }

    pub(crate) async fn item(&self, id: &str) -> Option<Item> {
        let get = self.dynamodb.get_item().table_name(&self.resources.ledger_table);
        let get = get.key("id", AttributeValue::S(id.into())).consistent_read(true);
        get.send().await.unwrap().item
    }

    pub(crate) async fn put(&self, item: Item) {
        let put = self.dynamodb.put_item().table_name(&self.resources.ledger_table);
        put.set_item(Some(item)).send().await.unwrap();
    }

    pub(crate) async fn delete(&self, id: &str) {
        let delete = self.dynamodb.delete_item().table_name(&self.resources.ledger_table);
        delete.key("id", AttributeValue::S(id.into())).send().await.unwrap();
    }

    pub(crate) async fn delete_table(&self) {
        self.dynamodb.delete_table().table_name(&self.resources.ledger_table).send().await.unwrap();
    }

    pub(crate) async fn delete_line(&self) {
        self.sqs.delete_queue().queue_url(&self.resources.line_url).send().await.unwrap();
    }

    pub(crate) async fn send_to_line(&self, body: &str) {
        self.sqs.send_message().queue_url(&self.resources.line_url).message_body(body).send().await.unwrap();
    }

    pub(crate) async fn dead_letters(&self) -> Vec<String> {
        let receive = self.sqs.receive_message().queue_url(&self.resources.dead_letters_url);
        let messages = receive.max_number_of_messages(10).wait_time_seconds(1).send().await.unwrap().messages;
        messages.unwrap_or_default().into_iter().filter_map(|message| message.body).collect()
    }
}

pub(crate) fn config(endpoint: &str) -> SdkConfig {
    let credentials = Credentials::new("test", "test", None, None, "tests");
    let config = SdkConfig::builder()
        .region(Region::new("eu-central-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .endpoint_url(endpoint);
    tuned(config.build())
}

/// The emulators answer late on a busy machine, and at the first call of a service, which they load then.
pub(crate) fn patient(config: &SdkConfig) -> SdkConfig {
    const MINUTE: Duration = Duration::from_mins(1);
    let timeouts = TimeoutConfig::builder().connect_timeout(MINUTE).operation_attempt_timeout(MINUTE);
    config.clone().into_builder().timeout_config(timeouts.build()).build()
}

async fn create_table(dynamodb: &aws_sdk_dynamodb::Client, name: &str) {
    let id = AttributeDefinition::builder().attribute_name("id").attribute_type(ScalarAttributeType::S);
    let key = KeySchemaElement::builder().attribute_name("id").key_type(KeyType::Hash);
    let create = dynamodb
        .create_table()
        .table_name(name)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(id.build().unwrap())
        .key_schema(key.build().unwrap());
    create.send().await.unwrap();
}

async fn create_queue(sqs: &aws_sdk_sqs::Client, name: &str) -> String {
    let seconds = TestRoom::HIDDEN_FOR.as_secs().to_string();
    let create = sqs.create_queue().queue_name(name);
    let create = create.attributes(QueueAttributeName::VisibilityTimeout, seconds);
    create.send().await.unwrap().queue_url.unwrap()
}

/// An empty secret, as CloudFormation creates it from a template without a value.
async fn create_secret(config: &SdkConfig, name: &str) -> String {
    let secrets = aws_sdk_secretsmanager::Client::new(config);
    secrets.create_secret().name(name).send().await.unwrap().arn.unwrap()
}

pub(crate) fn now() -> Timestamp {
    use waitroom::ports::Clock;
    clock::SystemClock.now()
}
