//! A room that is deployed.

use std::sync::Arc;

use aws::{AwsStore, RoomResources, tuned_for_operator};
use aws_model::Reservation;
use aws_sdk_sqs::types::QueueAttributeName;
use control::wording::alarm_mail;
use control::{Ability, AlarmMail};
use probe::WebAddress;
use url::Url;
use waitroom::{Author, RoomId, RoomState};

use crate::bundle::{PACKAGE_BUCKET, PACKAGE_KEY, unreadable};
use crate::edge_stack::has_edge_firewall;
use crate::error::OrIncomplete;
use crate::kept_refusals::KeptRefusals;
use crate::reservation::reserved;
use crate::stack::{NextStep, RoomStack, StackState, next_step};
use crate::template::{TEMPLATE, parse};
use crate::{Account, CloudError, CloudErrorKind, names};

/// A room in an account.
#[derive(Clone, Debug)]
pub struct DeployedRoom {
    pub room: RoomId,
    pub urls: Urls,
    pub(crate) account: Account,
    pub(crate) stack_id: String,
    is_being_removed: bool,
    /// The bucket with the waiting page.
    pub(crate) page_bucket: String,
    pub(crate) alarm_mail_to: Option<MailAddress>,
    /// The functions that are reserved for releasing.
    pub(crate) reserved: Reservation,
    store: AwsStore,
    /// What its functions know: states, a stock, and modes.
    states: Vec<String>,
    dead_letters_url: String,
    pub(crate) ledger_table: String,
    /// Whether an edge asks the door for everything.
    pub(crate) has_edge: bool,
    pub(crate) has_edge_firewall: bool,
    /// The function that is the door, if the room's version names it.
    pub(crate) door_function: Option<String>,
    pub(crate) refusals: Arc<KeptRefusals>,
}

/// Where the alarms of a room are sent.
#[derive(Clone, Debug)]
pub(crate) struct MailAddress {
    /// The ARN of an SNS topic.
    pub(crate) topic: String,
    pub(crate) address: String,
}

/// The URLs of a room.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Urls {
    /// The door: the URL to publish.
    pub room: String,
    /// The client check, for the shop's pages.
    pub client: String,
    /// The URL that AWS assigned to the API, or to the edge if there is one, without a slash at the end.
    pub stage: String,
    /// The target for the CNAME of a custom domain.
    pub domain_target: Option<String>,
    /// While the room moves to its edge or back: the target for a domain that leads to the API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_target: Option<String>,
}

impl Account {
    /// The deployed room of this name. An error of the kind [`CloudErrorKind::NotFound`] if there is none.
    pub async fn room(&self, room: &RoomId) -> Result<DeployedRoom, CloudError> {
        let stack = RoomStack::new(self, room);
        let not_found = |reason: String| {
            CloudError::new(CloudErrorKind::NotFound, format!("find {}", stack.description()), reason)
        };
        let found = stack.find().await?.ok_or_else(|| {
            not_found("it does not exist".into()).with_advice(format!(
                "if somebody has deployed the room, take their configuration file, or set its region, account and aws_profile in yours; \
                 if nobody has, run: beekeeper deploy {room}"
            ))
        })?;
        let output = |name: &str| {
            found.outputs.get(name).cloned().ok_or_else(|| {
                not_found(match next_step(Some(&found.status)) {
                    NextStep::Wait => format!("an operation on it is still running ({})", found.status),
                    _ => format!("it is incomplete ({}): the output {name} is missing", found.status),
                })
                .with_advice(format!("run: beekeeper deploy {room}"))
            })
        };
        let urls = Urls {
            room: output("RoomUrl")?,
            client: output("ClientUrl")?,
            stage: output("StageUrl")?,
            domain_target: found.outputs.get("DomainTarget").cloned(),
            api_target: found.outputs.get("Edge").and_then(|_| found.outputs.get("ApiDomainTarget")).cloned(),
        };
        let resources = RoomResources {
            ledger_table: output("LedgerTable")?,
            line_url: output("LineUrl")?,
            dead_letters_url: output("DeadLettersUrl")?,
        };
        let dead_letters_url = resources.dead_letters_url.clone();
        let ledger_table = resources.ledger_table.clone();
        let config = tuned_for_operator(self.config.clone());
        let store = AwsStore::new(&config, resources).with_trigger(&config, output("TriggerFunction")?);
        Ok(DeployedRoom {
            room: room.clone(),
            urls,
            account: self.clone(),
            stack_id: found.id.clone(),
            is_being_removed: found.status.as_str().starts_with("DELETE"),
            page_bucket: output("PageBucket")?,
            alarm_mail_to: mail_address(&found),
            reserved: reserved(&found),
            store,
            states: known_states(&found),
            dead_letters_url,
            ledger_table,
            has_edge: found.outputs.contains_key("Edge"),
            has_edge_firewall: has_edge_firewall(&found),
            door_function: found.outputs.get("ProducerFunction").cloned(),
            refusals: Arc::default(),
        })
    }
}

