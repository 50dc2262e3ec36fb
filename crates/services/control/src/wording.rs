//! The words for a room's state: one place for `status`, its charts, the doctor and whoever shows a room next.

use std::fmt;

use document::words;
use waitroom::throttle_rules::{Finding, Verdict};
use waitroom::{Extra, Mode, Refusals, Room, Slowdown, Timestamp, Valve};

use crate::{ActiveStatus, AlarmMail, AlarmMailState, AlarmState, Status};

pub fn word(finding: &Finding) -> &'static str {
    match finding.verdict {
        _ if finding.refused => "not measured",
        Verdict::Well => "well",
        Verdict::Slow => "slow",
        Verdict::Failing => "failing",
    }
}

/// Describes the throttle's finding of one minute.
pub fn found(finding: &Finding) -> String {
    if finding.refused {
        return format!(
            "{}: it refuses visitors without a pass, as it should; give a health URL that needs none",
            word(finding)
        );
    }
    let millis =
        |seconds: Option<f64>| seconds.map_or("-".into(), |seconds| format!("{:.0} ms", seconds * 1000.0));
    let answered = finding
        .mean
        .map(|mean| format!("{} on average (limit {}), ", millis(Some(mean)), millis(finding.threshold)));
    let why = finding.why.as_ref().map(|why| format!(", the last one: {why}"));
    format!(
        "{}: {}{} of 20 failed{}, rate {} a minute",
        word(finding),
        answered.unwrap_or_default(),
        finding.failed,
        why.unwrap_or_default(),
        finding.rate
    )
}

/// The status in one line, what an operator must not miss first.
pub fn in_short(status: &Status, now: Timestamp) -> String {
    let (room, line) = (&status.room, &status.line);
    let counts = format!("{} joined, {} waiting, {} released", joined(status), line.waiting, status.released);
    let opens = room.opens.map(|opens| format!("opens {}", words::at(opens)));
    let mut facts: Vec<_> = refusals(status).into_iter().chain([room.state.to_string()]).collect();
    facts.extend(rehearsal(room).map(|left| format!("rehearsal {left}")));
    facts.extend(mode(room).map(ToOwned::to_owned));
    facts.extend(opens);
    facts.push(counts);
    facts.extend(waits(status));
    facts.push(format!("rate {}", rate(status)));
    facts.extend(active(status, now).map(|active| format!("active {active}")));
    facts.extend(limited(status));
    facts.extend(status.findings.last().map(|finding| format!("shop {}", word(finding))));
    facts.extend(alarms(status).map(|alarms| format!("alarms: {alarms}{}", ringing(status))));
    facts.join(", ")
}

/// Which alarms ring.
fn ringing(status: &Status) -> String {
    let ringing = status.alarms.iter().filter(|alarm| alarm.state == AlarmState::Ringing);
    let names: Vec<_> = ringing.map(|alarm| alarm.name.as_str()).collect();
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(" and ")) }
}

/// The rate that the operator wants, and what the throttle and a full shop make of it.
pub fn rate(status: &Status) -> String {
    let (wanted, in_force) = (status.room.settings.rate, status.line.rate);
    let is_well = status.findings.last().is_some_and(|finding| finding.verdict == Verdict::Well);
    let as_they_leave = match status.active {
        Some(active) if active.count.reported.is_none() => "and no guard says who leaves it".into(),
        _ => format!("so {in_force} a minute as visitors leave it"),
    };
    match status.room.slowdown() {
        None if in_force > wanted => format!("{wanted} a minute, {in_force} while some don't come"),
        None => format!("{wanted} a minute"),
        Some(Slowdown::FullShop) => {
            format!("{wanted} a minute; the shop is full, {as_they_leave}")
        }
        Some(Slowdown::Both) => {
            let held = status.room.shop_rate();
            format!("{wanted} a minute, throttled to {held}; the shop is full too, {as_they_leave}")
        }
        Some(Slowdown::Throttle) if is_well => {
            format!("{wanted} a minute, recovering: {in_force} of {wanted}")
        }
        Some(Slowdown::Throttle) if status.findings.is_empty() => {
            format!(
                "{wanted} a minute, throttled to {in_force} since the throttle measured last, over three minutes ago"
            )
        }
        Some(Slowdown::Throttle) => {
            format!("{wanted} a minute, throttled to {in_force}: the shop is slow or fails")
        }
    }
}

