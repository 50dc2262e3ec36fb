//! The item of the room, and the sixteen copies of the status for polls.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use pass::ReportKeyDigest;
use waitroom::{ActiveLimit, Lifetimes, LineStatus, Message, Mode, Notice, Room, Settings};

use crate::items::{Item, ItemError, Reader, flag, item, number, text, time};
use crate::keys::Key;

/// What an item has, by name. An attribute without a value is absent from it, and a write removes it, so that nothing
/// of before stays.
type Attributes = Vec<(&'static str, Option<AttributeValue>)>;

/// Names every field of a room, so that one that is stored nowhere does not compile.
fn room_attributes(room: &Room) -> Attributes {
    let Room {
        settings,
        url,
        epoch,
        epoch_began,
        state,
        opens,
        closes,
        ends,
        then_off,
        stock,
        extra,
        notice,
        throttled,
        turnout,
        while_full,
        report_key,
        quiet,
        highest_rate,
        valves,
        stretch,
        rehearsal,
        version,
    } = room;
    let Settings {
        room: name,
        title,
        shop,
        health,
        rate,
        message,
        mode,
        oversubscribe,
        active,
        edge,
        lifetimes,
    } = settings;
    let Lifetimes { admission, pass } = lifetimes;
    vec![
        ("room", Some(text(name))),
        ("title", Some(text(title))),
        ("shop", Some(text(shop))),
        ("health", health.as_ref().map(text)),
        ("url", Some(text(url))),
        ("rate", Some(number(rate.get()))),
        ("message", Some(text(message))),
        ("mode", (*mode != Mode::default()).then(|| text(mode))),
        ("oversubscribe", oversubscribe.map(|most| number(most.get()))),
        ("edge", edge.then(|| flag(true))),
        ("active_visitors", active.map(|limit| number(limit.visitors))),
        ("idle_seconds", active.map(|limit| number(limit.idle.as_secs()))),
        ("session_seconds", active.map(|limit| number(limit.session.as_secs()))),
        ("admission_seconds", Some(number(admission.as_secs()))),
        ("pass_seconds", Some(number(pass.as_secs()))),
        ("epoch", Some(text(epoch))),
        ("epoch_began", epoch_began.map(time)),
        ("state", Some(text(state.as_str()))),
        ("opens", opens.map(time)),
        ("closes", closes.map(time)),
        ("ends", ends.map(time)),
        ("then_off", then_off.then(|| flag(true))),
        ("stock", stock.as_ref().map(text)),
        ("extra", extra.as_ref().map(text)),
        ("notice", some_text(&notice.text).map(text)),
        ("link", notice.link.as_ref().map(text)),
        ("throttled", throttled.map(|rate| number(rate.get()))),
        ("turnout", turnout.as_ref().map(text)),
        ("while_full", while_full.map(|rate| number(rate.get()))),
        ("report_key", report_key.as_ref().map(|digest| text(digest.as_str()))),
        ("quiet", Some(flag(*quiet))),
        ("highest_rate", highest_rate.map(|rate| number(rate.get()))),
        ("valves", (!valves.is_empty()).then(|| text(valves))),
        ("stretch", Some(number(stretch.get()))),
        ("rehearsal", rehearsal.as_ref().map(text)),
        ("version", Some(number(*version))),
    ]
}

pub(crate) fn encode_room(room: &Room) -> Item {
    present(Key::Room, room_attributes(room))
}

pub(crate) fn absent_from_room(room: &Room) -> Vec<&'static str> {
    absent(room_attributes(room))
}

fn present(key: Key, attributes: Attributes) -> Item {
    let mut encoded = item(key, []);
    encoded.extend(attributes.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    encoded
}

fn absent(attributes: Attributes) -> Vec<&'static str> {
    attributes.into_iter().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect()
}

