//! What an operator does with a deployed room, on LocalEmu.

use std::collections::BTreeMap;
use std::env::consts;
use std::fs;
use std::sync::Mutex;

use ::config::{Architecture, RoomConfig};
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_cloudformation::types::Parameter;
use aws_sdk_cloudwatch::primitives::DateTime;
use aws_sdk_cloudwatch::types::{Dimension, MetricDatum, StandardUnit, StateValue};
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::{FunctionCode, Runtime};
use aws_sdk_s3::config::{Credentials, SharedCredentialsProvider};
use clock::SystemClock;
use cloud::{
    Access, Account, Bundle, CloudErrorKind, DeployEvent, DeployedBy, DeployedRoom, FunctionPackage, LogLine,
    LogQuery, RefusalSource, Reservation, ReservationPlan, ReservationTooLarge,
};
use control::{AlarmMailState, AlarmState, Transport};
use emulators::{LocalEmu, workspace};
use waitroom::ports::{Clock, RoomReader};
use waitroom::{Rate, RoomState, Timestamp};

const REGION: &str = "us-east-1";

fn sdk_config() -> SdkConfig {
    let credentials = Credentials::new("test", "test", None, None, "testbed");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new(REGION))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(LocalEmu::shared().unwrap().endpoint())
        .build()
}

async fn account() -> Account {
    account_in(REGION).await
}

async fn account_in(region: &'static str) -> Account {
    let access = Access { region: region.into(), aws_profile: None, account: None };
    let config = sdk_config().to_builder().region(Region::new(region)).build();
    Account::with_config(config, &access).await.unwrap()
}

fn room_config(room: &str) -> RoomConfig {
    RoomConfig::new(
        room.parse().unwrap(),
        "Sale".parse().unwrap(),
        "https://shop.example".parse().unwrap(),
        Rate::new(60).unwrap(),
    )
}

/// The package for this machine's architecture.
fn package() -> FunctionPackage {
    let name = if consts::ARCH == "aarch64" { "arm64" } else { consts::ARCH };
    let path = workspace::test_packages().join(name).join("functions.zip");
    let zip = fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; run cargo xtask test cloud", path.display()));
    FunctionPackage { architecture: Architecture::named(name).unwrap(), zip: zip.into() }
}

fn bundle() -> Bundle {
    Bundle::new([package()])
}

/// How many executions each function of the stack reserves: producer, trigger, consumer.
async fn reserved(stack: &str) -> [Option<i32>; 3] {
    let lambda = aws_sdk_lambda::Client::new(&sdk_config());
    let functions = lambda.list_functions().send().await.unwrap().functions.unwrap();
    let mut reserved = [None; 3];
    for (function, reserved) in ["Producer", "Trigger", "Consumer"].iter().zip(&mut reserved) {
        let named = |name: &&str| name.starts_with(&format!("{stack}-{function}"));
        let name = functions.iter().filter_map(|function| function.function_name()).find(named).unwrap();
        let found = lambda.get_function_concurrency().function_name(name).send().await.unwrap();
        *reserved = found.reserved_concurrent_executions;
    }
    reserved
}

async fn e_mails_begin_when_somebody_confirms(room: &DeployedRoom) {
    let mail = room.alarm_mail().await.unwrap();
    assert_eq!((mail.address.as_str(), mail.state), ("anna@shop.example", AlarmMailState::Pending));
    // LocalEmu sends no e-mail whose link could be clicked.
    let sns = aws_sdk_sns::Client::new(&sdk_config());
    let subscribe = sns.subscribe().topic_arn(&mail.topic).protocol("email").endpoint(&mail.address);
    let subscription = subscribe.return_subscription_arn(true).send().await.unwrap();
    sns.unsubscribe().subscription_arn(subscription.subscription_arn.unwrap()).send().await.unwrap();
    assert_eq!(room.alarm_mail().await.unwrap().state, AlarmMailState::Missing);
}

