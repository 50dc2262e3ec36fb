//! Whether the operator gets the e-mails of the alarms. AWS sends none before somebody clicked the link in its first one.

use aws_sdk_sns::types::Subscription;
use control::{AlarmMail, AlarmMailState};

use crate::deployed_room::MailAddress;
use crate::soon::soon;
use crate::{Account, CloudError, DeployedRoom};

/// What SNS says instead of an ARN while nobody has clicked the link, and for a while after somebody unsubscribed:
/// <https://docs.aws.amazon.com/sns/latest/api/API_ListSubscriptionsByTopic.html>
const PENDING: &str = "PendingConfirmation";
const DELETED: &str = "Deleted";

impl DeployedRoom {
    /// Whether the operator gets the e-mails of the alarms. `None` if the room has no alarms.
    pub async fn alarm_mail(&self) -> Option<AlarmMail> {
        let MailAddress { topic, address } = self.alarm_mail_to.clone()?;
        let (state, error) = match soon(self.account.subscriptions(&topic)).await {
            Ok(subscriptions) => (state(&subscriptions, &address), None),
            Err(error) => (AlarmMailState::Unknown, Some(error)),
        };
        Some(AlarmMail { address, topic, state, error })
    }
}

impl Account {
    async fn subscriptions(&self, topic: &str) -> Result<Vec<Subscription>, CloudError> {
        let sns = aws_sdk_sns::Client::new(&self.config);
        let list = sns.list_subscriptions_by_topic().topic_arn(topic).into_paginator();
        let subscriptions = list.items().send().try_collect().await;
        subscriptions.map_err(|error| self.errors.call_failed("read who gets them", error))
    }
}

/// Others may have subscribed as well. Only the configured address counts, because its owner relies on it.
fn state(subscriptions: &[Subscription], address: &str) -> AlarmMailState {
    let of_address = subscriptions.iter().filter(|subscription| {
        let endpoint = subscription.endpoint().unwrap_or_default();
        subscription.protocol() == Some("email") && endpoint.eq_ignore_ascii_case(address)
    });
    let states = of_address.filter_map(|subscription| match subscription.subscription_arn()? {
        DELETED => None,
        PENDING => Some(AlarmMailState::Pending),
        _ => Some(AlarmMailState::Confirmed),
    });
    // Whoever subscribed a second time may have confirmed only one of both.
    states.max_by_key(|state| *state == AlarmMailState::Confirmed).unwrap_or(AlarmMailState::Missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANNA: &str = "anna@shop.example";
    const ARN: &str = "arn:aws:sns:eu-central-1:123456789012:beekeeper-sale-AlarmTopic-1:6a5b";

    fn subscription(protocol: &str, endpoint: &str, arn: &str) -> Subscription {
        Subscription::builder().protocol(protocol).endpoint(endpoint).subscription_arn(arn).build()
    }

    #[test]
    fn only_the_configured_address_counts() {
        let of = |subscriptions: &[Subscription]| state(subscriptions, ANNA);
        assert_eq!(of(&[]), AlarmMailState::Missing);
        assert_eq!(of(&[subscription("email", ANNA, PENDING)]), AlarmMailState::Pending);
        assert_eq!(of(&[subscription("email", ANNA, ARN)]), AlarmMailState::Confirmed);
        assert_eq!(of(&[subscription("email", "Anna@shop.example", ARN)]), AlarmMailState::Confirmed);
        assert_eq!(of(&[subscription("email", ANNA, DELETED)]), AlarmMailState::Missing);
        let other = subscription("email", "ben@shop.example", ARN);
        assert_eq!(of(std::slice::from_ref(&other)), AlarmMailState::Missing);
        assert_eq!(of(&[other, subscription("email", ANNA, PENDING)]), AlarmMailState::Pending);
        assert_eq!(of(&[subscription("lambda", ANNA, ARN)]), AlarmMailState::Missing);
        let twice = [subscription("email", ANNA, ARN), subscription("email", ANNA, PENDING)];
        assert_eq!(of(&twice), AlarmMailState::Confirmed);
    }
}
