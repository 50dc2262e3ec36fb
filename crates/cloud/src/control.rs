//! How orders reach a room on AWS: this process opens its ledger and its line, and carries them out itself.

use std::time::Duration;

use control::{AlarmChange, Answer, EntriesByMinute, Order, Reply, Status, Transport};
use futures_util::future::join4;
use waitroom::Timestamp;

use crate::soon::{soon, within};
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
        // A call for each alarm, or several. A report needs all of them, and `destroy` is refused without it.
        Box::pin(async move { Ok(within(Duration::from_mins(1), self.alarm_changes(most)).await?) })
    }

    fn entered(&self, since: Timestamp) -> Answer<'_, Option<EntriesByMinute>> {
        Box::pin(async move {
            let entered = self.account.entered(&self.room, since, Transport::now(self)).await?;
            Ok(Some(entered))
        })
    }
}

fn or_why<T: Default>(known: Result<T, String>) -> (T, Option<String>) {
    known.map_or_else(|why| (T::default(), Some(why)), |known| (known, None))
}

#[cfg(test)]
mod tests {
    use control::Ability;
    use control::example::suffering;

    use super::*;
    use crate::stub_aws;
    use crate::template::{TEMPLATE, parse};

    /// A room whose operator may look at its stack, and at nothing that watches it.
    fn answer(request: &str) -> (u16, String) {
        if stub_aws::action(request) == Some("DescribeStacks") {
            return (200, stub_aws::described("UPDATE_COMPLETE", &[]));
        }
        let denied = "<Error><Code>AccessDenied</Code><Message>no</Message></Error>";
        (403, format!("<ErrorResponse>{denied}</ErrorResponse>"))
    }

    #[tokio::test]
    async fn a_status_is_shown_whatever_watches_the_room() {
        let (account, _) = stub_aws::account(answer).await;
        let room = account.room(&"sale".parse().unwrap()).await.unwrap();
        let status = room.watched(Status { alarm_mail: None, ..suffering() }).await.unwrap();
        let missing = [status.alarms_missing, status.refusals_missing].map(Option::unwrap);
        assert!(
            missing[0].starts_with("could not read the alarms of ") && status.alarms.is_empty(),
            "{missing:?}"
        );
        assert!(
            missing[1].starts_with("could not read how many requests the room sale refused"),
            "{missing:?}"
        );
        assert_eq!((status.dead_letters, status.released), (None, suffering().released));
        assert!(Transport::alarm_changes(&room, 20).await.is_err());
    }

    #[test]
    fn what_an_order_needs_is_known_to_a_room_that_is_deployed_now() {
        let template = parse(TEMPLATE).unwrap();
        let known: Vec<_> = template["Outputs"]["States"]["Value"].as_str().unwrap().split(' ').collect();
        for ability in Ability::ALL {
            assert!(known.contains(&ability.word()), "{ability:?} in {known:?}");
        }
    }
}