/// How many come of those who are let in, in a room that makes up for those who don't.
pub fn turnout(status: &Status) -> Option<String> {
    let Room { settings, turnout, .. } = &status.room;
    let most = settings.oversubscribe?;
    let Some(turnout) = turnout.filter(|_| status.room.makes_up()) else {
        let why = if status.room.is_throttled() {
            "the shop is slow or fails"
        } else if status.room.makes_up() {
            "too few were let in lately"
        } else {
            "pages poll less often (`stretch`), so many come late"
        };
        return Some(format!("not made up for: {why}"));
    };
    let (came, released) = (words::count(turnout.came), words::count(turnout.released));
    let limit = if turnout.missing_percent() > most.get() { ", the most you allow" } else { "" };
    Some(format!("{came} of {released} came, so {}% more are let in{limit}", status.room.surplus()))
}

/// How many are in the shop, in a room with a limit, and how that is known.
pub fn active(status: &Status, now: Timestamp) -> Option<String> {
    let ActiveStatus { limit, count } = status.active?;
    let (visitors, limit) = (words::count(count.visitors()), words::count(limit.into()));
    let planned = if count.planned == 0 {
        String::new()
    } else {
        format!(", up to {} more this minute", words::count(count.planned))
    };
    let Some(reported) = count.reported else {
        return Some(format!(
            "{visitors} of {limit}{planned}, by how long a visit lasts at most: no guard reports who is in the shop"
        ));
    };
    let (sessions, expected) = (words::count(count.sessions), words::count(count.expected));
    let ago = words::time(now.since(reported).as_secs());
    let guards = if count.guards == 1 {
        format!("the guard reported {ago} ago")
    } else {
        format!("{} guards report, the one longest ago {ago} ago", count.guards)
    };
    Some(format!(
        "{visitors} of {limit}{planned}: {sessions} in the shop and {expected} on the way; {guards}"
    ))
}

/// What the mode does now, in a few words. None in the usual one.
pub fn mode(room: &Room) -> Option<&'static str> {
    Some(match (room.settings.mode, room.valve()) {
        (Mode::Line, _) => return None,
        (Mode::Overflow, Valve::Doors(_)) => "overflow: newcomers go straight in",
        (Mode::Overflow, Valve::Open(_)) => "overflow: a line has formed",
        (Mode::Overflow, Valve::Limited(..)) => "overflow: while there's a stock, everyone joins the line",
        (Mode::Overflow, Valve::Closed) => "overflow",
        (Mode::Observe, _) if room.observes() => "observe: everybody passes",
        (Mode::Observe, _) => "observe: everybody passes while the room is on",
    })
}

/// What is said of a rehearsal that nobody has ended.
pub fn rehearsal(room: &Room) -> Option<&'static str> {
    room.rehearsal.map(|_| "under way, or left behind: `beekeeper reset` ends it")
}

/// What is left of a stock.
pub fn stock(status: &Status) -> Option<String> {
    let (stock, left) = (status.room.stock?, status.line.left?);
    let count = |number: u32| words::count(number.into());
    Some(format!("{} of {} left", count(left), count(stock.size.get())))
}

/// How many more than the rate are let in, and until when.
pub fn extra(Extra { visitors, until }: Extra) -> String {
    format!("{} more until {}", words::count(visitors.get().into()), words::at(until))
}

/// What a closed room does when nobody waits in it any more, if it does anything.
pub fn then(room: &Room) -> Option<&'static str> {
    room.then_off.then_some("off, when everybody who waited was let in")
}

/// How long somebody who joins now will wait. None if they would not have to, or if nobody is released.
pub(crate) fn newcomers_wait(status: &Status) -> Option<String> {
    status.wait.filter(|wait| *wait > 0).map(words::time)
}

/// The longest wait of those who were released in the last two minutes. None if nobody was.
pub fn longest_wait(status: &Status) -> Option<String> {
    status.longest_wait.map(words::time)
}

/// Both waits, in a few words.
pub fn waits(status: &Status) -> impl Iterator<Item = String> {
    let newcomers = newcomers_wait(status).map(|wait| format!("newcomers wait {wait}"));
    newcomers.into_iter().chain(longest_wait(status).map(|wait| format!("longest wait {wait}")))
}

