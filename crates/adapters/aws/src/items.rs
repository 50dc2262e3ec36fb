//! Encodes and decodes the ledger's items. Decoding checks everything, because a person may have edited the table.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use waitroom::ports::{PortError, ThrottleMemory};
use waitroom::{
    Admission, AdmittedBy, AuditEntry, CountedSlot, IssuedTickets, LineProgress, LineTotals, MinuteRecord,
    Place, Plan, Rate, SliceAdmissions, Timestamp, Token, UsedTime, Window,
};

use crate::keys::Key;

pub(crate) type Item = HashMap<String, AttributeValue>;

/// The format of the items. Each item has it as an attribute. It increases when an attribute changes its meaning. A new
/// attribute that older versions can ignore does not need a new format.
pub(crate) const FORMAT: u64 = 1;

/// An item that cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ItemError {
    #[error(
        "{attribute} {problem} in the item {item} of the ledger; a newer beekeeper may have written it, so use the version that \
         deployed the room; if somebody has changed it by hand, correct it"
    )]
    Attribute { item: Key, attribute: String, problem: String },
    #[error(
        "the item {item} of the ledger has format {format}, and this version of Beekeeper reads formats up to {FORMAT}; \
         use the version that deployed the room"
    )]
    NewerFormat { item: Key, format: u64 },
}

/// An item that every room needs is missing.
#[derive(Debug, thiserror::Error)]
#[error(
    "the ledger has no item {0}; deploy again with a changed setting, such as another title, which creates it anew"
)]
pub(crate) struct MissingItem(pub(crate) Key);

pub(crate) fn missing(attempt: &'static str, key: Key) -> PortError {
    PortError::broken(attempt)(MissingItem(key))
}

pub(crate) fn text(text: &(impl ToString + ?Sized)) -> AttributeValue {
    AttributeValue::S(text.to_string())
}

pub(crate) fn number(number: impl Into<u64>) -> AttributeValue {
    AttributeValue::N(number.into().to_string())
}

pub(crate) fn flag(flag: bool) -> AttributeValue {
    AttributeValue::Bool(flag)
}

pub(crate) fn time(time: Timestamp) -> AttributeValue {
    number(time.as_millis())
}

/// An item with its key, its format and these attributes.
pub(crate) fn item<const N: usize>(key: Key, attributes: [(&str, AttributeValue); N]) -> Item {
    let both = [("id".to_owned(), text(&key.id())), ("format".to_owned(), number(FORMAT))].into_iter();
    both.chain(attributes.into_iter().map(|(name, value)| (name.to_owned(), value))).collect()
}

/// Reads an item's attributes. Errors name the attribute and the problem.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    key: Key,
    item: &'a Item,
}

impl<'a> Reader<'a> {
    /// Reads a whole item, unless a newer version of Beekeeper wrote it.
    pub(crate) fn open(key: Key, item: &'a Item) -> Result<Self, ItemError> {
        let reader = Self::of_update(key, item);
        match reader.number("format")? {
            0..=FORMAT => Ok(reader),
            format => Err(ItemError::NewerFormat { item: key, format }),
        }
    }

    /// Reads the attributes that an update returned.
    pub(crate) fn of_update(key: Key, item: &'a Item) -> Self {
        Self { key, item }
    }

    fn invalid(self, attribute: &str, problem: impl Into<String>) -> ItemError {
        ItemError::Attribute { item: self.key, attribute: attribute.into(), problem: problem.into() }
    }

    pub(crate) fn has(self, name: &str) -> bool {
        self.item.contains_key(name)
    }