pub(crate) fn decode_room(item: &Item) -> Result<Room, ItemError> {
    let room = Reader::open(Key::Room, item)?;
    let seconds = |name| room.number(name).map(Duration::from_secs);
    Ok(Room {
        settings: Settings {
            room: room.parsed("room")?,
            title: room.parsed("title")?,
            shop: room.parsed("shop")?,
            health: room.optional("health", Reader::parsed)?,
            rate: room.bounded::<_, u32>("rate")?,
            message: room.parsed("message")?,
            mode: room.optional("mode", Reader::parsed)?.unwrap_or_default(),
            oversubscribe: room.optional("oversubscribe", Reader::bounded::<_, u32>)?,
            edge: room.optional("edge", Reader::flag)?.unwrap_or_default(),
            active: decode_limit(room)?,
            lifetimes: Lifetimes { admission: seconds("admission_seconds")?, pass: seconds("pass_seconds")? },
        },
        url: room.parsed("url")?,
        epoch: room.parsed("epoch")?,
        state: room.parsed("state")?,
        throttled: room.optional("throttled", Reader::bounded::<_, u32>)?,
        // Rooms of earlier versions do not have these, nor a mode or a limit of active visitors.
        turnout: room.optional("turnout", Reader::parsed)?,
        while_full: room.optional("while_full", Reader::bounded::<_, u32>)?,
        report_key: room.optional("report_key", Reader::text)?.map(ReportKeyDigest::stored),
        epoch_began: room.optional("epoch_began", Reader::time)?,
        closes: room.optional("closes", Reader::time)?,
        ends: room.optional("ends", Reader::time)?,
        then_off: room.optional("then_off", Reader::flag)?.unwrap_or_default(),
        stock: room.optional("stock", Reader::parsed)?,
        extra: room.optional("extra", Reader::parsed)?,
        notice: Notice {
            text: room.optional("notice", Reader::parsed)?.unwrap_or_default(),
            link: room.optional("link", Reader::parsed)?,
        },
        opens: room.optional("opens", Reader::time)?,
        highest_rate: room.optional("highest_rate", Reader::bounded::<_, u32>)?,
        quiet: room.optional("quiet", Reader::flag)?.unwrap_or_default(),
        valves: room.optional("valves", Reader::parsed)?.unwrap_or_default(),
        rehearsal: room.optional("rehearsal", Reader::parsed)?,
        stretch: room.bounded::<_, u32>("stretch")?,
        version: room.number("version")?,
    })
}

fn decode_limit(room: Reader<'_>) -> Result<Option<ActiveLimit>, ItemError> {
    let Some(visitors) = room.optional("active_visitors", Reader::number)? else { return Ok(None) };
    let seconds = |name| room.number(name).map(Duration::from_secs);
    Ok(Some(ActiveLimit {
        visitors: u32::try_from(visitors).unwrap_or(u32::MAX),
        idle: seconds("idle_seconds")?,
        session: seconds("session_seconds")?,
    }))
}

/// The number of the last entry of the audit trail, which is in the room's item; 0 before the first.
pub(crate) fn decode_last_entry(item: &Item) -> Result<u64, ItemError> {
    let last = Reader::open(Key::Room, item)?.optional("last_entry", Reader::number)?;
    Ok(last.unwrap_or_default())
}

/// The part of the status that comes from the room: what polls show of its settings, and the rate in force.
///
/// Mapping templates copy the texts into JSON unchanged. So they are stored with JSON's escapes, without the quotation
/// marks.
fn status_attributes(room: &Room) -> Attributes {
    let shop = &room.settings.shop;
    vec![
        ("epoch", Some(text(&room.epoch))),
        ("state", Some(text(room.state.as_str()))),
        ("observes", room.observes_once_on().then(|| flag(true))),
        ("opens", room.opens.map(time)),
        ("closes", room.closes.map(time)),
        ("ends", room.ends.map(time)),
        // Polls show what is `left` of it, which is published.
        ("stock", room.stock.map(|stock| number(stock.size.get()))),
        ("notice", some_text(&room.notice.text).map(|notice| text(&escaped(notice.as_str())))),
        ("link", room.notice.link.as_ref().map(|link| text(&escaped(&link.to_string())))),
        ("stretch", Some(number(room.stretch.get()))),
        ("message", Some(text(&escaped(room.settings.message.as_str())))),
        ("origin", Some(text(&escaped(&shop.to_string())))),
        ("cors", Some(text(&shop.as_url().origin().ascii_serialization()))),
        ("rate", Some(number(room.pace_of_line().get()))),
        ("slow", Some(flag(room.slowdown().is_some()))),
        ("edge", room.settings.edge.then(|| flag(true))),
        ("rehearsal", room.rehearsal.as_ref().map(text)),
    ]
}