/// Template, package and parameters, but for the reservation: for that, the account is asked.
async fn a_pipeline_gets_what_was_deployed(config: &RoomConfig) {
    const BUCKET: &str = "beekeeper-operated-000000000000-us-east-1";
    let files = bundle().pipeline_files(config, None, Some(BUCKET)).unwrap();
    let file = |path: &str| files.iter().find(|file| file.path == path).unwrap().content.clone();
    let s3 = aws_sdk_s3::Client::new(&sdk_config());
    let objects = s3.list_objects_v2().bucket(BUCKET).send().await.unwrap();
    assert_eq!(objects.contents().len(), 2, "the package and the template: {objects:?}");
    for key in objects.contents().iter().map(|object| object.key().unwrap()) {
        let object = s3.get_object().bucket(BUCKET).key(key).send().await.unwrap();
        let emitted = file(if key.starts_with("template/") { "template.json" } else { key });
        assert_eq!(object.body.collect().await.unwrap().into_bytes(), emitted.as_ref(), "{key}");
    }

    let cloudformation = aws_sdk_cloudformation::Client::new(&sdk_config());
    let stacks = cloudformation.describe_stacks().stack_name("beekeeper-operated").send().await.unwrap();
    let [stack] = stacks.stacks() else { panic!("{stacks:?}") };
    let pair =
        |parameter: &Parameter| Some((parameter.parameter_key.clone()?, parameter.parameter_value.clone()?));
    let deployed: BTreeMap<String, String> = stack.parameters().iter().filter_map(pair).collect();
    let emitted: serde_json::Value = serde_json::from_slice(&file("parameters.json")).unwrap();
    let mut emitted: BTreeMap<String, String> =
        serde_json::from_value(emitted["Parameters"].clone()).unwrap();
    assert_eq!(emitted.insert("ReservedConsumers".into(), "10".into()), Some("0".into()));
    assert_eq!(emitted, deployed);
}

/// Whoever watches asks again after a minute, so what is refused meanwhile is told then.
async fn a_status_says_who_is_refused(room: &DeployedRoom) {
    let of_api = [("ApiName", "beekeeper-operated"), ("Stage", "prod")];
    put("Count", "AWS/ApiGateway", &of_api, minute(1), 100).await;
    put("4XXError", "AWS/ApiGateway", &of_api, minute(1), 60).await;
    for again in [0, 7] {
        put("5XXError", "AWS/ApiGateway", &of_api, minute(1), again).await;
        let status = control::Status::of(room.store(), SystemClock.now()).await.unwrap();
        let status = room.watched(status).await.unwrap();
        let refused = status.refusals.unwrap();
        assert_eq!((refused.requests, status.refusals_missing), (60, None), "{refused:?}");
        assert!(refused.reason.starts_with("more than one request in twenty is refused"));
    }
}

/// A program without packages cannot tell whether it deployed the room, but compares the configuration all the same.
async fn an_edited_configuration_is_found_without_packages(account: &Account, mut config: RoomConfig) {
    let found = account.check_stack(&config, &bundle()).await.unwrap().unwrap();
    assert_eq!((found.deployed_by, found.not_deployed.len()), (DeployedBy::ThisProgram, 0), "{found:?}");
    config.title = "Late Sale".parse().unwrap();
    let found = account.check_stack(&config, &Bundle::default()).await.unwrap().unwrap();
    let told: Vec<_> = found.not_deployed.iter().map(ToString::to_string).collect();
    assert_eq!((found.deployed_by, told), (DeployedBy::Unknown, vec!["title: Sale -> Late Sale".to_owned()]));
    let plan = account.plan(&config, None, &bundle(), None).await.unwrap();
    assert_eq!(plan.settings, found.not_deployed, "and a plan says the same");
}

