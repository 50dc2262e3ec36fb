use std::time::Duration;

/// What happens to visitors without a session while the room does not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenUnreachable {
    /// Nobody is let in without a session or a pass.
    #[default]
    Closed,
    /// Everybody is let in once the room has not answered for so long. It ends with the room's first answer.
    Open { after: Duration },
}

/// Whether the room answers. A guard that opens then asks it every [`Reachability::EVERY`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reachability {
    /// The first failure since the last answer, and the latest one.
    silent: Option<(u64, u64)>,
    is_open: bool,
}

/// What a check of the room changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReachabilityChange {
    /// From now on everybody is let in.
    Opened,
    /// The room answers again. From now on only visitors with a session or a pass are let in.
    Closed,
}

impl Reachability {
    pub const EVERY: Duration = Duration::from_secs(10);
    /// If the checks themselves stop, nobody knows whether the room answers, and the guard closes.
    const STALE: u64 = 3 * Self::EVERY.as_secs();

    /// Notes whether the room answered. Any answer counts, also that it is overloaded.
    pub fn note(&mut self, answered: bool, when: WhenUnreachable, now: u64) -> Option<ReachabilityChange> {
        let was_open = self.is_open;
        self.silent = match self.silent {
            _ if answered => None,
            // After a gap in the checks, the silence begins anew.
            Some((since, latest)) if latest <= now && now - latest <= Self::STALE => Some((since, now)),
            _ => Some((now, now)),
        };
        self.is_open = match (self.silent, when) {
            (Some((since, _)), WhenUnreachable::Open { after }) => now - since >= after.as_secs(),
            _ => false,
        };
        match (was_open, self.is_open) {
            (false, true) => Some(ReachabilityChange::Opened),
            (true, false) => Some(ReachabilityChange::Closed),
            _ => None,
        }
    }

    /// Whether everybody is let in now.
    pub fn is_open(&self, now: u64) -> bool {
        let is_fresh = self.silent.is_some_and(|(_, latest)| now.saturating_sub(latest) <= Self::STALE);
        self.is_open && is_fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;
    const OPEN: WhenUnreachable = WhenUnreachable::Open { after: Duration::from_mins(1) };

    #[test]
    fn it_opens_after_a_minute_of_silence_and_closes_with_the_first_answer() {
        let mut room = Reachability::default();
        for second in (0..60).step_by(10) {
            assert_eq!(room.note(false, OPEN, NOW + second), None);
            assert!(!room.is_open(NOW + second));
        }
        assert_eq!(room.note(false, OPEN, NOW + 60), Some(ReachabilityChange::Opened));
        assert_eq!(room.note(false, OPEN, NOW + 70), None);
        assert!(room.is_open(NOW + 75));
        assert_eq!(room.note(true, OPEN, NOW + 80), Some(ReachabilityChange::Closed));
        assert!(!room.is_open(NOW + 80));
        assert_eq!(room.note(false, OPEN, NOW + 90), None, "the silence begins anew");
    }

    #[test]
    fn one_answer_in_a_minute_keeps_it_closed() {
        let mut room = Reachability::default();
        for second in (0..6000).step_by(10) {
            room.note(second % 60 == 50, OPEN, NOW + second);
            assert!(!room.is_open(NOW + second));
        }
    }

    #[test]
    fn closed_is_closed() {
        let mut room = Reachability::default();
        for second in (0..6000).step_by(10) {
            assert_eq!(room.note(false, WhenUnreachable::Closed, NOW + second), None);
        }
        assert!(!room.is_open(NOW + 6000));
    }

    #[test]
    fn it_does_not_stay_open_if_nobody_checks() {
        let mut room = Reachability::default();
        for second in (0..=60).step_by(10) {
            room.note(false, OPEN, NOW + second);
        }
        assert!(room.is_open(NOW + 90) && !room.is_open(NOW + 91));
        assert_eq!(
            room.note(false, OPEN, NOW + 600),
            Some(ReachabilityChange::Closed),
            "one failure is not a minute"
        );
    }
}