    fn get(self, name: &str) -> Result<&'a AttributeValue, ItemError> {
        self.item.get(name).ok_or_else(|| self.invalid(name, "is missing"))
    }

    pub(crate) fn text(self, name: &str) -> Result<&'a str, ItemError> {
        match self.get(name)? {
            AttributeValue::S(text) => Ok(text),
            _ => Err(self.invalid(name, "is not a text")),
        }
    }

    pub(crate) fn number(self, name: &str) -> Result<u64, ItemError> {
        match self.get(name)? {
            AttributeValue::N(number) => {
                number.parse().map_err(|_| self.invalid(name, "is not a whole number from 0 up"))
            }
            _ => Err(self.invalid(name, "is not a number")),
        }
    }

    pub(crate) fn flag(self, name: &str) -> Result<bool, ItemError> {
        match self.get(name)? {
            AttributeValue::Bool(flag) => Ok(*flag),
            _ => Err(self.invalid(name, "is not true or false")),
        }
    }

    /// A text that is parsed.
    pub(crate) fn parsed<T: FromStr<Err: fmt::Display>>(self, name: &str) -> Result<T, ItemError> {
        let parsed = self.text(name)?.parse();
        parsed.map_err(|error: T::Err| self.invalid(name, format!("cannot be read ({error})")))
    }

    /// A number that is converted into a type with bounds.
    pub(crate) fn bounded<T, U>(self, name: &str) -> Result<T, ItemError>
    where
        U: TryFrom<u64>,
        T: TryFrom<U, Error: fmt::Display>,
    {
        let number = self.number(name)?;
        let narrow = U::try_from(number).map_err(|_| self.invalid(name, "is too large"))?;
        T::try_from(narrow).map_err(|error| self.invalid(name, format!("cannot be read ({error})")))
    }

    pub(crate) fn time(self, name: &str) -> Result<Timestamp, ItemError> {
        self.number(name).map(Timestamp::from_millis)
    }

    pub(crate) fn json<T: serde::de::DeserializeOwned>(self, name: &str) -> Result<T, ItemError> {
        // The error names a line and a column, but never the text, because it may be a private key.
        let invalid = |error: serde_json::Error| {
            let (line, column) = (error.line(), error.column());
            self.invalid(name, format!("cannot be read (at line {line}, column {column})"))
        };
        serde_json::from_str(self.text(name)?).map_err(invalid)
    }

    /// `None` if the attribute is missing.
    pub(crate) fn optional<T>(
        self,
        name: &str,
        read: impl FnOnce(Self, &str) -> Result<T, ItemError>,
    ) -> Result<Option<T>, ItemError> {
        self.has(name).then(|| read(self, name)).transpose()
    }
}

pub(crate) fn encode_admission(token: Token, admission: &Admission) -> Item {
    // Kept as long as the visitor's cookie.
    let delete_after = admission.at + Place::MAX_AGE;
    let mut visitor = item(
        Key::Admission(token),
        [
            ("ticket", number(admission.ticket)),
            ("admitted_at", time(admission.at)),
            ("until", time(admission.expires)),
            ("delete_after", number(delete_after.as_secs())),
        ],
    );
    match admission.by {
        AdmittedBy::Slice(slice) => drop(visitor.insert("slice".into(), text(&slice))),
        AdmittedBy::Permit => drop(visitor.insert("permit".into(), flag(true))),
        AdmittedBy::Door => {}
    }
    visitor
}

pub(crate) fn decode_admission(token: Token, item: &Item) -> Result<Admission, ItemError> {
    let visitor = Reader::open(Key::Admission(token), item)?;
    let by = match visitor.optional("slice", Reader::parsed)? {
        Some(slice) => AdmittedBy::Slice(slice),
        None if visitor.has("permit") => AdmittedBy::Permit,
        None => AdmittedBy::Door,
    };
    Ok(Admission {
        ticket: visitor.bounded::<_, u64>("ticket")?,
        by,
        at: visitor.time("admitted_at")?,
        expires: visitor.time("until")?,
    })
}

/// The permits of those who go straight in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PermitItem {
    pub(crate) used: UsedTime,
    /// How many went straight in in this epoch.
    pub(crate) straight: u64,
}

impl PermitItem {
    pub(crate) fn decode(item: &Item) -> Result<Self, ItemError> {
        let permits = Reader::open(Key::Permits, item)?;
        Ok(Self {
            used: UsedTime(permits.optional("used", Reader::number)?.unwrap_or_default()),
            straight: permits.optional("straight", Reader::number)?.unwrap_or_default(),
        })
    }
}

/// How many newcomers came in which slots while the room observed, oldest first.
pub(crate) fn decode_newcomers(item: &Item) -> Result<Vec<CountedSlot>, ItemError> {
    let permits = Reader::open(Key::Permits, item)?;
    let slots = item.keys().filter_map(|name| Some((name, name.strip_prefix("at_")?.parse().ok()?)));
    let slot = |(name, millis): (&String, u64)| {
        let from = Timestamp::from_millis(millis);
        permits.number(name).map(|newcomers| CountedSlot { from, newcomers })
    };
    let mut slots = slots.map(slot).collect::<Result<Vec<_>, _>>()?;
    slots.sort_by_key(|slot| slot.from);
    Ok(slots)
}

/// How long a plan is kept after its window, so that the course of a sale can be looked up.
const PLANS_KEPT: Duration = Place::MAX_AGE;