/// Whom the door refused, and why, in a few words. The first thing to say: these visitors have no place.
pub fn refusals(status: &Status) -> Option<String> {
    let Refusals { requests, reason, .. } = status.refusals.as_ref()?;
    Some(match requests {
        0 => format!("NOBODY CAN JOIN: {reason}"),
        _ => format!("REFUSED {requests} in two minutes: {reason}"),
    })
}

/// Who took too many places, in a few words.
pub fn limited(status: &Status) -> Option<String> {
    let Refusals { requests, .. } = status.limited.as_ref()?;
    Some(format!("--join-limit refused {requests} in two minutes"))
}

/// The same in full, and since when. On AWS every request counts, because the metrics don't tell the door's apart.
pub(crate) fn refused_in_full(status: &Status) -> Option<String> {
    let refusals = status.refusals.as_ref()?;
    Some(match refusals.requests {
        0 => format!(
            "nobody yet, but nobody can join, since {}: {}",
            words::at(refusals.since),
            refusals.reason
        ),
        requests if is_on_aws(status) => {
            format!("{} {}", words::things(requests, "request"), lately(refusals))
        }
        requests => format!("{requests} at the door {}", lately(refusals)),
    })
}

/// Why nobody knows whether visitors are refused.
pub fn refusals_missing(status: &Status) -> Option<String> {
    status.refusals_missing.as_ref().map(|reason| format!("not known: {reason}"))
}

/// Who took too many places, in full.
pub(crate) fn refused_by_limit(limited: &Refusals) -> String {
    format!("{} refused {}", limited.requests, lately(limited))
}

fn lately(Refusals { since, reason, .. }: &Refusals) -> String {
    format!("in the last two minutes, since {}: {reason}", words::at(*since))
}

/// How many have joined. On AWS the line is counted only roughly.
pub fn joined(status: &Status) -> String {
    let about = if is_on_aws(status) { "about " } else { "" };
    format!("{about}{}", status.joined)
}

/// Only there dead letters are counted, or it's said why not.
fn is_on_aws(status: &Status) -> bool {
    status.dead_letters.is_some() || status.alarms_missing.is_some()
}

/// A summary of all alarms; none if there are none.
pub fn alarms(status: &Status) -> Option<String> {
    let ringing = status.alarms.iter().filter(|alarm| alarm.state == AlarmState::Ringing).count();
    match (status.alarms.len(), ringing) {
        (0, _) => status.alarms_missing.as_ref().map(|reason| format!("not known: {reason}")),
        (all, 0) => Some(format!("none of {all} is ringing")),
        (all, 1) => Some(format!("1 of {all} is ringing")),
        (all, _) => Some(format!("{ringing} of {all} are ringing")),
    }
}

/// What keeps the e-mails of the alarms from reaching the operator, and what to do.
#[derive(Debug)]
pub struct MailTrouble {
    pub fact: String,
    /// `None` if AWS did not say whether there is anything to do.
    pub advice: Option<String>,
}

impl fmt::Display for MailTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fact)?;
        self.advice.as_ref().map_or(Ok(()), |advice| write!(f, "; {advice}"))
    }
}

/// None if the operator gets the e-mails.
pub fn alarm_mail(mail: &AlarmMail) -> Option<MailTrouble> {
    let AlarmMail { address, topic, state, error } = mail;
    let (fact, advice) = match state {
        AlarmMailState::Confirmed => return None,
        AlarmMailState::Pending => (
            format!("{address} gets none yet: nobody has confirmed the subscription"),
            Some(
                "click the link in AWS's e-mail \"AWS Notification - Subscription Confirmation\", within two days"
                    .to_owned(),
            ),
        ),
        AlarmMailState::Missing => (
            format!(
                "{address} gets none: nobody confirmed the subscription within two days, or somebody ended it"
            ),
            Some(format!(
                "subscribe again: aws sns subscribe --topic-arn {topic} --protocol email --notification-endpoint {address}"
            )),
        ),
        AlarmMailState::Unknown => {
            let reason = error.as_deref().unwrap_or("AWS gave no reason");
            (format!("not known whether {address} gets them: {reason}"), None)
        }
    };
    Some(MailTrouble { fact, advice })
}

