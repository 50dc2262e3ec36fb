//! A room that is deployed, as its operator meets it.

use aws::{AwsStore, RoomResources, tuned};
use aws_sdk_sqs::types::QueueAttributeName;
use waitroom::RoomId;

use crate::stack::{Next, Stacks, next_step};
use crate::{Account, CloudError, Kind};

/// A room in an account.
#[derive(Clone, Debug)]
pub struct DeployedRoom {
    pub room: RoomId,
    pub urls: Urls,
    pub(crate) account: Account,
    pub(crate) stack: String,
    /// With the waiting page.
    pub(crate) bucket: String,
    store: AwsStore,
    dead_letters_url: String,
}

/// Where a room is reached.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Urls {
    /// What to publish.
    pub room: String,
    /// Where the shop's pages ask whether a visitor waited.
    pub client: String,
    /// The room under the name that AWS gave it, without a slash at the end.
    pub stage: String,
    /// What the CNAME of a domain of one's own has to point to.
    pub domain_target: Option<String>,
}

/// An alarm of the room.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CloudAlarm {
    pub name: String,
    /// `OK`, `ALARM` or `INSUFFICIENT_DATA`.
    pub state: String,
    pub description: String,
    pub reason: String,
}

impl Account {
    /// The room of this name. An error of the kind [`Kind::Absent`] if there is none.
    pub async fn room(&self, room: &RoomId) -> Result<DeployedRoom, CloudError> {
        let stacks = Stacks::of(self, room);
        let found = stacks.standing().await?;
        let attempt = || format!("find {}", stacks.place());
        let again = format!("run: beekeeper deploy {room}");
        let Some(found) = found else {
            return Err(CloudError::new(Kind::Absent, attempt(), "there is none").advise(again));
        };
        let output = |name: &str| {
            found.outputs.get(name).cloned().ok_or_else(|| {
                let reason = match next_step(Some(&found.status)) {
                    Next::Wait => format!("it is not done yet ({})", found.status),
                    _ => format!("it is not whole ({}): there is no {name}", found.status),
                };
                CloudError::new(Kind::Absent, attempt(), reason).advise(again.clone())
            })
        };
        let urls = Urls {
            room: output("RoomUrl")?,
            client: output("ClientUrl")?,
            stage: output("StageUrl")?,
            domain_target: found.outputs.get("DomainTarget").cloned(),
        };
        let places = RoomResources {
            ledger_table: output("LedgerTable")?,
            line_url: output("LineUrl")?,
            dead_letters_url: output("DeadLettersUrl")?,
        };
        let dead_letters_url = places.dead_letters_url.clone();
        let store = AwsStore::new(&tuned(self.config.clone()), places);
        Ok(DeployedRoom {
            room: room.clone(),
            urls,
            account: self.clone(),
            stack: found.id.clone(),
            bucket: output("PageBucket")?,
            store,
            dead_letters_url,
        })
    }
}

impl DeployedRoom {
    /// The room's ledger and line.
    pub fn store(&self) -> &AwsStore {
        &self.store
    }

    /// How many messages lie there that are no visitors.
    pub async fn dead_letters(&self) -> Result<u64, CloudError> {
        let sqs = aws_sdk_sqs::Client::new(&self.account.config);
        let get = sqs.get_queue_attributes().queue_url(&self.dead_letters_url);
        let get = get.attribute_names(QueueAttributeName::ApproximateNumberOfMessages).send().await;
        let attempt = format!("count the dead letters of {}", self.account.place(&self.room));
        let attributes = get.map_err(|error| self.account.adviser.trouble(attempt, error))?.attributes;
        Ok(attributes.unwrap_or_default().values().filter_map(|count| count.parse::<u64>().ok()).sum())
    }

    /// The room's alarms; none if they were not wanted.
    pub async fn alarms(&self) -> Result<Vec<CloudAlarm>, CloudError> {
        let attempt = format!("look at the alarms of {}", self.account.place(&self.room));
        // CloudFormation calls them by the stack, the alarm and something random.
        let prefix = format!("{}-", crate::names::stack(&self.room));
        let cloudwatch = aws_sdk_cloudwatch::Client::new(&self.account.config);
        let (mut all, mut more) = (Vec::new(), None);
        loop {
            let describe = cloudwatch.describe_alarms().alarm_name_prefix(&prefix).set_next_token(more);
            let page =
                describe.send().await.map_err(|error| self.account.adviser.trouble(&attempt, error))?;
            all.extend(page.metric_alarms.unwrap_or_default().into_iter().map(|alarm| CloudAlarm {
                name: alarm.alarm_name.unwrap_or_default(),
                state: alarm.state_value.map(|state| state.to_string()).unwrap_or_default(),
                description: alarm.alarm_description.unwrap_or_default(),
                reason: alarm.state_reason.unwrap_or_default(),
            }));
            more = page.next_token;
            if more.is_none() {
                break;
            }
        }
        // The room `sale` is not the room `sale-2`: what follows begins with a capital letter.
        all.retain(|alarm| {
            let rest = alarm.name.strip_prefix(&prefix);
            rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
        });
        Ok(all)
    }
}