pub(crate) fn encode_status(digit: u8, room: &Room) -> Item {
    present(Key::Status(digit), status_attributes(room))
}

pub(crate) fn absent_from_status(room: &Room) -> Vec<&'static str> {
    absent(status_attributes(room))
}

/// The status of a new line.
pub(crate) fn encode_first_status(digit: u8, room: &Room) -> Item {
    let mut status = encode_status(digit, room);
    status.extend(["served", "passed", "disorder", "waiting"].map(|name| (name.to_owned(), number(0u64))));
    status
}

/// What a poll reads of a copy.
pub(crate) fn decode_status(key: Key, copy: &Item) -> Result<LineStatus, ItemError> {
    let status = Reader::open(key, copy)?;
    let left = status.optional("left", Reader::number)?;
    Ok(LineStatus {
        reached: status.number("served")?,
        overtaken: status.optional("passed", Reader::number)?.unwrap_or_default(),
        disorder: status.optional("disorder", Reader::number)?.unwrap_or_default(),
        waiting: status.number("waiting")?,
        rate: status.bounded::<_, u32>("rate")?,
        slow: status.flag("slow")?,
        left: left.map(|left| u32::try_from(left).unwrap_or(u32::MAX)),
    })
}

fn some_text(text: &Message) -> Option<&Message> {
    Some(text).filter(|text| !text.as_str().is_empty())
}

fn escaped(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    // Without the quotation mark at each end.
    json.get(1..json.len() - 1).unwrap_or_default().into()
}

#[cfg(test)]
pub(crate) mod tests {
    use waitroom::{LineReach, Oversubscription, Rate, RoomState, Stretch, Timestamp, fixture};

    use super::*;

    fn notice() -> Notice {
        let link = Some("https://shop.example/next?a=1".parse().unwrap());
        Notice { text: "\"Sold out\"\nzwei".parse().unwrap(), link }
    }

    fn limit() -> ActiveLimit {
        ActiveLimit { visitors: 900, idle: Duration::from_mins(15), session: Duration::from_mins(90) }
    }

    /// Only some rooms have these.
    const OPTIONAL: [&str; 23] = [
        "health",
        "epoch_began",
        "throttled",
        "opens",
        "closes",
        "ends",
        "stock",
        "extra",
        "notice",
        "link",
        "rehearsal",
        "active_visitors",
        "idle_seconds",
        "session_seconds",
        "while_full",
        "report_key",
        "edge",
        "then_off",
        "mode",
        "oversubscribe",
        "turnout",
        "highest_rate",
        "valves",
    ];

    /// A room that has nothing but what every room has.
    fn plain() -> Room {
        fixture::room(3300)
    }

    /// A room that has everything.
    pub(crate) fn room() -> Room {
        let settings = Settings {
            health: Some("https://shop.example/health".parse().unwrap()),
            message: "It's \"on\" 🦭\nzwei".parse().unwrap(),
            mode: Mode::Overflow,
            oversubscribe: Some(Oversubscription::MAX),
            active: Some(limit()),
            edge: true,
            lifetimes: Lifetimes { admission: Duration::from_mins(90), pass: Duration::from_mins(30) },
            ..Settings::new(
                "sale".parse().unwrap(),
                "Seal's Brewing".parse().unwrap(),
                "https://shop.example:8443/sale?a=1".parse().unwrap(),
                Rate::new(3300).unwrap(),
            )
        };
        let url = "https://room.example/prod".parse().unwrap();
        let room = Room::new(settings, url, "ab12".parse().unwrap());
        Room {
            epoch_began: Some(Timestamp::from_millis(1_700_000_000_000)),
            throttled: Some(Rate::MIN),
            highest_rate: Some(Rate::MAX),
            opens: Some(Timestamp::from_millis(1_700_000_600_000)),
            closes: Some(Timestamp::from_millis(1_700_000_700_000)),
            ends: Some(Timestamp::from_millis(1_700_000_800_000)),
            then_off: true,
            stock: Some("5000/17".parse().unwrap()),
            extra: Some("50/1700000060000".parse().unwrap()),
            notice: notice(),
            valves: "0=3300 1700000000000=closed".parse().unwrap(),
            stretch: Stretch::MAX,
            rehearsal: Some("abcdefghijkmnpqr".parse().unwrap()),
            turnout: Some("4800/6000".parse().unwrap()),
            while_full: Some(Rate::MIN),
            report_key: Some(ReportKeyDigest::stored("5e")),
            state: RoomState::Paused,
            version: 7,
            ..room
        }
    }