/// `None` if the stack has no alarms, or was deployed by a version that did not name their topic.
fn mail_address(stack: &StackState) -> Option<MailAddress> {
    let (topic, address) = (stack.outputs.get("AlarmTopic")?, stack.parameters.get("AlarmEmail")?);
    Some(MailAddress { topic: topic.clone(), address: address.clone() })
}

/// What shows that a newer beekeeper than this one deployed this stack, if anything does.
pub(crate) fn sign_of_newer(stack: &StackState) -> Result<Option<String>, CloudError> {
    let own = env!("CARGO_PKG_VERSION");
    if let Some(version) = stack.outputs.get("Version").filter(|version| is_newer(version, own)) {
        return Ok(Some(format!("beekeeper {version} deployed it, and this one is {own}")));
    }
    // Two builds may have one version.
    let own = || RoomState::ALL.map(RoomState::as_str).into_iter().chain(Ability::ALL.map(Ability::word));
    let mut unknown = known_states(stack);
    unknown.retain(|state| own().all(|own| own != state));
    // CDK puts a value in place of that parameter, and adds one of its own.
    if stack.parameters.contains_key(PACKAGE_BUCKET) {
        let template = parse(TEMPLATE).map_err(|error| unreadable(&error))?;
        let is_own = |name: &str| {
            [PACKAGE_BUCKET, PACKAGE_KEY].contains(&name) || template["Parameters"].get(name).is_some()
        };
        unknown.extend(stack.parameters.keys().filter(|name| !is_own(name)).cloned());
    }
    let unknown = unknown.join(", ");
    Ok((!unknown.is_empty())
        .then(|| format!("a newer beekeeper deployed it, and this one doesn't know its {unknown}")))
}

/// A candidate counts as the release that it's for.
fn is_newer(version: &str, own: &str) -> bool {
    let numbers = |version: &str| {
        let release = version.split('-').next()?;
        release.split('.').map(|number| number.parse().ok()).collect::<Option<Vec<u64>>>()
    };
    numbers(version) > numbers(own)
}

/// A stack of before does not say which states it knows.
fn known_states(stack: &StackState) -> Vec<String> {
    let states = stack.outputs.get("States").map_or("on paused off", String::as_str);
    states.split(' ').map(ToOwned::to_owned).collect()
}

impl DeployedRoom {
    /// Whether its functions know this word: a state, or that of an [ability](control::Ability::word). Others could not read the room
    /// any more.
    pub(crate) fn knows(&self, word: &str) -> bool {
        self.states.iter().any(|state| state == word)
    }

