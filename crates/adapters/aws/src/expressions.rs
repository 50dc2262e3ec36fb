//! All updates and conditions of writes, in DynamoDB's expression language.
//!
//! `#name` is the attribute `name`, because many of our names are reserved words in that language. `:value` is a value.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use waitroom::ports::ConsumerRun;
use waitroom::{DoorPermits, HelpCall, LineStatus, LineTotals, MinuteRecord, Place, SliceId, Timestamp};

use crate::items::{FORMAT, Item, ProgressItem, flag, number, text, time};

/// An update and its condition. The update is empty if a whole item is put. The condition is empty if the write is
/// unconditional.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Statement {
    pub(crate) update: String,
    pub(crate) condition: String,
    pub(crate) values: HashMap<String, AttributeValue>,
}

impl Statement {
    pub(crate) fn new<const N: usize>(
        update: &str,
        condition: &str,
        values: [(&str, AttributeValue); N],
    ) -> Self {
        let values = values.map(|(name, value)| (name.to_owned(), value)).into();
        Self { update: update.into(), condition: condition.into(), values }
    }

    pub(crate) fn condition(&self) -> Option<String> {
        Some(self.condition.clone()).filter(|condition| !condition.is_empty())
    }

    /// `None` if there are none, because DynamoDB rejects an empty map. The same applies to names.
    pub(crate) fn values(&self) -> Option<HashMap<String, AttributeValue>> {
        Some(self.values.clone()).filter(|values| !values.is_empty())
    }

