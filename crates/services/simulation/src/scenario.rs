//! What is simulated.

use std::time::Duration;

use aws_model::{AccountLimits, ModelledRoom, Reservation};
use page::visitor::Step;
use waitroom::{Mode, Oversubscription, Rate};

use crate::guard::ShopVisits;
use crate::orders::{SimulatedOrder, TimedOrder};
use crate::shop::ShopLoad;
use crate::{Arrivals, LineBehaviour};

/// A crowd, a room, and what visitors, shop and operator do.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub arrivals: Arrivals,
    pub rate: Rate,
    /// Whether newcomers go straight in while nobody waits.
    pub mode: Mode,
    /// By how much more than the rate may be released, to make up for those who don't come.
    pub oversubscribe: Option<Oversubscription>,
    /// How the shop is used, if the room limits how many are there at once.
    pub visits: Option<ShopVisits>,
    /// The account of a room on AWS. A room on one machine has none.
    pub aws: Option<AwsAccount>,
    /// Whether AWS refuses requests beyond its limits. If not, it can be seen how many the crowd sends.
    pub refuses: bool,
    pub line: LineBehaviour,
    pub habits: CrowdHabits,
    /// When the room opens by itself, after the first visitor could come; without it, the room is on before.
    pub opens_after: Option<Duration>,
    /// What the operator does. The last one lets visitors in.
    pub orders: Vec<TimedOrder>,
    /// Without one, the throttle does not run.
    pub shop: Option<ShopLoad>,
    /// The length of a minute of the room's schedule.
    pub minute: Duration,
    /// How long the room is on before the first visitor comes.
    pub on_before: Duration,
    /// After this time the simulation ends, even if people still wait.
    pub longest: Duration,
    pub seed: u64,
}

/// An account, and the room as far as AWS's limits and prices are concerned.
#[derive(Clone, Debug, PartialEq)]
pub struct AwsAccount {
    pub limits: AccountLimits,
    pub room: ModelledRoom,
}

/// What visitors do.
#[derive(Clone, Copy, Debug)]
pub struct CrowdHabits {
    /// The part of them who leave while they wait.
    pub give_up: f64,
    /// The part of them who wait, and do not come when it is their turn.
    pub never_enter: f64,
    /// Whether they come to the door once more when it is their turn, for a pass.
    pub fetch_passes: bool,
    /// How long a page pauses before its next step, in milliseconds. [`Step::after`], if it is ours.
    pub pause: fn(&Step) -> f64,
}

impl AwsAccount {
    /// With the reservation that `deploy` makes for the room.
    pub fn new(limits: AccountLimits, mut room: ModelledRoom) -> Self {
        room.reserved_consumers = Reservation::that_fits(room.highest_rate(), limits.concurrency).consumers;
        Self { limits, room }
    }
}

impl Default for CrowdHabits {
    /// Everybody waits, and their page pauses as ours does.
    fn default() -> Self {
        Self { give_up: 0.0, never_enter: 0.0, fetch_passes: true, pause: |step| step.after }
    }
}

impl Scenario {
    /// A room that is on for so long before the crowd comes that it is quiet by then.
    pub const ON_BEFORE: Duration = Duration::from_mins(5);
    /// A place in line is kept for so long.
    pub const LONGEST: Duration = Duration::from_hours(14 * 24);

    pub fn new(arrivals: Arrivals, rate: Rate, aws: Option<AwsAccount>) -> Self {
        let line = if aws.is_some() {
            LineBehaviour { disorder: 100, count_lag: Duration::from_mins(1), ..LineBehaviour::default() }
        } else {
            LineBehaviour::default()
        };
        Self {
            arrivals,
            rate,
            mode: Mode::Line,
            oversubscribe: None,
            visits: None,
            aws,
            refuses: true,
            line,
            habits: CrowdHabits::default(),
            opens_after: None,
            orders: Vec::new(),
            shop: None,
            minute: Duration::from_mins(1),
            on_before: Self::ON_BEFORE,
            longest: Self::LONGEST,
            seed: 1,
        }
    }

    /// The same with another rate: on AWS, in a room that `deploy` creates with it.
    #[must_use]
    pub fn at_rate(&self, rate: Rate) -> Self {
        let at_rate = |it: AwsAccount| AwsAccount::new(it.limits, ModelledRoom { rate, ..it.room });
        Self { rate, aws: self.aws.clone().map(at_rate), ..self.clone() }
    }

    /// The highest rate that may be in force: consumers for it take functions from the door.
    pub(crate) fn highest_rate(&self) -> Rate {
        let set = self.orders.iter().filter_map(|order| match order.order {
            SimulatedOrder::SetRate(rate) => Some(rate),
            _ => None,
        });
        let more = self.orders.iter().filter_map(|order| match order.order {
            SimulatedOrder::Release(visitors) => Some(visitors.get()),
            _ => None,
        });
        let highest = set.fold(self.rate, Rate::max);
        self.oversubscribe.map_or(highest, |most| most.above(highest)).plus(more.max().unwrap_or_default())
    }

    /// Whether visitors come through `CloudFront`.
    pub(crate) fn has_edge(&self) -> bool {
        self.aws.as_ref().is_some_and(|account| account.room.edge.answers())
    }
}
