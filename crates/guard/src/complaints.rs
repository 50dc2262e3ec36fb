use std::sync::atomic::{AtomicU64, Ordering};

use pass::{Refused, SessionRules};

use crate::GuardRules;

/// Tells the operator's log that guard and room disagree, once a minute for as long as it lasts.
#[derive(Debug, Default)]
pub(crate) struct Complaints {
    /// From when on the next one is logged.
    next: AtomicU64,
    /// The same for what anybody can bring about: it must not silence the others.
    next_in_vain: AtomicU64,
}

impl Complaints {
    const PAUSE: u64 = 60;

    /// Anybody can make up a pass, so one that no key has signed says nothing, unless the door has just given it.
    pub(crate) fn log(&self, rules: &GuardRules, refused: Refused, is_circling: bool, now: u64) {
        let is_signed = matches!(refused, Refused::Issuer | Refused::Audience | Refused::NotYet);
        if !(is_signed || is_circling) || !is_due(&self.next, now) {
            return;
        }
        let GuardRules { name, room, .. } = rules;
        match refused {
            Refused::Issuer | Refused::Audience => tracing::error!(
                name,
                room,
                "the room's keys signed {refused}: are the name and the URL those of the room? Nobody new enters until they are"
            ),
            Refused::NotYet | Refused::Expired => tracing::error!(
                name,
                room,
                "a pass that the room has just given is refused: {refused}. Nobody new enters until this machine and the room agree on the time"
            ),
            _ => tracing::error!(
                name,
                room,
                keys = rules.keys_url(),
                "a visitor came back from the room with another pass, and it is {refused}: does the guard have the room's keys?"
            ),
        }
    }

    /// The room has sent a visitor back whom the guard had sent for a new place.
    pub(crate) fn log_no_new_place(&self, rules: &GuardRules, now: u64) {
        if is_due(&self.next, now) {
            tracing::warn!(
                name = rules.name,
                room = rules.room,
                "the room gave no new place to a visitor whose session has ended. If this goes on, look whether a proxy in front of the \
                 room drops the query ?{}=…",
                SessionRules::AGAIN
            );
        }
    }

    /// Somebody comes without a session again and again. One person in a hurry does so too.
    pub(crate) fn log_in_vain(&self, rules: &GuardRules, now: u64) {
        if is_due(&self.next_in_vain, now) {
            tracing::warn!(
                name = rules.name,
                room = rules.room,
                "a visitor was sent to the room again and again within seconds, and came back without a session each time. If this goes \
                 on, look whether the shop leads its visitors on to another host name; write that one into the room's shop"
            );
        }
    }
}

fn is_due(next: &AtomicU64, now: u64) -> bool {
    // A clock that was set back must not silence it.
    let due = |next: u64| (now >= next || next - now > Complaints::PAUSE).then_some(now + Complaints::PAUSE);
    next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, due).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_minute_whatever_the_clock_does() {
        let next = AtomicU64::default();
        let due = [1000, 1059, 1060, 1100, 1120, 500, 559, 560].map(|now| is_due(&next, now));
        assert_eq!(due, [true, false, true, false, true, true, false, true]);
    }
}
