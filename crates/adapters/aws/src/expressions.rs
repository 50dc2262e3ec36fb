//! Every change of an item and every condition on which one is made, in DynamoDB's expression language.
//!
//! A name is written `#name`, because many of ours are reserved words there, and stands for the attribute of
//! just that name; a value is written `:value`.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use waitroom::ports::Claimant;
use waitroom::{LineStatus, Rate, SliceId};

use crate::items::{Item, Ledgered, flag, number, text};

/// What to write and when: no update where a whole item is put, no condition where it is written anyway.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Statement {
    pub(crate) update: String,
    pub(crate) condition: String,
    pub(crate) values: HashMap<String, AttributeValue>,
}

impl Statement {
    fn new<const N: usize>(update: &str, condition: &str, values: [(&str, AttributeValue); N]) -> Self {
        let values = values.map(|(name, value)| (name.to_owned(), value)).into();
        Self { update: update.into(), condition: condition.into(), values }
    }

    pub(crate) fn condition(&self) -> Option<String> {
        Some(self.condition.clone()).filter(|condition| !condition.is_empty())
    }

    /// DynamoDB refuses an empty list of values, as of names.
    pub(crate) fn values(&self) -> Option<HashMap<String, AttributeValue>> {
        Some(self.values.clone()).filter(|values| !values.is_empty())
    }

    /// The attributes that the expressions name.
    pub(crate) fn names(&self) -> Option<HashMap<String, String>> {
        let texts = [&self.update, &self.condition];
        let names = texts.into_iter().flat_map(|text| text.split('#').skip(1)).map(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            &rest[..end]
        });
        let names: HashMap<_, _> = names.map(|name| (format!("#{name}"), name.to_owned())).collect();
        Some(names).filter(|names| !names.is_empty())
    }
}

/// An item whether it is there or not.
pub(crate) fn any() -> Statement {
    Statement::default()
}

/// An item that is not there yet.
pub(crate) fn absent() -> Statement {
    Statement::new("", "attribute_not_exists(#id)", [])
}

/// The throttle's memory, if its version is still the one before this.
pub(crate) fn follows_version(version: u64) -> Statement {
    let condition = match version {
        1 => "attribute_not_exists(#id) OR #version = :before",
        _ => "#version = :before",
    };
    Statement::new("", condition, [(":before", number(version.saturating_sub(1)))])
}

/// Grants ticket numbers: `last` is the last that was granted.
pub(crate) fn lease(count: u32) -> Statement {
    Statement::new("ADD #last :count", "", [(":count", number(count))])
}

/// Gives a slice to the claimant unless another has it. Its page was written with the plan.
pub(crate) fn claim(slice: SliceId, by: Claimant) -> Statement {
    let index = slice.index;
    Statement::new(
        &format!("SET #claim_{index} = :by"),
        &format!("attribute_exists(#id) AND (attribute_not_exists(#claim_{index}) OR #claim_{index} = :by)"),
        [(":by", text(&format_args!("{:032x}", by.0)))],
    )
}

/// Records how many a slice has released in all: only upwards, and only for a slice that was claimed.
pub(crate) fn record(slice: SliceId, released: u32) -> Statement {
    let index = slice.index;
    Statement::new(
        &format!("SET #released_{index} = :released"),
        &format!(
            "attribute_exists(#claim_{index}) AND \
             (attribute_not_exists(#released_{index}) OR #released_{index} < :released)"
        ),
        [(":released", number(released))],
    )
}

/// Moves the ticket that the line has reached: only upwards, and not for a plan of an epoch before.
pub(crate) fn reach(plan: u64, served: u64) -> Statement {
    Statement::new(
        "SET #served = :served",
        "#served < :served AND #before_epoch < :plan",
        [(":served", number(served)), (":plan", number(plan))],
    )
}

/// Makes a plan the latest, and closes the one that can record nothing more.
pub(crate) fn follow(plan: u64, before: &Ledgered, recorded: u64) -> Statement {
    Statement::new(
        "SET #latest = :latest, #released = #released + :recorded",
        "#latest = :before AND #before_epoch = :before_epoch",
        [
            (":latest", number(plan)),
            (":recorded", number(recorded)),
            (":before", number(before.latest)),
            (":before_epoch", number(before.before_epoch)),
        ],
    )
}

/// What polls show of the line's progress.
pub(crate) fn publish(status: LineStatus) -> Statement {
    Statement::new(
        "SET #served = :served, #waiting = :waiting, #rate = :rate, #slow = :slow",
        "attribute_exists(#id)",
        [
            (":served", number(status.served)),
            (":waiting", number(status.waiting)),
            (":rate", number(status.rate.get())),
            (":slow", flag(status.slow)),
        ],
    )
}