/// The account of the emulator may run 1,000 functions.
async fn reservations_end_where_they_no_longer_fit(account: &Account, mut config: RoomConfig) {
    let stack = format!("beekeeper-{}", config.room);
    assert_eq!(reserved(&stack).await, [None, Some(2), Some(10)]);
    let room = account.room(&config.room).await.unwrap();
    let rate = |per_minute| Rate::new(per_minute).unwrap();
    assert_eq!(room.warning_of_reservation(&config, rate(5000)), None);
    let warning = room.warning_of_reservation(&config, rate(5001)).unwrap();
    assert_eq!(
        warning.text,
        "AWS starts no more than the 10 consumers that were reserved for this room, enough for 5,000 a minute; 5,001 a \
         minute needs 12"
    );

    let oversubscribed = RoomConfig { oversubscribe_percent: Some("30".parse().unwrap()), ..config.clone() };
    let warning = room.warning_of_reservation(&oversubscribed, rate(5000)).unwrap();
    assert!(
        warning.text.ends_with("5,000 a minute, and up to 6,500 while some don't come, needs 14"),
        "{warning:?}"
    );

    // Somebody else leaves 100, so what this room has is all that it can have.
    let lambda = aws_sdk_lambda::Client::new(&sdk_config());
    let put = lambda.put_function_concurrency().function_name(other_function(&lambda).await);
    put.reserved_concurrent_executions(888).send().await.unwrap();
    let plan = account.plan(&config, None, &bundle(), None).await.unwrap();
    assert_eq!(plan.reserved, ReservationPlan::Reserves(Reservation::of_consumers(10)));
    config.rate = rate(5001);
    let plan = account.plan(&config, None, &bundle(), None).await.unwrap();
    let too_large = ReservationTooLarge { needed: 14, unreserved: 112, kept: 100 };
    assert_eq!(plan.reserved, ReservationPlan::TooLarge(too_large));
    account.deploy(&config, None, &bundle(), None, &|_| {}).await.unwrap();
    assert_eq!(reserved(&stack).await, [None, None, None]);
    let room = account.room(&config.room).await.unwrap();
    assert_eq!(
        room.warning_of_reservation(&config, rate(5001)),
        None,
        "without a reservation there is no limit"
    );
}

/// A function that belongs to no room.
async fn other_function(lambda: &aws_sdk_lambda::Client) -> &'static str {
    let name = "another-program";
    let code = FunctionCode::builder().zip_file(Blob::new(package().zip)).build();
    let create = lambda.create_function().function_name(name).runtime(Runtime::Providedal2023);
    let create =
        create.handler("bootstrap").role("arn:aws:iam::000000000000:role/another-program").code(code);
    create.send().await.unwrap();
    name
}

#[tokio::test]
#[ignore = "needs LocalEmu: cargo xtask test cloud"]
async fn a_room_that_does_not_exist_is_not_found() {
    let error = account().await.room(&"nobody".parse().unwrap()).await.unwrap_err();
    assert_eq!(error.kind(), CloudErrorKind::NotFound);
    assert_eq!(
        error.to_string(),
        "could not find the stack beekeeper-nobody in us-east-1 of account 000000000000"
    );
    let advice = error.advice().unwrap();
    assert!(
        advice.starts_with("if somebody has deployed the room, take their configuration file"),
        "{advice}"
    );
    assert!(advice.ends_with("if nobody has, run: beekeeper deploy nobody"), "{advice}");
}

#[tokio::test]
#[ignore = "needs LocalEmu: cargo xtask test cloud"]
async fn who_came_for_their_pass_is_read_by_minutes() {
    let (first, second) = (minute(20), minute(18));
    // LocalEmu reads no metrics from logs, so they are put as CloudWatch would find them there.
    for (room, at, visitors) in
        [("entered", first, 1), ("entered", first, 2), ("entered", second, 1), ("other", first, 9)]
    {
        put("Entered", "Beekeeper", &[("Room", room)], at, visitors).await;
    }
    let (account, room) = (account().await, "entered".parse().unwrap());
    assert_eq!(account.entered(&room, minute(30), minute(0)).await.unwrap(), [(first, 3), (second, 1)]);
    let nobody = "nobody".parse().unwrap();
    assert_eq!(account.entered(&nobody, minute(30), minute(0)).await.unwrap(), []);
}

/// When the minute of the clock began that was so many minutes ago.
fn minute(ago: u64) -> Timestamp {
    Timestamp::from_millis((SystemClock.now().as_millis() / 60_000 - ago) * 60_000)
}

