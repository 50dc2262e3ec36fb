//! What an account's limits allow a room, and what a crowd can expect in it.

use aws_model::{Capacity, ModelledRoom, Outlook};
use config::{Architecture, RoomConfig};
use page::Page;

use crate::limits::{LimitReading, taken};
use crate::reservation::ReservationPlan;
use crate::stack::{RoomStack, StackState};
use crate::warnings::{self, PlanWarning};
use crate::{Account, CloudError};

/// A room in an account, for a crowd of so many people if that is known.
#[derive(Clone, Debug)]
pub struct Forecast {
    pub limits: Vec<LimitReading>,
    pub reserved: ReservationPlan,
    pub capacity: Capacity,
    pub outlook: Option<Outlook>,
    pub warnings: Vec<PlanWarning>,
    pub(crate) room: ModelledRoom,
}

impl Account {
    /// Forecasts how a room of this configuration bears a crowd.
    pub(crate) async fn forecast_room(
        &self,
        config: &RoomConfig,
        page: Option<&Page>,
        visitors: Option<u64>,
    ) -> Result<Forecast, CloudError> {
        let found = RoomStack::new(self, &config.room).find().await?;
        let architecture = config.architecture.unwrap_or(Architecture::Arm64);
        Ok(self.forecast(config, architecture, page, found.as_ref(), visitors).await)
    }

    /// The same for a room that has this stack already, if there is one.
    pub(crate) async fn forecast(
        &self,
        config: &RoomConfig,
        architecture: Architecture,
        page: Option<&Page>,
        stack: Option<&StackState>,
        visitors: Option<u64>,
    ) -> Forecast {
        let functions = self.function_limits().await;
        let (mut limits, reserved) = futures_util::join!(
            self.read_limits(&functions),
            self.plan_reservation(config, stack, &functions),
        );
        let reserved_consumers = reserved.reservation().consumers;
        let room = ModelledRoom { reserved_consumers, ..ModelledRoom::of(config, architecture, page) };
        limits.retain(|reading| !room.edge.answers() || !reading.limit.is_of_api());
        let allowed = taken(&limits, &self.region);
        let capacity = Capacity::of(&allowed, &room, visitors.unwrap_or(Capacity::USUAL_CROWD));
        let outlook = visitors.map(|visitors| Outlook::of(&allowed, &room, visitors));
        let mut warnings = warnings::of_limits(&allowed, &capacity, &room);
        warnings.extend(warnings::of_unread(&limits));
        warnings.extend(outlook.iter().flat_map(|outlook| warnings::of_crowd(outlook, config.rate)));
        warnings.extend(outlook.as_ref().and_then(|outlook| warnings::of_door(outlook, &room)));
        Forecast { limits, reserved, capacity, outlook, warnings, room }
    }
}