    #[test]
    fn a_room_is_encoded_and_decoded() {
        assert_eq!(decode_room(&encode_room(&room())), Ok(room()));
        assert_eq!(absent_from_room(&room()), Vec::<&str>::new());
        let item = encode_room(&plain());
        assert!(OPTIONAL.iter().all(|name| !item.contains_key(*name)));
        assert_eq!(decode_room(&item), Ok(plain()));
    }

    #[test]
    fn the_status_has_texts_with_json_escapes() {
        let status = encode_status(10, &room());
        assert_eq!(status["id"], text("status/a"));
        assert_eq!(status["message"], text(r#"It's \"on\" 🦭\nzwei"#));
        assert_eq!(status["origin"], text("https://shop.example:8443/sale?a=1"));
        assert_eq!(status["cors"], text("https://shop.example:8443"));
        assert_eq!(status["rate"], number(1u64), "the rate in force");
        assert_eq!(status["rehearsal"], text("abcdefghijkmnpqr"));
        assert_eq!(
            (&status["opens"], absent_from_status(&room())),
            (&number(1_700_000_600_000u64), vec!["observes"])
        );
        assert_eq!(
            (&status["closes"], &status["ends"]),
            (&number(1_700_000_700_000u64), &number(1_700_000_800_000u64))
        );
        assert_eq!(status["stock"], number(5000u64));
        assert_eq!(status["notice"], text(r#"\"Sold out\"\nzwei"#));
        assert_eq!(status["link"], text("https://shop.example/next?a=1"));
        let absent = ["observes", "opens", "closes", "ends", "stock", "notice", "link", "edge", "rehearsal"];
        assert!(absent.iter().all(|name| !encode_status(0, &plain()).contains_key(*name)));
        assert_eq!(absent_from_status(&plain()), absent);
        let mut first = encode_first_status(0, &room());
        assert_eq!((&first["served"], &first["waiting"]), (&number(0u64), &number(0u64)));
        let new = LineStatus::of(&room(), LineReach::default(), 0, None);
        assert_eq!(decode_status(Key::Status(0), &first), Ok(new));
        first.insert("left".into(), number(7u64));
        assert_eq!(decode_status(Key::Status(0), &first), Ok(LineStatus { left: Some(7), ..new }));
    }

    #[test]
    fn an_invalid_room_is_an_error() {
        crate::items::tests::assert_invalid_attributes_are_named(
            &encode_room(&room()),
            &[&OPTIONAL[..], &["quiet"]].concat(),
            decode_room,
        );
        let rows = [
            ("rate", number(0u64), "rate cannot be read (a rate is a whole number of visitors a minute"),
            ("rate", number(u64::MAX), "rate is too large"),
            ("epoch", text("last year"), "epoch cannot be read (an epoch is four characters"),
            ("shop", text("shop.example"), "shop cannot be read (not a URL"),
        ];
        for (name, value, expected) in rows {
            let mut item = encode_room(&room());
            item.insert(name.into(), value);
            let error = decode_room(&item).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
            assert!(
                error.contains(" in the item room of the ledger; a newer beekeeper may have written it,"),
                "{error}"
            );
        }
    }
}