    /// What its operator is told after a deployment, which `found` it in this state.
    pub fn told(&self, found: RoomState, mail: Option<&AlarmMail>) -> String {
        let urls = &self.urls;
        let mut lines =
            vec![format!("waiting room   {}", urls.room), format!("client check   {}", urls.client)];
        if let Some(target) = &urls.domain_target {
            lines.push(format!("your domain    create a CNAME or alias record that points to {target}"));
        }
        if let Some(target) = &urls.api_target {
            lines.push(format!(
                "the move       a record that points to {target} works as well; a day after you changed it, set edge to \"yes\" (or \"no\", on \
                 the way back) and deploy again"
            ));
        }
        lines.extend(mail.and_then(alarm_mail).map(|mail| format!("alarm e-mails  {mail}")));
        match found {
            RoomState::On => {}
            RoomState::Paused => lines.push(format!(
                "The room is paused: visitors can join, but nobody enters. Turn it on with: beekeeper on {}",
                self.room
            )),
            RoomState::Closed | RoomState::ClosedPaused | RoomState::Ended => lines.push(format!(
                "The room is {found}: nobody new can join. Turn it on with: beekeeper on {}",
                self.room
            )),
            RoomState::Off => lines.push(format!(
                "The room is off: all visitors go straight to the shop. Turn it on with: beekeeper on {}",
                self.room
            )),
        }
        lines.join("\n")
    }

    /// The room's ledger and line.
    pub fn store(&self) -> &AwsStore {
        &self.store
    }

    /// Whether its removal has begun, so that parts of it may be gone.
    pub fn is_being_removed(&self) -> bool {
        self.is_being_removed
    }

    /// Who operates the room: the ARN of the credentials.
    pub fn author(&self) -> Author {
        Author::new(&self.account.arn)
    }

    /// Where a URL of this room is asked for.
    pub fn address(&self, url: Url) -> WebAddress {
        WebAddress::through(self.account.endpoint().as_ref(), url)
    }

    /// Its stack, for error texts.
    pub(crate) fn describe_stack(&self) -> String {
        self.account.describe_stack(&names::stack(&self.room))
    }

    /// How many messages are in the queue of dead letters.
    pub async fn dead_letters(&self) -> Result<u64, CloudError> {
        let attempt = format!("count the dead letters of {}", self.describe_stack());
        let attribute = QueueAttributeName::ApproximateNumberOfMessages;
        let sqs = aws_sdk_sqs::Client::new(&self.account.config);
        let get = sqs.get_queue_attributes().queue_url(&self.dead_letters_url);
        let answer = get.attribute_names(attribute.clone()).send().await;
        let answer = answer.map_err(|error| self.account.errors.call_failed(&attempt, error))?;
        let count = answer.attributes.and_then(|attributes| attributes.get(&attribute)?.parse().ok());
        count.or_incomplete(&attempt, "the number of messages")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stub_aws;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (version, own, expected) in [
            ("0.1.1", "0.1.0", true),
            ("0.10.0", "0.9.9", true),
            ("0.2.0-rc.1", "0.1.0", true),
            ("0.1.0", "0.1.0", false),
            ("0.1.0", "0.1.1", false),
            ("0.1.0", "0.1.0-rc.1", false),
            ("next", "0.1.0", false),
        ] {
            assert_eq!(is_newer(version, own), expected, "{version} than {own}");
        }
    }

    /// Somebody else's credentials or region, most likely: a second room would help nobody.
    #[tokio::test]
    async fn whoever_looks_in_the_wrong_account_is_not_sent_to_make_a_second_room() {
        let (account, _) = stub_aws::account(|_| {
            let error =
                "<Code>ValidationError</Code><Message>Stack with id beekeeper-sale does not exist</Message>";
            (400, format!("<ErrorResponse><Error>{error}</Error></ErrorResponse>"))
        })
        .await;
        let error = account.room(&"sale".parse().unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), CloudErrorKind::NotFound);
        assert_eq!(
            error.to_string(),
            "could not find the stack beekeeper-sale in eu-central-1 of account 123456789012"
        );
        let advice = error.advice().unwrap();
        assert!(
            advice.starts_with("if somebody has deployed the room, take their configuration file"),
            "{advice}"
        );
    }
}
