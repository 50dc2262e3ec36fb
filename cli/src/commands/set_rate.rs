//! `beekeeper set-rate`: asks first if the rate looks like a typo. Says afterwards if the AWS account cannot keep it up.

use anyhow::Result;
use control::Order;
use document::words;
use waitroom::{Rate, Room};

use super::change;
use crate::arguments::SetRate;
use crate::ask;
use crate::room::RoomHandle;
use crate::runtime::block_on;

pub(crate) fn run(set_rate: &SetRate, json: bool, yes: bool) -> Result<()> {
    block_on(async {
        let found = RoomHandle::find(&set_rate.which).await?;
        let room = &found.room;
        if !yes && let Some(surprise) = surprise(set_rate.rate, &room.status().await?.room) {
            ask::confirm(&surprise, "Set this rate?")?;
        }
        change::order(room, json, Order::SetRate { rate: set_rate.rate }).await?;
        crate::aws::warn_of_rate(&found, set_rate).await;
        Ok(())
    })
}

/// What is surprising about the new rate: it is more than three times the present one, or more than the shop has ever
/// had.
fn surprise(rate: Rate, room: &Room) -> Option<String> {
    let (present, highest) = (room.settings.rate, room.highest_rate());
    let factor = f64::from(rate.get()) / f64::from(present.get());
    let times = format!("{rate} a minute is {} the present rate of {present}", times(factor));
    if rate > highest {
        let record = if present == highest { String::new() } else { format!(" ({highest})") };
        Some(format!("{times}, and more than {} has ever let in{record}", room.settings.room))
    } else {
        (factor > 3.0).then_some(times)
    }
}

/// `2.5 times`, `10 times`, `1,000 times`.
fn times(factor: f64) -> String {
    let exact = format!("{factor:.1}");
    match exact.strip_suffix(".0") {
        Some("1") => "slightly more than".into(),
        Some(whole) if factor < 10.0 => format!("{whole} times"),
        None if factor < 10.0 => format!("{exact} times"),
        _ => format!("{} times", words::number(factor.round())),
    }
}

#[cfg(test)]
mod tests {
    use control::example::suffering;

    use super::*;

    fn surprise_at(present: u32, highest: Option<u32>, rate: u32) -> Option<String> {
        let mut room = suffering().room;
        room.settings.rate = Rate::new(present).unwrap();
        room.highest_rate = highest.map(|rate| Rate::new(rate).unwrap());
        surprise(Rate::new(rate).unwrap(), &room)
    }

    #[test]
    fn a_rate_that_looks_like_a_typo_is_named_with_its_factor() {
        for usual in [1, 59, 60] {
            assert_eq!(surprise_at(60, None, usual), None);
        }
        assert_eq!(surprise_at(60, Some(600), 180), None);
        assert_eq!(
            surprise_at(60, Some(600), 181).unwrap(),
            "181 a minute is 3 times the present rate of 60"
        );
        assert_eq!(
            surprise_at(60, Some(600), 601).unwrap(),
            "601 a minute is 10 times the present rate of 60, and more than spring-sale has ever let in (600)"
        );
        assert_eq!(
            surprise_at(60, None, 600).unwrap(),
            "600 a minute is 10 times the present rate of 60, and more than spring-sale has ever let in"
        );
        for (rate, told) in [
            (61, "61 a minute is slightly more than the present rate of 60, and"),
            (150, "150 a minute is 2.5 times the"),
            (1_234, "1234 a minute is 21 times the"),
            (60_000, "60000 a minute is 1,000 times the"),
        ] {
            let surprise = surprise_at(60, None, rate).unwrap();
            assert!(surprise.starts_with(told), "{surprise}");
        }
    }
}