/// Puts a value of a metric into the minute that began then.
async fn put(metric: &str, namespace: &str, dimensions: &[(&str, &str)], minute: Timestamp, value: u32) {
    let at = minute.as_millis() + 5000;
    let mut datum = MetricDatum::builder()
        .metric_name(metric)
        .timestamp(DateTime::from_millis(i64::try_from(at).unwrap()))
        .value(f64::from(value))
        .unit(StandardUnit::Count);
    for (name, value) in dimensions {
        datum = datum.dimensions(Dimension::builder().name(*name).value(*value).build());
    }
    let cloudwatch = aws_sdk_cloudwatch::Client::new(&sdk_config());
    cloudwatch.put_metric_data().namespace(namespace).metric_data(datum.build()).send().await.unwrap();
}

#[tokio::test]
#[ignore = "needs LocalEmu: cargo xtask test cloud"]
async fn who_is_refused_and_why_is_read_from_the_metrics_of_the_alarms() {
    let (room, calm) = ("refusing".parse().unwrap(), "calm".parse().unwrap());
    let source = |room, door| RefusalSource {
        room,
        door,
        table: "refusing-ledger",
        has_edge: false,
        has_edge_firewall: false,
    };
    let account = account().await;
    let of_api = [("ApiName", "beekeeper-refusing"), ("Stage", "prod")];
    for ago in [1, 2, 3] {
        put("Count", "AWS/ApiGateway", &of_api, minute(ago), 5000).await;
        put("5XXError", "AWS/ApiGateway", &of_api, minute(ago), 400).await;
        put("4XXError", "AWS/ApiGateway", &of_api, minute(ago), 9).await;
        put("Throttles", "AWS/Lambda", &[("FunctionName", "refusing-door")], minute(ago), 390).await;
    }
    let now = SystemClock.now();
    let refused = account.refusals(source(&room, "refusing-door"), now).await.unwrap().unwrap();
    assert_eq!(refused.requests, 800, "{refused:?}");
    assert!(refused.reason.contains("Lambda doesn't start the door for everybody"), "{refused:?}");
    assert!(!refused.reason.contains("API Gateway"), "nine of 5,000 are always there: {refused:?}");
    let minutes = now.since(refused.since).as_secs() / 60;
    assert!((3..=4).contains(&minutes), "since {minutes} minutes: {refused:?}");
    assert_eq!(account.refusals(source(&calm, "calm-door"), now).await.unwrap(), None);

    // The metrics of CloudFront are in us-east-1, wherever the room is.
    assert_eq!(REGION, "us-east-1");
    let elsewhere = account_in("eu-central-1").await;
    let firewall = "beekeeper-calm-Edge-eu-central-1";
    put("BlockedRequests", "AWS/WAFV2", &[("WebACL", firewall), ("Rule", "ALL")], minute(1), 30).await;
    let behind_edge = RefusalSource { has_edge_firewall: true, ..source(&calm, "calm-door") };
    let refused = elsewhere.refusals(behind_edge, now).await.unwrap().unwrap();
    assert!(refused.requests == 30 && refused.reason.starts_with("the firewall refuses"), "{refused:?}");
}

#[tokio::test]
#[ignore = "needs LocalEmu: cargo xtask test cloud"]
async fn credentials_of_another_account_are_refused() {
    let access = Access { region: REGION.into(), aws_profile: None, account: Some("123456789012".into()) };
    let error = Account::with_config(sdk_config(), &access).await.unwrap_err();
    assert_eq!(error.kind(), CloudErrorKind::BadCredentials);
    let reason = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(
        reason,
        "the room belongs to account 123456789012, but these credentials belong to 000000000000"
    );
}

