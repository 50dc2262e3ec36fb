//! What a changed configuration may not say, and whom it does not reach.

use anyhow::Result;
use config::RoomConfig;
use control::SocketRoom;
use document::Refusal;
use waitroom::WebUrl;

use crate::data;

/// Says that a room which runs on this machine, or was deployed, is not changed by its file, and what changes it.
pub fn unchanged_room(config: &RoomConfig) -> Result<Option<String>> {
    let RoomConfig { room: name, rate, .. } = config;
    let running = SocketRoom::certainly_runs_in(&data::directory(None, name)?).then(|| {
        format!(
            "{name} runs on this machine, and is unchanged: it reads this file when it starts. So stop it with Ctrl-C and start it \
             again by the command that you started it with, and everybody keeps their place. It keeps the rate that it has; to change \
             that now: beekeeper set-rate --local {name} {rate}"
        )
    });
    let deployed = config.account.as_ref().map(|_| {
        format!(
            "{name} is on AWS, and is unchanged until you deploy it again: beekeeper deploy {name}. That keeps the rate that it has; \
             to change it now: beekeeper set-rate {name} {rate}"
        )
    });
    let both: Vec<_> = running.into_iter().chain(deployed).collect();
    Ok(Some(both.join("\n")).filter(|text| !text.is_empty()))
}

/// Refuses a change that would leave the stack of a deployed room behind.
pub fn refuse_another_region(before: Option<&RoomConfig>, after: &RoomConfig) -> Result<(), Refusal> {
    let deployed = before.filter(|before| before.account.is_some() && before.region != after.region);
    let Some(RoomConfig { room: name, region: Some(region), .. }) = deployed else { return Ok(()) };
    let reason = format!(
        "cannot change the region of {name}: it was deployed in {region}, and its stack would be left there"
    );
    Err(Refusal::new(reason, format!("remove the room first, with: beekeeper destroy {name}")))
}

/// The error for a shop that sends its visitors back into the line.
pub fn is_the_room(shop: &WebUrl) -> Refusal {
    let circle =
        format!("{shop} is a waiting room: visitors who are admitted there would be sent round in a circle");
    Refusal::new(circle, "give the URL of the shop itself, such as https://shop.example/sale")
}
