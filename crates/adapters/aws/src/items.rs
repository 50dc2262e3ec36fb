//! What lies in the ledger's items, and reading it without trust: a person may have edited the table.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use waitroom::ports::{Fault, PortError, ThrottleMemory};
use waitroom::{Admission, AdmittedBy, LineProgress, Place, Plan, Timestamp, Token, Window};

use crate::keys::Key;

pub(crate) type Item = HashMap<String, AttributeValue>;

/// The format of the items, which each of them carries. It rises when an attribute changes its meaning. A new attribute
/// that older versions can ignore does not need a new format.
pub(crate) const FORMAT: u64 = 1;

/// An item that cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Damaged {
    #[error(
        "{attribute} {problem}; correct the item {item} of the ledger, or delete it and deploy the stack again"
    )]
    Attribute { item: Key, attribute: String, problem: String },
    #[error(
        "the item {item} of the ledger has format {format}, and this version of Beekeeper reads formats up to {FORMAT}; \
         use the version that deployed the room"
    )]
    Newer { item: Key, format: u64 },
}

/// An item that the room cannot do without is not there.
#[derive(Debug, thiserror::Error)]
#[error("the ledger has no item {0}; deploy the stack again, which puts it there")]
pub(crate) struct MissingAttribute(pub(crate) Key);

/// A read that met an item like that.
pub(crate) fn unreadable(attempt: &'static str) -> impl FnOnce(Damaged) -> PortError {
    move |damaged| PortError::new(attempt, Fault::Broken, damaged)
}

pub(crate) fn missing(attempt: &'static str, key: Key) -> PortError {
    PortError::new(attempt, Fault::Broken, MissingAttribute(key))
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

/// An item with its key, its format and these attributes.
pub(crate) fn item<const N: usize>(key: Key, attributes: [(&str, AttributeValue); N]) -> Item {
    let both = [("id".to_owned(), text(&key.id())), ("format".to_owned(), number(FORMAT))].into_iter();
    both.chain(attributes.into_iter().map(|(name, value)| (name.to_owned(), value))).collect()
}

/// Reads an item's attributes, and says which one is wrong and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    key: Key,
    item: &'a Item,
}

impl<'a> Reader<'a> {
    /// Reads a whole item, unless a newer version of Beekeeper wrote it.
    pub(crate) fn open(key: Key, item: &'a Item) -> Result<Self, Damaged> {
        let reader = Self::of_update(key, item);
        match reader.number("format")? {
            0..=FORMAT => Ok(reader),
            format => Err(Damaged::Newer { item: key, format }),
        }
    }

    /// Reads the attributes that an update returned.
    pub(crate) fn of_update(key: Key, item: &'a Item) -> Self {
        Self { key, item }
    }

    fn damaged(self, attribute: &str, problem: impl Into<String>) -> Damaged {
        Damaged::Attribute { item: self.key, attribute: attribute.into(), problem: problem.into() }
    }

    pub(crate) fn has(self, name: &str) -> bool {
        self.item.contains_key(name)
    }

    fn get(self, name: &str) -> Result<&'a AttributeValue, Damaged> {
        self.item.get(name).ok_or_else(|| self.damaged(name, "is missing"))
    }

    pub(crate) fn text(self, name: &str) -> Result<&'a str, Damaged> {
        match self.get(name)? {
            AttributeValue::S(text) => Ok(text),
            _ => Err(self.damaged(name, "is not a text")),
        }
    }

    pub(crate) fn number(self, name: &str) -> Result<u64, Damaged> {
        match self.get(name)? {
            AttributeValue::N(number) => {
                number.parse().map_err(|_| self.damaged(name, "is not a whole number from 0 up"))
            }
            _ => Err(self.damaged(name, "is not a number")),
        }
    }

    /// A text with a meaning.
    pub(crate) fn parsed<T: FromStr<Err: fmt::Display>>(self, name: &str) -> Result<T, Damaged> {
        let parsed = self.text(name)?.parse();
        parsed.map_err(|error: T::Err| self.damaged(name, format!("cannot be read ({error})")))
    }

    /// A number with a meaning.
    pub(crate) fn counted<T, U>(self, name: &str) -> Result<T, Damaged>
    where
        U: TryFrom<u64>,
        T: TryFrom<U, Error: fmt::Display>,
    {
        let number = self.number(name)?;
        let narrow = U::try_from(number).map_err(|_| self.damaged(name, "is too large"))?;
        T::try_from(narrow).map_err(|error| self.damaged(name, format!("cannot be read ({error})")))
    }

    pub(crate) fn time(self, name: &str) -> Result<Timestamp, Damaged> {
        self.number(name).map(Timestamp::from_millis)
    }

    pub(crate) fn json<T: serde::de::DeserializeOwned>(self, name: &str) -> Result<T, Damaged> {
        // The error names a line and a column, never what stands there: it may be a key.
        let place = |error: serde_json::Error| {
            let (line, column) = (error.line(), error.column());
            self.damaged(name, format!("cannot be read (at line {line}, column {column})"))
        };
        serde_json::from_str(self.text(name)?).map_err(place)
    }

    /// Nothing where the attribute is absent.
    pub(crate) fn optional<T>(
        self,
        name: &str,
        read: impl FnOnce(Self, &str) -> Result<T, Damaged>,
    ) -> Result<Option<T>, Damaged> {
        self.has(name).then(|| read(self, name)).transpose()
    }
}