/// The room's URLs: for visitors, and for the shop.
pub fn urls(status: &Status) -> (String, String) {
    let url = status.room.url.to_string();
    let url = url.trim_end_matches('/');
    (format!("{url}/beekeeper"), format!("{url}/client"))
}

#[cfg(test)]
mod tests {
    use waitroom::{ActiveCount, Rate};

    use super::*;
    use crate::example::suffering;

    const NOW: Timestamp = Timestamp::from_millis(1_804_244_400_000);

    #[test]
    fn the_wait_of_a_newcomer_is_told_in_the_unit_that_fits() {
        let mut status = suffering();
        let mut told = |wait| {
            status.wait = wait;
            newcomers_wait(&status)
        };
        assert_eq!((told(None), told(Some(0))), (None, None));
        let told = [45, 1824, 11_100].map(|seconds| told(Some(seconds)).unwrap());
        assert_eq!(told, ["45 s", "30 min", "3 h 5 min"]);
    }

    #[test]
    fn both_waits_are_told_if_they_are_known() {
        let mut status = suffering();
        assert_eq!(waits(&status).collect::<Vec<_>>(), ["newcomers wait 30 min", "longest wait 28 min"]);
        (status.wait, status.longest_wait) = (None, Some(0));
        assert_eq!(waits(&status).collect::<Vec<_>>(), ["longest wait 0 s"]);
    }

    #[test]
    fn whom_the_door_refused_is_told_apart_from_whom_the_limit_refused() {
        let mut status = suffering();
        assert_eq!((refusals(&status), limited(&status)), (None, None));
        let some = |requests, reason: &str| {
            let since = waitroom::Timestamp::from_millis(1_804_000_000_000);
            Some(Refusals { requests, since, reason: reason.into() })
        };
        status.refusals = some(36_251, "the disk is full");
        status.limited = some(3, "203.0.113.9 took too many places");
        assert_eq!(refusals(&status).unwrap(), "REFUSED 36251 in two minutes: the disk is full");
        assert!(
            refused_in_full(&status).unwrap().starts_with("36,251 requests in the last two minutes, since ")
        );
        status.dead_letters = None;
        assert!(refused_in_full(&status).unwrap().starts_with("36251 at the door in the last"));
        status.refusals = some(0, "the disk is full");
        assert_eq!(refusals(&status).unwrap(), "NOBODY CAN JOIN: the disk is full");
        assert_eq!(limited(&status).unwrap(), "--join-limit refused 3 in two minutes");
    }

    #[test]
    fn only_a_room_on_this_machine_knows_exactly_how_many_have_joined() {
        let mut status = suffering();
        assert_eq!(joined(&status), "about 13210");
        status.dead_letters = None;
        assert_eq!(joined(&status), "13210");
    }

    #[test]
    fn the_rate_says_whether_the_shop_is_still_slow() {
        let mut status = suffering();
        assert_eq!(rate(&status), "600 a minute, throttled to 300: the shop is slow or fails");
        let mut recovered = status.findings[0].clone();
        (status.line.rate, recovered.rate) = (Rate::new(375).unwrap(), Rate::new(375).unwrap());
        status.findings.push(recovered);
        assert_eq!(rate(&status), "600 a minute, recovering: 375 of 600");
        status.room.throttled = None;
        assert_eq!(rate(&status), "600 a minute");
    }

    #[test]
    fn nobody_is_made_up_for_while_pages_poll_less_often() {
        let mut status = suffering();
        status.room.settings.oversubscribe = Some(30.try_into().unwrap());
        status.room.turnout = Some(waitroom::Turnout { came: 4800, released: 6000 });
        status.room.throttled = None;
        let told = "not made up for: pages poll less often (`stretch`), so many come late";
        assert_eq!(turnout(&status).unwrap(), told);
        status.room.stretch = waitroom::Stretch::USUAL;
        assert_eq!(turnout(&status).unwrap(), "4,800 of 6,000 came, so 25% more are let in");
    }

