//! The functions that a deployment reserves for releasing.
//!
//! AWS refuses a reservation that leaves an account too few functions, and the whole deployment with it. So a deployment asks
//! first, and goes without one where it does not fit.

use std::collections::BTreeMap;

use aws_model::{Reservation, ReservationTooLarge};
use config::RoomConfig;
use serde::Serialize;
use waitroom::Rate;

use crate::limits::FunctionLimits;
use crate::stack::StackState;

/// The template's parameters.
const CONSUMERS: &str = "ReservedConsumers";
const THROTTLING: &str = "Throttling";

/// What a deployment reserves, or why it reserves nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ReservationPlan {
    Reserves(Reservation),
    TooLarge(ReservationTooLarge),
    /// AWS did not say which rate the room has, or how many functions are left. What the stack has reserved stays as it is.
    Unread {
        before: Reservation,
        error: String,
    },
}

impl ReservationPlan {
    /// What to reserve for this room. `in_room` is the rate that it has, and `stack` the one that it has already.
    pub(crate) fn of(
        config: &RoomConfig,
        in_room: &Result<Rate, String>,
        stack: Option<&StackState>,
        functions: &Result<FunctionLimits, String>,
    ) -> Self {
        let before = stack.map_or(Reservation::of_consumers(0), reserved);
        let (in_room, functions) = match (in_room, functions) {
            (Ok(in_room), Ok(functions)) => (*in_room, functions),
            (Err(error), _) => return Self::Unread { before, error: error.clone() },
            (_, Err(error)) => {
                let error = format!("AWS did not say how many functions are left: {error}");
                return Self::Unread { before, error };
            }
        };
        // Both rates can be in force after the deployment.
        let most = config.most_at(config.rate.max(in_room));
        let wanted = Reservation::for_rate(most).with_throttle(config.throttle);
        // What this stack has reserved counts as left, because the new reservation replaces it.
        match wanted.check(functions.unreserved + before.functions()) {
            Ok(reservation) => Self::Reserves(reservation),
            Err(too_large) => Self::TooLarge(too_large),
        }
    }

    /// What the room has reserved after the deployment.
    pub fn reservation(&self) -> Reservation {
        match self {
            Self::Reserves(reservation) => *reservation,
            Self::TooLarge(_) => Reservation::of_consumers(0),
            Self::Unread { before, .. } => *before,
        }
    }

    pub(crate) fn set(&self, parameters: &mut BTreeMap<String, String>) {
        parameters.insert(CONSUMERS.into(), self.reservation().consumers.to_string());
    }
}

/// What the stack has reserved.
pub(crate) fn reserved(stack: &StackState) -> Reservation {
    let consumers = stack.parameters.get(CONSUMERS).and_then(|value| value.parse().ok());
    let throttles = stack.parameters.get(THROTTLING).is_some_and(|value| value == "yes");
    Reservation::of_consumers(consumers.unwrap_or_default()).with_throttle(throttles)
}