/// Holds the rate down, or lets it be.
pub(crate) fn hold(rate: Option<Rate>) -> Statement {
    match rate {
        Some(rate) => Statement::new(
            "SET #throttled = :throttled",
            "attribute_exists(#id)",
            [(":throttled", number(rate.get()))],
        ),
        None => Statement::new("REMOVE #throttled", "attribute_exists(#id)", []),
    }
}

/// Writes these attributes of an item and removes those, leaving the others as they are.
///
/// `version` is the one that the item must still have; without one it must only be there.
pub(crate) fn change(set: &Item, remove: &[&str], version: Option<u64>) -> Statement {
    let mut names: Vec<_> = set.keys().filter(|name| *name != "id").collect();
    names.sort();
    let assignments: Vec<_> = names.iter().map(|name| format!("#{name} = :{name}")).collect();
    let mut update = format!("SET {}", assignments.join(", "));
    if !remove.is_empty() {
        let removed: Vec<_> = remove.iter().map(|name| format!("#{name}")).collect();
        update = format!("{update} REMOVE {}", removed.join(", "));
    }
    let mut statement = Statement::new(&update, "attribute_exists(#id)", []);
    statement.values = names.into_iter().map(|name| (format!(":{name}"), set[name].clone())).collect();
    if let Some(version) = version {
        statement.condition = "#version = :before".into();
        statement.values.insert(":before".into(), number(version));
    }
    statement
}

/// The progress of a new epoch: whatever is planned by now is of those before.
pub(crate) fn begin_progress() -> Statement {
    Statement::new(
        "SET #served = :none, #released = :none, #before_epoch = #latest",
        "attribute_exists(#id)",
        [(":none", number(0u64))],
    )
}

/// The ticket numbers of a new epoch.
pub(crate) fn begin_tickets() -> Statement {
    Statement::new("SET #last = :none", "", [(":none", number(0u64))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::items::item;
    use crate::keys::Key;

    fn all() -> Vec<Statement> {
        let slice = SliceId { plan: 7, index: 269 };
        let before = Ledgered { served: 1, latest: 6, released: 3, before_epoch: 2 };
        let status = LineStatus { served: 1, waiting: 2, rate: Rate::MIN, slow: true };
        let room = item(Key::Room, [("state", text("on")), ("version", number(9u64))]);
        vec![
            any(),
            absent(),
            follows_version(1),
            follows_version(2),
            lease(64),
            claim(slice, Claimant(5)),
            record(slice, 10),
            reach(7, 4711),
            follow(7, &before, 300),
            publish(status),
            hold(Some(Rate::MIN)),
            hold(None),
            change(&room, &[], None),
            change(&room, &["health", "throttled"], Some(8)),
            begin_progress(),
            begin_tickets(),
        ]
    }

    fn words(statement: &Statement) -> Vec<String> {
        let text = format!("{} {}", statement.update, statement.condition);
        let word = |c: char| c.is_ascii_alphanumeric() || "_#:".contains(c);
        text.split(|c| !word(c)).filter(|word| !word.is_empty()).map(ToOwned::to_owned).collect()
    }

    #[test]
    fn every_value_is_used_and_every_used_value_is_given() {
        for statement in all() {
            let mut used: Vec<_> =
                words(&statement).into_iter().filter(|word| word.starts_with(':')).collect();
            used.sort();
            used.dedup();
            let mut given: Vec<_> = statement.values.keys().cloned().collect();
            given.sort();
            assert_eq!(used, given, "{statement:?}");
        }
    }

    #[test]
    fn no_attribute_is_named_bare_where_it_could_be_a_reserved_word() {
        let language = ["SET", "ADD", "REMOVE", "AND", "OR", "attribute_exists", "attribute_not_exists"];
        for statement in all() {
            let names = statement.names().unwrap_or_default();
            for word in words(&statement).iter().filter(|word| !word.starts_with(':')) {
                let known = names.contains_key(word) || language.contains(&word.as_str());
                assert!(known, "{word} in {statement:?}");
            }
            assert!(names.iter().all(|(placeholder, name)| *placeholder == format!("#{name}")));
        }
    }

    #[test]
    fn a_change_writes_what_it_is_given_and_nothing_else() {
        let room = item(Key::Room, [("state", text("on")), ("version", number(9u64))]);
        let statement = change(&room, &["health"], Some(8));
        assert_eq!(
            statement.update,
            "SET #format = :format, #state = :state, #version = :version REMOVE #health"
        );
        assert_eq!(statement.condition, "#version = :before");
        assert_eq!(statement.values[":before"], number(8u64));
        assert!(!statement.values.contains_key(":id"), "a key cannot be changed");
    }
}