    #[test]
    fn a_full_shop_is_not_called_slow() {
        let mut status = suffering();
        status.room.settings.oversubscribe = Some(30.try_into().unwrap());
        status.room.stretch = waitroom::Stretch::USUAL;
        (status.room.throttled, status.room.while_full) = (None, Some(Rate::new(95).unwrap()));
        status.line = waitroom::LineStatus::of(&status.room, waitroom::LineReach::default(), 9120, None);
        assert!(status.line.slow, "as pages hear it");
        assert_eq!(rate(&status), "600 a minute; the shop is full, so 95 a minute as visitors leave it");
        assert_eq!(turnout(&status).unwrap(), "not made up for: too few were let in lately");
        status.room.throttled = Some(Rate::new(300).unwrap());
        assert_eq!(
            rate(&status),
            "600 a minute, throttled to 300; the shop is full too, so 95 a minute as visitors leave it"
        );
        assert_eq!(turnout(&status).unwrap(), "not made up for: the shop is slow or fails");
    }

    #[test]
    fn a_full_shop_that_no_guard_reports_on_is_not_told_to_empty() {
        let mut status = suffering();
        (status.room.throttled, status.room.while_full) = (None, Some(Rate::MIN));
        let count = ActiveCount { expected: 5, ..ActiveCount::default() };
        (status.wait, status.active) = (None, Some(ActiveStatus { limit: 5, count }));
        let line = in_short(&status, NOW);
        let told = "rate 600 a minute; the shop is full, and no guard says who leaves it, active 5 of 5, by how long a visit lasts at \
                    most: no guard reports who is in the shop, shop slow";
        assert!(line.contains(told), "{line}");
    }

    #[test]
    fn a_shop_that_fails_is_told_with_the_reason() {
        let mut finding = suffering().findings[1].clone();
        (finding.verdict, finding.failed, finding.mean) = (Verdict::Failing, 20, None);
        finding.why = Some("connection refused".into());
        assert_eq!(
            found(&finding),
            "failing: 20 of 20 failed, the last one: connection refused, rate 300 a minute"
        );
        (finding.why, finding.failed, finding.mean) = (None, 5, Some(0.2));
        assert!(found(&finding).starts_with("failing: 200 ms on average (limit "), "of an older room");
    }

    #[test]
    fn a_shop_that_wants_a_pass_is_not_called_well() {
        let mut finding = suffering().findings[0].clone();
        finding.refused = true;
        assert_eq!(
            found(&finding),
            "not measured: it refuses visitors without a pass, as it should; give a health URL that needs none"
        );
    }

    #[test]
    fn a_line_has_everything_important() {
        assert_eq!(
            in_short(&suffering(), NOW),
            "on, about 13210 joined, 9120 waiting, 4090 released, newcomers wait 30 min, longest wait 28 min, rate 600 a minute, throttled to 300: the shop is slow or fails, shop slow, alarms: 1 of 2 is ringing (producer-errors)"
        );
    }

    #[test]
    fn a_line_says_first_that_visitors_are_refused() {
        let mut status = suffering();
        let refused = |requests, reason: &str| {
            Some(Refusals { requests, since: Timestamp::default(), reason: reason.into() })
        };
        status.refusals = refused(36_251, "the disk of /srv/room is full");
        status.limited = refused(3, "203.0.113.9 took too many places");
        let line = in_short(&status, NOW);
        assert!(
            line.starts_with("REFUSED 36251 in two minutes: the disk of /srv/room is full, on, "),
            "{line}"
        );
        assert!(line.contains(", --join-limit refused 3 in two minutes, shop slow"), "{line}");
    }

    #[test]
    fn a_line_says_that_the_room_observes_and_that_a_rehearsal_was_left_in_it() {
        let mut status = suffering();
        status.room.settings.mode = Mode::Observe;
        let line = in_short(&status, NOW);
        assert!(line.starts_with("on, observe: everybody passes, about 13210 joined"), "{line}");
        status.room.settings.mode = Mode::Line;
        status.room.rehearsal = Some("abcdefghijkmnpqr".parse().unwrap());
        let line = in_short(&status, NOW);
        let left = "on, rehearsal under way, or left behind: `beekeeper reset` ends it, about";
        assert!(line.starts_with(left), "{line}");
    }

    #[test]
    fn a_line_says_when_the_room_opens() {
        let mut status = suffering();
        status.room.open_at(NOW);
        let line = in_short(&status, NOW);
        assert!(line.starts_with("paused, opens 2027-03-05 ") && line.contains("11:00 UTC"), "{line}");
    }
}
