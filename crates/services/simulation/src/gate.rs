//! A gate that lets only so many requests a second through, as API Gateway does.

/// A token bucket: so many requests a second, and so many at once after a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoomGate {
    pub(crate) per_second: u32,
    pub(crate) burst: u32,
}

/// A gate in use. Instants are in microseconds and never decrease.
#[derive(Clone, Debug)]
pub(crate) struct GateState {
    gate: RoomGate,
    /// In millionths of a request.
    level: u64,
    at: u64,
}

impl GateState {
    const REQUEST: u64 = 1_000_000;

    pub(crate) fn new(gate: RoomGate) -> Self {
        Self { gate, level: u64::from(gate.burst) * Self::REQUEST, at: 0 }
    }

    pub(crate) fn lets_through(&mut self, now: u64) -> bool {
        // Requests a second are millionths of a request in a microsecond.
        let refill = now.saturating_sub(self.at).saturating_mul(self.gate.per_second.into());
        self.level = self.level.saturating_add(refill).min(u64::from(self.gate.burst) * Self::REQUEST);
        self.at = self.at.max(now);
        let passes = self.level >= Self::REQUEST;
        if passes {
            self.level -= Self::REQUEST;
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_lets_a_burst_through_and_then_so_many_a_second() {
        let mut gate = GateState::new(RoomGate { per_second: 100, burst: 50 });
        let mut through = |from: u64, requests: u64, apart: u64| {
            (0..requests).filter(|n| gate.lets_through(from + n * apart)).count()
        };
        assert_eq!(through(0, 200, 0), 50);
        assert_eq!(through(1, 1001, 1000), 100, "in the second after the burst");
        assert_eq!(through(100_000_000, 200, 0), 50, "it fills up to its burst");
    }

    #[test]
    fn the_largest_gate_can_be_left_alone_for_days() {
        let mut gate = GateState::new(RoomGate { per_second: u32::MAX, burst: u32::MAX });
        let day = 24 * 60 * 60 * 1_000_000;
        assert!(gate.lets_through(0) && gate.lets_through(14 * day));
    }
}