pub(crate) fn encode_plan(plan: &Plan) -> Item {
    item(
        Key::Window(plan.number),
        [
            ("start", time(plan.window.start)),
            ("end", time(plan.window.end)),
            ("rate", number(plan.rate.get())),
            ("quota", number(plan.quota)),
            ("releases_from", time(plan.releases_from)),
            ("ahead", number(plan.ahead)),
            ("valve_from", time(plan.valve_from)),
            ("made_at", time(plan.made_at)),
            ("planned_before", time(plan.planned_before)),
            ("needs_permits", flag(plan.needs_permits)),
        ],
    )
}

/// The attribute that lets the table delete an item of a plan later. Only for closed plans: if a room is off for a
/// month, its latest plan must still exist when it is on again.
pub(crate) fn delete_later(key: Key, plan: &Plan) -> Item {
    item(key, [("delete_after", number((plan.window.end + PLANS_KEPT).as_secs()))])
}

pub(crate) fn decode_plan(plan: u64, item: &Item) -> Result<Plan, ItemError> {
    let reader = Reader::open(Key::Window(plan), item)?;
    Ok(Plan {
        number: plan,
        window: Window { start: reader.time("start")?, end: reader.time("end")? },
        rate: reader.bounded::<_, u32>("rate")?,
        quota: reader.bounded::<u32, u32>("quota")?,
        // Older plans do not have these.
        releases_from: reader.optional("releases_from", Reader::time)?.unwrap_or_default(),
        ahead: reader.optional("ahead", Reader::number)?.unwrap_or_default(),
        valve_from: reader.optional("valve_from", Reader::time)?.unwrap_or_default(),
        made_at: reader.optional("made_at", Reader::time)?.unwrap_or_default(),
        planned_before: reader.optional("planned_before", Reader::time)?.unwrap_or_default(),
        needs_permits: reader.optional("needs_permits", Reader::flag)?.unwrap_or_default(),
    })
}

/// What the slices of a group have said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SlicesItem {
    pub(crate) recorded: u64,
    /// The lowest ticket that the line delivered to one of them.
    pub(crate) lowest: Option<u64>,
    /// What those that were taken have admitted.
    pub(crate) admitted: HashMap<u16, SliceAdmissions>,
}

impl SlicesItem {
    pub(crate) fn decode(group: Key, item: &Item) -> Result<Self, ItemError> {
        let reader = Reader::open(group, item)?;
        let numbers = |prefix: &'static str| {
            let names = item.keys().filter(move |name| name.starts_with(prefix));
            names.map(move |name| reader.number(name)).collect::<Result<Vec<_>, _>>()
        };
        let taken = item.keys().filter_map(|name| name.strip_prefix("claim_")?.parse::<u16>().ok());
        let admitted = taken.map(|index| {
            let said = reader.optional(&format!("at_most_{index}"), Reader::number)?;
            Ok((index, said.map_or(SliceAdmissions::Unsaid, SliceAdmissions::AtMost)))
        });
        Ok(Self {
            recorded: numbers("released_")?.into_iter().fold(0, u64::saturating_add),
            lowest: numbers("lowest_")?.into_iter().min(),
            admitted: admitted.collect::<Result<_, ItemError>>()?,
        })
    }
}

/// The item `progress`. What the slices of open plans have recorded is not in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProgressItem {
    pub(crate) reached: u64,
    pub(crate) overtaken: u64,
    pub(crate) disorder: u64,
    /// The number of the newest plan; 0 before the first.
    pub(crate) latest: u64,
    /// Plans up to this number are closed: their slices record no more.
    pub(crate) closed: u64,
    /// How many visitors closed plans have released in this epoch.
    pub(crate) released: u64,
    /// Plans up to this number belong to earlier epochs.
    pub(crate) before_epoch: u64,
}

impl ProgressItem {
    pub(crate) fn encode(&self) -> Item {
        item(
            Key::Progress,
            [
                ("served", number(self.reached)),
                ("passed", number(self.overtaken)),
                ("disorder", number(self.disorder)),
                ("latest", number(self.latest)),
                ("closed", number(self.closed)),
                ("released", number(self.released)),
                ("before_epoch", number(self.before_epoch)),
            ],
        )
    }

    pub(crate) fn decode(item: &Item) -> Result<Self, ItemError> {
        let progress = Reader::open(Key::Progress, item)?;
        let latest = progress.number("latest")?;
        Ok(Self {
            reached: progress.number("served")?,
            // The first format does not have them.
            overtaken: progress.optional("passed", Reader::number)?.unwrap_or_default(),
            disorder: progress.optional("disorder", Reader::number)?.unwrap_or_default(),
            latest,
            // The first format always left three plans open.
            closed: progress.optional("closed", Reader::number)?.unwrap_or(latest.saturating_sub(3)),
            released: progress.number("released")?,
            before_epoch: progress.number("before_epoch")?,
        })
    }

