//! A room with the operator's optional parts, as far as LocalEmu supports them: see docs/emulators.md.

use std::time::Duration;

use deployed_rooms::{sam, until};
use emulators::LocalEmu;

#[test]
#[ignore = "needs LocalEmu, the function packages and real minutes: cargo xtask test deployed"]
fn a_room_with_alarms_an_access_log_and_a_throttle_is_deployed_and_measures_the_shop() {
    let aws = LocalEmu::shared().unwrap();
    let health = format!("{}/_localemu/health", aws.endpoint());
    let choices = [
        ("Room", "chosen"),
        ("Title", "Seal's Sale"),
        ("Shop", "https://shop.example/sale"),
        ("Health", &health),
        ("Rate", "300"),
        ("Throttling", "yes"),
        ("RequestsPerSecond", "100"),
        ("AlarmEmail", "operator@shop.example"),
        ("AccessLog", "yes"),
    ];
    let outputs = sam::deploy(aws, "chosen", sam::built().unwrap(), &choices).unwrap();
    let log = || aws.function_log(&outputs["ThrottleFunction"]);
    until("the throttle has measured", Duration::from_mins(3), || Ok(log()?.contains("throttle finished")))
        .unwrap();
    println!("{}", log().unwrap());
}