pub(crate) fn encode_admission(token: Token, admission: &Admission) -> Item {
    // As long as the cookie that can ask for it.
    let forgotten = admission.at + Place::MAX_AGE;
    let mut visitor = item(
        Key::Admission(token),
        [
            ("ticket", number(admission.ticket)),
            ("admitted_at", number(admission.at.as_millis())),
            ("until", number(admission.expires.as_millis())),
            ("delete_after", number(forgotten.as_secs())),
        ],
    );
    if let AdmittedBy::Slice(slice) = admission.by {
        visitor.insert("slice".into(), text(&slice));
    }
    visitor
}

pub(crate) fn decode_admission(token: Token, item: &Item) -> Result<Admission, Damaged> {
    let visitor = Reader::open(Key::Admission(token), item)?;
    let slice = visitor.optional("slice", Reader::parsed)?;
    Ok(Admission {
        ticket: visitor.counted::<_, u64>("ticket")?,
        by: slice.map_or(AdmittedBy::Door, AdmittedBy::Slice),
        at: visitor.time("admitted_at")?,
        expires: visitor.time("until")?,
    })
}

/// How long a plan is kept after its window, for whoever wants to know how a sale went.
const PLANS_ARE_KEPT: Duration = Place::MAX_AGE;

pub(crate) fn encode_plan(plan: &Plan) -> Item {
    item(
        Key::Window(plan.number),
        [
            ("start", number(plan.window.start.as_millis())),
            ("end", number(plan.window.end.as_millis())),
            ("rate", number(plan.rate.get())),
            ("quota", number(plan.quota)),
        ],
    )
}

/// What makes the table forget an item of a plan. Only one that is closed: the latest plan of a room that is
/// off for a month has to be there when it is on again.
pub(crate) fn forget(key: Key, plan: &Plan) -> Item {
    item(key, [("delete_after", number((plan.window.end + PLANS_ARE_KEPT).as_secs()))])
}

pub(crate) fn decode_plan(plan: u64, item: &Item) -> Result<Plan, Damaged> {
    let minute = Reader::open(Key::Window(plan), item)?;
    Ok(Plan {
        number: plan,
        window: Window { start: minute.time("start")?, end: minute.time("end")? },
        rate: minute.counted::<_, u32>("rate")?,
        quota: minute.counted::<u32, u32>("quota")?,
    })
}

/// How many the slices of one page have recorded.
pub(crate) fn decode_slices(page: Key, item: &Item) -> Result<u64, Damaged> {
    let reader = Reader::open(page, item)?;
    let recorded = item.keys().filter(|name| name.starts_with("released_"));
    recorded.map(|name| reader.number(name)).try_fold(0u64, |sum, more| Ok(sum.saturating_add(more?)))
}

/// How far the line has come, as far as one item tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ledgered {
    pub(crate) served: u64,
    /// The number of the newest plan; 0 before the first.
    pub(crate) latest: u64,
    /// Released in this epoch by plans whose slices have all ended.
    pub(crate) released: u64,
    /// Plans up to this one belong to epochs before.
    pub(crate) before_epoch: u64,
}

impl Ledgered {
    pub(crate) fn encode(&self) -> Item {
        item(
            Key::Progress,
            [
                ("served", number(self.served)),
                ("latest", number(self.latest)),
                ("released", number(self.released)),
                ("before_epoch", number(self.before_epoch)),
            ],
        )
    }

    pub(crate) fn decode(item: &Item) -> Result<Self, Damaged> {
        let progress = Reader::open(Key::Progress, item)?;
        Ok(Self {
            served: progress.number("served")?,
            latest: progress.number("latest")?,
            released: progress.number("released")?,
            before_epoch: progress.number("before_epoch")?,
        })
    }

    /// With what the plans recorded that are not closed yet.
    pub(crate) fn with(&self, recorded: u64) -> LineProgress {
        LineProgress { served: self.served, released: self.released.saturating_add(recorded) }
    }
}

