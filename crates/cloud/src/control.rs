//! How orders reach a room on AWS: this process opens its ledger and its line, and carries them out itself.

use std::error::Error;

use control::{AlarmChange, Answer, EntriesByMinute, Order, Reply, Status, Transport};
use futures_util::future::join4;
use waitroom::Timestamp;

use crate::soon::soon;
use crate::{CloudError, DeployedRoom};

impl Transport for DeployedRoom {
    fn execute(&self, order: Order) -> Answer<'_, Reply> {
        Box::pin(async move {
            if let Some(needed) = order.needs().filter(|needed| !self.knows(needed.word())) {
                return Ok(Reply::failed(format!(
                    "is of a version that cannot {}; first deploy it again: `beekeeper deploy {}`",
                    needed.told(),
                    self.room
                )));
            }
            let reply = control::execute(self.store(), order, self.author(), self.store().now()).await;
            Ok(reply
                .map_err(|error| CloudError::from_port(format!("operate the room {}", self.room), error))?)
        })
    }

    fn now(&self) -> Timestamp {
        self.store().now()
    }

    fn is_far(&self) -> bool {
        true
    }

    fn watched(&self, status: Status) -> Answer<'_, Status> {
        Box::pin(async move {
            let (dead_letters, alarms, alarm_mail, refused) = Box::pin(join4(
                soon(self.dead_letters()),
                soon(self.alarms()),
                self.alarm_mail(),
                self.lately_refused(Transport::now(self)),
            ))
            .await;
            let (refusals, refusals_missing) = or_why(refused);
            let (dead_letters, lost) = or_why(dead_letters.map(Some));
            let (alarms, missing) = or_why(alarms);
            Ok(Status {
                refusals,
                refusals_missing,
                dead_letters,
                alarms,
                alarms_missing: missing.or(lost),
                alarm_mail,
                ..status
            })
        })
    }

    fn alarm_changes(&self, most: u16) -> Answer<'_, Vec<AlarmChange>> {
        Box::pin(async move { Ok(soon(self.alarm_changes(most)).await?) })
    }

    fn entered(&self, since: Timestamp) -> Answer<'_, Option<EntriesByMinute>> {
        Box::pin(async move {
            let entered = self.account.entered(&self.room, since, Transport::now(self)).await;
            entered.map(Some).map_err(boxed)
        })
    }
}

fn or_why<T: Default>(known: Result<T, String>) -> (T, Option<String>) {
    known.map_or_else(|why| (T::default(), Some(why)), |known| (known, None))
}

fn boxed(error: CloudError) -> Box<dyn Error + Send + Sync> {
    Box::new(error)
}

#[cfg(test)]
mod tests {
    use control::Ability;

    use crate::template::{TEMPLATE, parse};

    #[test]
    fn what_an_order_needs_is_known_to_a_room_that_is_deployed_now() {
        let template = parse(TEMPLATE).unwrap();
        let known: Vec<_> = template["Outputs"]["States"]["Value"].as_str().unwrap().split(' ').collect();
        for ability in Ability::ALL {
            assert!(known.contains(&ability.word()), "{ability:?} in {known:?}");
        }
    }
}
