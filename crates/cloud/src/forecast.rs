//! What an account's limits allow a room, and what a crowd can expect in it.

use aws_model::{Capacity, ModelledRoom, Outlook};
use config::{Architecture, RoomConfig};
use page::Page;
use waitroom::ports::RoomReader;
use waitroom::{Mode, Rate, with_causes};

use crate::limits::{LimitReading, taken};
use crate::reservation::ReservationPlan;
use crate::stack::{RoomStack, StackState};
use crate::warnings::{self, PlanWarning};
use crate::{Account, CloudError, CloudErrorKind};

/// A room in an account, for a crowd of so many people if that is known.
#[derive(Clone, Debug)]
pub struct Forecast {
    pub limits: Vec<LimitReading>,
    pub reserved: ReservationPlan,
    pub capacity: Capacity,
    pub outlook: Option<Outlook>,
    pub warnings: Vec<PlanWarning>,
    pub(crate) room: ModelledRoom,
    pub(crate) mode: Mode,
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
        let ordered = self.ordered(config, stack).await;
        let functions = self.function_limits().await;
        let in_room = ordered.clone().map(|(rate, _)| rate);
        let reserved = ReservationPlan::of(config, &in_room, stack, &functions);
        let (rate, mode) = ordered.unwrap_or_else(|_| configured(config));
        let mut limits = self.read_limits(&functions).await;
        let reserved_consumers = reserved.reservation().consumers;
        let ordered = RoomConfig { rate, mode: Some(mode), ..config.clone() };
        let room = ModelledRoom { reserved_consumers, ..ModelledRoom::of(&ordered, architecture, page) };
        limits.retain(|reading| !room.edge.answers() || !reading.limit.is_of_api());
        let allowed = taken(&limits, &self.region);
        let capacity = Capacity::of(&allowed, &room, visitors.unwrap_or(Capacity::USUAL_CROWD));
        let outlook = visitors.map(|visitors| Outlook::of(&allowed, &room, visitors));
        let mut warnings = warnings::of_limits(&allowed, &capacity, &room);
        warnings.extend(warnings::of_unread(&limits));
        warnings.extend(outlook.iter().flat_map(|outlook| warnings::of_crowd(outlook, rate)));
        warnings.extend(outlook.as_ref().and_then(|outlook| warnings::of_door(outlook, &room)));
        Forecast { limits, reserved, capacity, outlook, warnings, room, mode }
    }

    /// The rate and the mode of the room in this stack, which orders may have changed: a deployment leaves them as they are. Without a
    /// room those of its configuration. An error says why the room cannot be read.
    pub(crate) async fn ordered(
        &self,
        config: &RoomConfig,
        stack: Option<&StackState>,
    ) -> Result<(Rate, Mode), String> {
        if stack.is_none() {
            return Ok(configured(config));
        }
        let deployed = match self.room(&config.room).await {
            Ok(deployed) => deployed,
            // A stack that is incomplete has no room yet.
            Err(error) if error.kind() == CloudErrorKind::NotFound => return Ok(configured(config)),
            Err(error) => return Err(with_causes(&error)),
        };
        let room = deployed.store().room().await.map_err(|error| with_causes(&error))?;
        Ok((room.settings.rate, room.settings.mode))
    }
}

fn configured(config: &RoomConfig) -> (Rate, Mode) {
    (config.rate, config.mode.unwrap_or_default())
}