    /// The progress of the line. `recorded` is what the slices of open plans have recorded.
    pub(crate) fn with(&self, recorded: u64) -> LineProgress {
        let Self { reached, overtaken, disorder, .. } = *self;
        LineProgress { reached, overtaken, disorder, released: self.released.saturating_add(recorded) }
    }
}

/// The ticket counter. In rooms of the first format, nothing says when it last changed: long ago, as far as is known.
pub(crate) fn decode_tickets(item: &Item) -> Result<IssuedTickets, ItemError> {
    let tickets = Reader::open(Key::Tickets, item)?;
    let at = tickets.optional("leased_at", Reader::time)?.unwrap_or_default();
    Ok(IssuedTickets { last: tickets.number("last")?, at })
}

pub(crate) fn encode_memory(memory: &ThrottleMemory) -> serde_json::Result<Item> {
    let json = serde_json::to_string(memory);
    json.map(|json| item(Key::Throttle, [("memory", text(&json)), ("version", number(memory.version))]))
}

pub(crate) fn decode_memory(item: &Item) -> Result<ThrottleMemory, ItemError> {
    Reader::open(Key::Throttle, item)?.json("memory")
}

pub(crate) fn encode_entry(entry: &AuditEntry) -> serde_json::Result<Item> {
    let json = serde_json::to_string(entry);
    json.map(|json| item(Key::Audit(entry.number), [("entry", text(&json))]))
}

/// The record of a minute. `None` if only the longest wait was noted so far.
pub(crate) fn decode_minute(number: u64, item: &Item) -> Result<Option<MinuteRecord>, ItemError> {
    let minute = Reader::open(Key::Minute(number), item)?;
    if !minute.has("at") {
        return Ok(None);
    }
    let totals = LineTotals {
        at: minute.time("at")?,
        epoch: minute.parsed("epoch")?,
        joined: minute.number("joined")?,
        released: minute.number("released")?,
        entered: None,
        waiting: minute.number("waiting")?,
        // 0 while nobody is released.
        rate: minute.bounded::<u32, u32>("rate").map(|rate| Rate::new(rate).ok())?,
        // Records of before do not have these.
        rehearsal: minute.optional("rehearsal", Reader::flag)?.unwrap_or_default(),
        observed: minute.optional("observed", Reader::json)?,
    };
    Ok(Some(MinuteRecord { totals, longest_wait: decode_longest_wait(number, item)? }))
}

/// The closing records of a minute, in order.
pub(crate) fn decode_closing(number: u64, item: &Item) -> Result<Vec<MinuteRecord>, ItemError> {
    let minute = Reader::open(Key::Minute(number), item)?;
    let names = item.keys().filter(|name| name.starts_with("closing_"));
    let mut closing = names.map(|name| minute.json(name)).collect::<Result<Vec<MinuteRecord>, _>>()?;
    closing.sort_by_key(|record| record.totals.at);
    Ok(closing)
}

/// The longest wait in the record of a minute, in seconds.
pub(crate) fn decode_longest_wait(number: u64, item: &Item) -> Result<Option<u64>, ItemError> {
    Reader::open(Key::Minute(number), item)?.optional("longest_wait", Reader::number)
}

pub(crate) fn decode_entry(number: u64, item: &Item) -> Result<AuditEntry, ItemError> {
    Reader::open(Key::Audit(number), item)?.json("entry")
}

#[cfg(test)]
pub(crate) mod tests {
    use waitroom::{Rate, SliceId, Ticket};

    use super::*;

    fn token() -> Token {
        Token::from_bytes([7; Token::BYTES])
    }

    fn admission(by: AdmittedBy) -> Admission {
        Admission {
            ticket: Ticket::new(4711).unwrap(),
            by,
            at: Timestamp::from_millis(1_700_000_000_123),
            expires: Timestamp::from_millis(1_700_003_600_123),
        }
    }

    fn plan() -> Plan {
        let at = |seconds: u64| Timestamp::from_millis(1_700_000_000_000 + 1000 * seconds);
        Plan {
            number: 2,
            window: Window { start: at(0), end: at(60) },
            releases_from: at(1),
            ahead: 400,
            rate: Rate::MAX,
            quota: 265_500,
            valve_from: at(0),
            made_at: at(0),
            planned_before: at(0),
            needs_permits: false,
        }
    }