    /// Whether an item has the values already that an update of this kind sets: `#name = :name`.
    pub(crate) fn is_in(&self, item: &Item) -> bool {
        self.values.iter().all(|(name, value)| item.get(name.trim_start_matches(':')) == Some(value))
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

/// Puts an item unconditionally.
pub(crate) fn always() -> Statement {
    Statement::default()
}

/// Puts an item if it does not exist.
pub(crate) fn if_absent() -> Statement {
    Statement::new("", "attribute_not_exists(#id)", [])
}

/// Puts nothing, because no item has this attribute. It fails as any other put does.
pub(crate) fn never() -> Statement {
    Statement::new("", "attribute_exists(#never)", [])
}

/// Puts an item if the stored one still has this version. An item that isn't there yet has no version, and neither has a record of the
/// keys that an older version wrote.
pub(crate) fn if_has_version(version: u64) -> Statement {
    let condition = match version {
        0 => "attribute_not_exists(#version) OR #version = :before",
        _ => "#version = :before",
    };
    Statement::new("", condition, [(":before", number(version))])
}

/// Writes the record of the keys on the same condition.
pub(crate) fn replace_record(record: &Item, version: u64) -> Statement {
    let Statement { condition, values, .. } = if_has_version(version);
    let mut statement = replace(record);
    statement.condition = condition;
    statement.values.extend(values);
    statement
}

/// Puts the signing key that is in the table if nobody has removed it or noted before that the secret has it.
pub(crate) fn if_not_moved() -> Statement {
    Statement::new("", "attribute_exists(#ring) AND attribute_not_exists(#moved_at)", [])
}

/// Reserves ticket numbers. `last` is the last reserved number.
pub(crate) fn lease(count: u32, now: Timestamp) -> Statement {
    let values = [(":count", number(count)), (":now", time(now))];
    Statement::new("SET #leased_at = :now ADD #last :count", "", values)
}

/// Takes permits while doors and consumers use them steadily: what is used up goes on from where it is.
pub(crate) fn take_next_permits(of: &DoorPermits, count: u32, now: Timestamp) -> Statement {
    Statement::new(
        "SET #used = #used + :time",
        "#used BETWEEN :earliest AND :latest",
        [
            (":time", number(of.time_of(count))),
            (":earliest", number(of.earliest(now).0)),
            (":latest", number(of.latest(count, now).0)),
        ],
    )
}

/// Takes permits after some time was left unused, which is forgotten.
pub(crate) fn take_first_permits(of: &DoorPermits, count: u32, now: Timestamp) -> Statement {
    let earliest = of.earliest(now);
    Statement::new(
        "SET #used = :after, #format = :format",
        "attribute_not_exists(#used) OR #used < :earliest",
        [
            (":after", number(of.after(earliest, count).0)),
            (":earliest", number(earliest.0)),
            (":format", number(FORMAT)),
        ],
    )
}

/// The same, and counts those who go straight in.
pub(crate) fn counting_straight(mut permits: Statement, count: u32) -> Statement {
    permits.update.push_str(" ADD #straight :straight");
    permits.values.insert(":straight".into(), number(count));
    permits
}

/// Counts newcomers who go straight in while the room observes, also by the slot in which they come.
pub(crate) fn count_newcomers(slot: Timestamp, count: u32) -> Statement {
    let slot = slot.as_millis();
    Statement::new(
        &format!("SET #format = :format ADD #straight :count, #at_{slot} :count"),
        "",
        [(":count", number(count)), (":format", number(FORMAT))],
    )
}

/// Forgets these slots.
pub(crate) fn forget_newcomers(slots: &[Timestamp]) -> Statement {
    let names: Vec<_> = slots.iter().map(|slot| format!("#at_{}", slot.as_millis())).collect();
    Statement::new(&format!("REMOVE {}", names.join(", ")), "", [])
}

/// Gives a slice to this run of a consumer unless another run has it. The plan's write has created the group.
pub(crate) fn take(slice: SliceId, by: ConsumerRun) -> Statement {
    let index = slice.index;
    Statement::new(
        &format!("SET #claim_{index} = :by"),
        &format!("attribute_exists(#id) AND (attribute_not_exists(#claim_{index}) OR #claim_{index} = :by)"),
        [(":by", text(&format_args!("{:032x}", by.0)))],
    )
}

/// Records how many visitors a slice has released in total. The number only increases, and somebody must have taken the slice.
pub(crate) fn record(slice: SliceId, released: u32, lowest: Option<u64>) -> Statement {
    let index = slice.index;
    let mut statement = Statement::new(
        &format!("SET #released_{index} = :released"),
        &format!(
            "attribute_exists(#claim_{index}) AND \
             (attribute_not_exists(#released_{index}) OR #released_{index} < :released)"
        ),
        [(":released", number(released))],
    );
    if let Some(lowest) = lowest {
        statement.update = format!("{}, #lowest_{index} = :lowest", statement.update);
        statement.values.insert(":lowest".into(), number(lowest));
    }
    statement
}

/// Says at most how many a slice has admitted, now that it is over.
pub(crate) fn say_at_most(slice: SliceId, at_most: u32) -> Statement {
    let index = slice.index;
    Statement::new(
        &format!("SET #at_most_{index} = :at_most"),
        &format!("attribute_exists(#claim_{index})"),
        [(":at_most", number(at_most))],
    )
}

/// Raises the ticket that the line has reached. It never decreases, and plans of earlier epochs do not change it.
pub(crate) fn raise_reached(plan: u64, reached: u64) -> Statement {
    Statement::new(
        "SET #served = :served",
        "#served < :served AND #before_epoch < :plan",
        [(":served", number(reached)), (":plan", number(plan))],
    )
}

/// Sets how far out of order the line is. Plans of earlier epochs do not change it.
pub(crate) fn set_disorder(plan: u64, disorder: u64) -> Statement {
    Statement::new(
        "SET #disorder = :disorder",
        "#before_epoch < :plan",
        [(":disorder", number(disorder)), (":plan", number(plan))],
    )
}

/// Raises the ticket below which visitors were overtaken. It never decreases, and plans of earlier epochs do not change it.
pub(crate) fn raise_overtaken(plan: u64, overtaken: u64) -> Statement {
    Statement::new(
        "SET #passed = :passed",
        "(attribute_not_exists(#passed) OR #passed < :passed) AND #before_epoch < :plan",
        [(":passed", number(overtaken)), (":plan", number(plan))],
    )
}

/// Makes a plan the latest, closes plans up to `closed`, and adds what their slices have recorded.
pub(crate) fn add_plan(plan: u64, before: &ProgressItem, closed: u64, recorded: u64) -> Statement {
    Statement::new(
        "SET #latest = :latest, #closed = :closed, #released = #released + :recorded",
        "#latest = :before AND #before_epoch = :before_epoch",
        [
            (":latest", number(plan)),
            (":closed", number(closed)),
            (":recorded", number(recorded)),
            (":before", number(before.latest)),
            (":before_epoch", number(before.before_epoch)),
        ],
    )
}

/// Marks an admission: its visitor came for their pass. Refused if they did before, or if it was deleted.
pub(crate) fn mark_came() -> Statement {
    Statement::new(
        "SET #came = :came",
        "attribute_exists(#id) AND attribute_not_exists(#came)",
        [(":came", flag(true))],
    )
}

/// Counts one who came of those whom a slice has released.
pub(crate) fn add_came(delete_after: Timestamp) -> Statement {
    Statement::new(
        "SET #format = :format, #delete_after = :delete_after ADD #came :one",
        "",
        [
            (":format", number(FORMAT)),
            (":delete_after", number(delete_after.as_secs())),
            (":one", number(1u64)),
        ],
    )
}

/// Keeps a call for help, unless another visitor has the code. Who joined again has another ticket, and still their token.
pub(crate) fn note_call(call: &HelpCall) -> Statement {
    let Place { epoch, token, .. } = call.place;
    Statement::new(
        "SET #place = :place, #at = :at, #format = :format, #delete_after = :delete_after",
        "attribute_not_exists(#place) OR begins_with(#place, :visitor) OR #at <= :over",
        [
            (":place", text(&call.place)),
            (":visitor", text(&format_args!("{epoch}-{token}-"))),
            (":at", time(call.at)),
            (":over", time(call.at - HelpCall::KEPT)),
            (":format", number(FORMAT)),
            (":delete_after", number((call.at + HelpCall::KEPT).as_secs())),
        ],
    )
}

/// Takes `count` of a share that has `share`, unless fewer are left.
pub(crate) fn take_from(share: u32, count: u32) -> Statement {
    Statement::new(
        "SET #format = :format ADD #taken :count",
        "attribute_not_exists(#taken) OR #taken <= :most",
        [
            (":format", number(FORMAT)),
            (":count", number(count)),
            (":most", number(share.saturating_sub(count))),
        ],
    )
}

/// Writes the line's progress into a copy of the status.
pub(crate) fn publish(status: LineStatus) -> Statement {
    let attributes = [
        ("served", number(status.reached)),
        ("passed", number(status.overtaken)),
        ("disorder", number(status.disorder)),
        ("waiting", number(status.waiting)),
        ("rate", number(status.rate.get())),
        ("slow", flag(status.slow)),
    ];
    let left = status.left.map(|left| ("left", number(left)));
    set(&named(attributes.into_iter().chain(left)), &[], None)
}

fn named(attributes: impl Iterator<Item = (&'static str, AttributeValue)>) -> Item {
    attributes.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Sets some attributes of an existing item, removes others, and keeps the rest.
///
/// With `version`, the item must still have that version.
pub(crate) fn set(set: &Item, remove: &[&str], version: Option<u64>) -> Statement {
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

/// Writes an admission, if there is none. Operators may update items, and put none.
pub(crate) fn admit(admission: &Item) -> Statement {
    Statement { condition: "attribute_not_exists(#id)".into(), ..set(admission, &[], None) }
}

/// The same, whether there is one or not: for the record of a minute, and for an entry of the audit trail, which takes the place of the
/// oldest one.
pub(crate) fn replace(item: &Item) -> Statement {
    Statement { condition: String::new(), ..set(item, &[], None) }
}

/// Writes what the trigger counted into the record of its minute. The longest wait stays, and what it does not say of a line that would
/// have been.
pub(crate) fn note_minute(totals: &LineTotals) -> serde_json::Result<Statement> {
    let attributes = [
        ("at", time(totals.at)),
        ("epoch", text(&totals.epoch)),
        ("joined", number(totals.joined)),
        ("released", number(totals.released)),
        ("waiting", number(totals.waiting)),
        ("rate", number(totals.rate.map_or(0, waitroom::Rate::get))),
        ("rehearsal", flag(totals.rehearsal)),
        ("format", number(FORMAT)),
        ("delete_after", number((totals.at + MinuteRecord::STORED).as_secs())),
    ];
    let observed = totals.observed.as_ref().map(serde_json::to_string).transpose()?;
    let observed = observed.map(|line| ("observed", text(&line)));
    Ok(replace(&named(attributes.into_iter().chain(observed))))
}

/// Writes a closing record beside the record of its minute, which it stands for. `version` is that of the room after the change.
pub(crate) fn close_count(record: &MinuteRecord, version: u64) -> serde_json::Result<Statement> {
    let values = [
        (":format", number(FORMAT)),
        (":delete_after", number((record.totals.at + MinuteRecord::STORED).as_secs())),
    ];
    let update = format!(
        "SET #closing_{version} = :closing_{version}, #format = :format, #delete_after = :delete_after \
         REMOVE #at, #longest_wait, #observed"
    );
    let mut statement = Statement::new(&update, "", values);
    statement.values.insert(format!(":closing_{version}"), text(&serde_json::to_string(record)?));
    Ok(statement)
}

/// Raises the longest wait in the record of a minute. What the trigger counted stays.
pub(crate) fn note_wait(at: Timestamp, wait: Duration) -> Statement {
    Statement::new(
        "SET #longest_wait = :wait, #format = :format, #delete_after = :delete_after",
        "attribute_not_exists(#longest_wait) OR #longest_wait < :wait",
        [
            (":wait", number(wait.as_secs())),
            (":format", number(FORMAT)),
            (":delete_after", number((at + MinuteRecord::STORED).as_secs())),
        ],
    )
}

/// Resets the progress for a new epoch. All plans so far belong to earlier epochs.
pub(crate) fn reset_progress() -> Statement {
    Statement::new(
        "SET #served = :none, #passed = :none, #disorder = :none, #released = :none, #before_epoch = #latest",
        "attribute_exists(#id)",
        [(":none", number(0u64))],
    )
}

/// Resets the ticket counter for a new epoch.
pub(crate) fn reset_tickets() -> Statement {
    Statement::new("SET #last = :none", "", [(":none", number(0u64))])
}

/// In a new epoch, nobody has gone straight in.
pub(crate) fn reset_permits() -> Statement {
    Statement::new(
        "SET #straight = :none, #format = :format",
        "",
        [(":none", number(0u64)), (":format", number(FORMAT))],
    )
}

#[cfg(test)]
mod tests {
    use waitroom::Rate;

    use super::*;
    use crate::items::item;
    use crate::keys::Key;

    fn all() -> Vec<Statement> {
        let slice = SliceId { plan: 7, index: 269 };
        let before = ProgressItem {
            reached: 1,
            overtaken: 0,
            disorder: 0,
            latest: 6,
            closed: 3,
            released: 3,
            before_epoch: 2,
        };
        let status = LineStatus {
            reached: 1,
            overtaken: 1,
            disorder: 0,
            waiting: 2,
            rate: Rate::MIN,
            slow: true,
            left: None,
        };
        let room = item(Key::Room, [("state", text("on")), ("version", number(9u64))]);
        let (at, epoch) = (Timestamp::default(), "ab12".parse().unwrap());
        let doors = waitroom::Room {
            quiet: true,
            valves: "0=doors-60".parse().unwrap(),
            ..waitroom::fixture::room(60)
        };
        let permits = DoorPermits::of(&doors, at, Duration::from_mins(1)).unwrap();
        let place =
            Place { epoch, token: waitroom::Token::from_bytes([7; 16]), ticket: waitroom::Ticket::FIRST };
        let call = HelpCall { code: "7K3M-Q01X".parse().unwrap(), place, at };
        let totals = LineTotals {
            at,
            epoch,
            joined: 3,
            released: 2,
            entered: None,
            waiting: 1,
            rate: Some(Rate::MIN),
            rehearsal: false,
            observed: Some(waitroom::VirtualLine {
                until: at,
                used: waitroom::UsedTime::at(at),
                line: waitroom::ObservedLine::default(),
            }),
        };
        vec![
            always(),
            if_absent(),
            never(),
            if_has_version(0),
            if_has_version(1),
            if_not_moved(),
            replace_record(&room, 8),
            lease(64, Timestamp::from_millis(1)),
            take(slice, ConsumerRun(5)),
            record(slice, 10, None),
            record(slice, 10, Some(7)),
            say_at_most(slice, 11),
            raise_overtaken(7, 4711),
            raise_reached(7, 4711),
            set_disorder(7, 300),
            add_plan(7, &before, 4, 300),
            take_from(313, 10),
            mark_came(),
            add_came(at),
            note_call(&call),
            publish(status),
            publish(LineStatus { left: Some(7), ..status }),
            set(&room, &[], None),
            set(&room, &["health", "throttled"], Some(8)),
            replace(&room),
            admit(&room),
            note_minute(&totals).unwrap(),
            note_minute(&LineTotals { observed: None, ..totals }).unwrap(),
            take_next_permits(&permits, 2, at),
            take_first_permits(&permits, 2, at),
            counting_straight(take_next_permits(&permits, 2, at), 2),
            counting_straight(take_first_permits(&permits, 2, at), 2),
            count_newcomers(at, 2),
            forget_newcomers(&[at, at]),
            note_wait(totals.at, Duration::from_secs(7)),
            close_count(&MinuteRecord { totals, longest_wait: None }, 3).unwrap(),
            reset_progress(),
            reset_tickets(),
            reset_permits(),
        ]
    }

    fn words(statement: &Statement) -> Vec<String> {
        let text = format!("{} {}", statement.update, statement.condition);
        let word = |c: char| c.is_ascii_alphanumeric() || "_#:".contains(c);
        text.split(|c| !word(c)).filter(|word| !word.is_empty()).map(ToOwned::to_owned).collect()
    }

    #[test]
    fn values_that_are_used_and_given_are_the_same() {
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
    fn every_attribute_is_written_with_a_placeholder() {
        let language = [
            "SET",
            "ADD",
            "REMOVE",
            "AND",
            "OR",
            "BETWEEN",
            "attribute_exists",
            "attribute_not_exists",
            "begins_with",
        ];
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
    fn set_writes_and_removes_only_the_given_attributes() {
        let room = item(Key::Room, [("state", text("on")), ("version", number(9u64))]);
        let statement = set(&room, &["health"], Some(8));
        assert_eq!(
            statement.update,
            "SET #format = :format, #state = :state, #version = :version REMOVE #health"
        );
        assert_eq!(statement.condition, "#version = :before");
        assert_eq!(statement.values[":before"], number(8u64));
        assert!(!statement.values.contains_key(":id"), "a key cannot be changed");
    }
}