#[tokio::test]
#[ignore = "needs LocalEmu: cargo xtask test cloud"]
async fn a_stack_that_is_not_this_rooms_is_neither_changed_nor_removed() {
    let cloudformation = aws_sdk_cloudformation::Client::new(&sdk_config());
    let template = r#"{"Resources": {"Line": {"Type": "AWS::SQS::Queue"}}}"#;
    cloudformation.create_stack().stack_name("beekeeper-taken").template_body(template).send().await.unwrap();
    let account = account().await;
    let config = room_config("taken");
    let package = FunctionPackage { architecture: Architecture::Arm64, zip: b"".as_slice().into() };
    let on_event = |_: DeployEvent| {};
    let refused = account.deploy(&config, None, &Bundle::new([package]), None, &on_event).await.unwrap_err();
    assert_eq!(refused.kind(), CloudErrorKind::NameTaken);
    assert_eq!(account.destroy(&config.room, &on_event).await.unwrap_err().kind(), CloudErrorKind::NameTaken);
    assert_eq!(account.room(&config.room).await.unwrap_err().kind(), CloudErrorKind::NameTaken);
    let still = cloudformation.describe_stacks().stack_name("beekeeper-taken").send().await.unwrap();
    assert!(!still.stacks().is_empty());
}

#[tokio::test]
#[ignore = "needs LocalEmu and the function packages: cargo xtask test cloud"]
async fn a_deployed_room_passes_the_smoke_check_and_shows_its_logs() {
    let account = account().await;
    let mut config = room_config("operated");
    config.alarm_email = Some("anna@shop.example".parse().unwrap());
    let events = Mutex::new(Vec::new());
    let on_event = |event: DeployEvent| events.lock().unwrap().push(event);
    account.deploy(&config, None, &bundle(), None, &on_event).await.unwrap();

    let room = account.room(&config.room).await.unwrap();
    assert_eq!(room.smoke_check(&on_event).await.unwrap(), RoomState::On);
    assert_eq!(room.store().room().await.unwrap().settings.title.as_str(), "Sale");
    assert_eq!(room.dead_letters().await.unwrap(), 0);
    let alarms: Vec<_> = room.alarms().await.unwrap();
    assert_eq!(alarms.len(), 12, "{alarms:?}");
    a_pipeline_gets_what_was_deployed(&config).await;
    e_mails_begin_when_somebody_confirms(&room).await;
    a_status_says_who_is_refused(&room).await;
    let cloudwatch = aws_sdk_cloudwatch::Client::new(&sdk_config());
    let name = &alarms[0].name;
    for state in [StateValue::Alarm, StateValue::Ok] {
        let set = cloudwatch.set_alarm_state().alarm_name(name).state_value(state).state_reason("a test");
        set.send().await.unwrap();
    }
    // Other alarms may ring by themselves, because the functions of this room have hardly run.
    let mut changes = room.alarm_changes(20).await.unwrap();
    changes.retain(|change| change.alarm == *name && change.reason == "a test");
    let states: Vec<_> = changes.iter().map(|change| change.to).collect();
    assert_eq!(states, [AlarmState::Ringing, AlarmState::Quiet], "{changes:?}");
    assert!(changes.iter().all(|change| change.at > Timestamp::default()));

    // CloudWatch shows lines with a delay.
    let query = LogQuery { since: Timestamp::default(), follow: false };
    let mut lines: Vec<LogLine> = Vec::new();
    for _ in 0..40 {
        lines.clear();
        room.logs(&query, |line| lines.push(line)).await.unwrap();
        if lines.iter().any(|line| line.function == "producer") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(250)).await;
    }
    let from = |function: &str| lines.iter().any(|line| line.function == function);
    assert!(from("setup") && from("producer"), "{lines:?}");
    assert!(lines.is_sorted_by_key(|line| line.at));

    let again = account.changes(&config, None, &bundle(), &on_event).await.unwrap();
    assert_eq!(again, Some(Vec::new()), "nothing has changed");
    an_edited_configuration_is_found_without_packages(&account, config.clone()).await;
    Box::pin(reservations_end_where_they_no_longer_fit(&account, config.clone())).await;
    let proof = account.destroy(&config.room, &on_event).await.unwrap();
    assert_eq!((proof.unverified.len(), proof.gone.len()), (0, 4), "{proof:?}");
    assert_eq!(account.room(&config.room).await.unwrap_err().kind(), CloudErrorKind::NotFound);
}