pub(crate) fn encode_memory(memory: &ThrottleMemory) -> serde_json::Result<Item> {
    let json = serde_json::to_string(memory);
    json.map(|json| item(Key::Throttle, [("memory", text(&json)), ("version", number(memory.version))]))
}

pub(crate) fn decode_memory(item: &Item) -> Result<ThrottleMemory, Damaged> {
    Reader::open(Key::Throttle, item)?.json("memory")
}

#[cfg(test)]
pub(crate) mod tests {
    use waitroom::{Demand, Rate, SliceId, Ticket};

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
        let now = Timestamp::from_millis(1_700_000_000_000);
        let minute = std::time::Duration::from_mins(1);
        let first = Plan::next(None, now, minute, Rate::MAX, Demand::Busy);
        Plan::next(Some(&first), now, minute, Rate::MAX, Demand::Busy)
    }

    #[test]
    fn an_admission_is_kept_as_it_was_for_as_long_as_its_cookie() {
        for by in [AdmittedBy::Slice(SliceId { plan: 3, index: 269 }), AdmittedBy::Door] {
            let item = encode_admission(token(), &admission(by));
            assert_eq!(item["id"], text("admission/07070707070707070707070707070707"));
            assert_eq!(item["delete_after"], number(1_701_209_600_u64), "in seconds, fourteen days later");
            assert_eq!(decode_admission(token(), &item), Ok(admission(by)));
        }
    }

    #[test]
    fn plans_and_progress_are_kept_as_they_were() {
        assert_eq!(decode_plan(2, &encode_plan(&plan())), Ok(plan()));
        let progress = Ledgered { served: 41, latest: 7, released: 300, before_epoch: 2 };
        assert_eq!(Ledgered::decode(&progress.encode()), Ok(progress));
    }

    #[test]
    fn a_page_counts_what_was_recorded() {
        let page = Key::Slices(7, 0);
        let claims = [("claim_0", text("a")), ("claim_1", text("b")), ("released_0", number(10u64))];
        let mut recorded = item(page, claims);
        assert_eq!(decode_slices(page, &recorded), Ok(10));
        recorded.insert("released_1".into(), number(5u64));
        assert_eq!(decode_slices(page, &recorded), Ok(15));
    }

    /// Every attribute, missing or of another type or without meaning, is named.
    pub(crate) fn is_distrusted<T: fmt::Debug>(
        item: &Item,
        optional: &[&str],
        read: impl Fn(&Item) -> Result<T, Damaged>,
    ) {
        let names = item.keys().filter(|name| !matches!(name.as_str(), "id" | "delete_after"));
        for name in names {
            let mut hostile = vec![AttributeValue::Null(true), AttributeValue::L(vec![])];
            hostile.push(match item[name] {
                AttributeValue::S(_) => number(7u64),
                _ => text("7"),
            });
            if let AttributeValue::N(_) = item[name] {
                hostile.extend(["-1", "1.5", "1e400", ""].map(|number| AttributeValue::N(number.into())));
            }
            for value in hostile {
                let mut damaged = item.clone();
                damaged.insert(name.clone(), value.clone());
                let error = read(&damaged).expect_err(&format!("{name} as {value:?}"));
                assert!(error.to_string().starts_with(name.as_str()), "{error}");
            }
            let mut damaged = item.clone();
            damaged.remove(name);
            if !optional.contains(&name.as_str()) {
                let error = read(&damaged).expect_err(name).to_string();
                assert!(error.starts_with(&format!("{name} is missing; correct the item ")), "{error}");
            }
        }
    }

    #[test]
    fn nothing_is_trusted() {
        let visitor = encode_admission(token(), &admission(AdmittedBy::Slice(SliceId { plan: 1, index: 2 })));
        is_distrusted(&visitor, &["slice"], |item| decode_admission(token(), item));
        is_distrusted(&encode_plan(&plan()), &[], |item| decode_plan(2, item));
        let progress = Ledgered { served: 41, latest: 7, released: 300, before_epoch: 2 };
        is_distrusted(&progress.encode(), &[], Ledgered::decode);
    }

    #[test]
    fn a_damaged_item_is_named_but_no_token() {
        let mut item = encode_admission(token(), &admission(AdmittedBy::Door));
        item.insert("ticket".into(), number(0u64));
        let error = decode_admission(token(), &item).unwrap_err().to_string();
        assert_eq!(
            error,
            "ticket cannot be read (a ticket is a whole number from 1 to 9007199254740991, without leading zeros); \
             correct the item admission/… of the ledger, or delete it and deploy the stack again"
        );
    }
}