    #[test]
    fn an_admission_is_encoded_and_expires_with_its_cookie() {
        for by in [AdmittedBy::Slice(SliceId { plan: 3, index: 269 }), AdmittedBy::Permit, AdmittedBy::Door] {
            let item = encode_admission(token(), &admission(by));
            assert_eq!(item["id"], text("admission/07070707070707070707070707070707"));
            assert_eq!(item["delete_after"], number(1_701_209_600_u64), "in seconds, fourteen days later");
            assert_eq!(decode_admission(token(), &item), Ok(admission(by)));
        }
    }

    fn progress() -> ProgressItem {
        ProgressItem {
            reached: 41,
            latest: 7,
            closed: 4,
            released: 300,
            before_epoch: 2,
            ..ProgressItem::default()
        }
    }

    #[test]
    fn plans_and_progress_are_encoded_and_decoded() {
        assert_eq!(decode_plan(2, &encode_plan(&plan())), Ok(plan()));
        assert_eq!(ProgressItem::decode(&progress().encode()), Ok(progress()));
    }

    #[test]
    fn records_of_a_page_are_added_up() {
        use SliceAdmissions::{AtMost, Unsaid};

        let group = Key::Slices(7, 0);
        let claims = [("claim_0", text("a")), ("claim_1", text("b")), ("released_0", number(10u64))];
        let mut recorded = item(group, claims);
        let slices = |recorded, lowest, [first, second]: [SliceAdmissions; 2]| {
            Ok(SlicesItem { recorded, lowest, admitted: HashMap::from([(0, first), (1, second)]) })
        };
        assert_eq!(SlicesItem::decode(group, &recorded), slices(10, None, [Unsaid; 2]));
        recorded.insert("released_1".into(), number(5u64));
        recorded.extend([("lowest_0".to_owned(), number(40u64)), ("lowest_1".to_owned(), number(41u64))]);
        recorded.insert("at_most_0".into(), number(11u64));
        assert_eq!(SlicesItem::decode(group, &recorded), slices(15, Some(40), [AtMost(11), Unsaid]));
        recorded.insert("at_most_1".into(), number(5u64));
        assert_eq!(SlicesItem::decode(group, &recorded), slices(15, Some(40), [AtMost(11), AtMost(5)]));
    }

    /// Asserts that an attribute that is missing, of another type or out of bounds is an error that names it.
    pub(crate) fn assert_invalid_attributes_are_named<T: fmt::Debug>(
        item: &Item,
        optional: &[&str],
        read: impl Fn(&Item) -> Result<T, ItemError>,
    ) {
        let names = item.keys().filter(|name| !matches!(name.as_str(), "id" | "delete_after"));
        for name in names {
            let mut invalid = vec![AttributeValue::Null(true), AttributeValue::L(vec![])];
            invalid.push(match item[name] {
                AttributeValue::S(_) => number(7u64),
                _ => text("7"),
            });
            if let AttributeValue::N(_) = item[name] {
                invalid.extend(["-1", "1.5", "1e400", ""].map(|number| AttributeValue::N(number.into())));
            }
            for value in invalid {
                let mut changed = item.clone();
                changed.insert(name.clone(), value.clone());
                let error = read(&changed).expect_err(&format!("{name} as {value:?}"));
                assert!(error.to_string().starts_with(name.as_str()), "{error}");
            }
            let mut changed = item.clone();
            changed.remove(name);
            if !optional.contains(&name.as_str()) {
                let error = read(&changed).expect_err(name).to_string();
                assert!(error.starts_with(&format!("{name} is missing in the item ")), "{error}");
            }
        }
    }

    #[test]
    fn invalid_attributes_are_errors() {
        let visitor = encode_admission(token(), &admission(AdmittedBy::Slice(SliceId { plan: 1, index: 2 })));
        assert_invalid_attributes_are_named(&visitor, &["slice"], |item| decode_admission(token(), item));
        let later = ["releases_from", "ahead", "valve_from", "made_at", "planned_before", "needs_permits"];
        assert_invalid_attributes_are_named(&encode_plan(&plan()), &later, |item| decode_plan(2, item));
        assert_invalid_attributes_are_named(
            &progress().encode(),
            &["closed", "passed", "disorder"],
            ProgressItem::decode,
        );
    }

    #[test]
    fn an_error_names_the_item_but_not_the_token() {
        let mut item = encode_admission(token(), &admission(AdmittedBy::Door));
        item.insert("ticket".into(), number(0u64));
        let error = decode_admission(token(), &item).unwrap_err().to_string();
        assert_eq!(
            error,
            "ticket cannot be read (a ticket is a whole number from 1 to 9007199254740991, without leading zeros) \
             in the item admission/… of the ledger; a newer beekeeper may have written it, so use the version that deployed the room; \
             if somebody has changed it by hand, correct it"
        );
    }
}
