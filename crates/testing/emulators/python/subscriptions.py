"""Shows in the list of a topic's subscriptions that one has not been confirmed, as AWS does. LocalEmu does so only in the list of
all subscriptions.
"""

from localemu.runtime import hooks
from localemu.services.sns import provider


@hooks.on_infra_start()
def show_what_is_pending():
    of_topic = provider.get_topic_subscriptions

    def shown(store, topic_arn):
        return [show(subscription) for subscription in of_topic(store, topic_arn)]

    # The provider has a name of its own for it, so what publishes still finds the ARNs.
    provider.get_topic_subscriptions = shown


def show(subscription):
    if subscription["PendingConfirmation"] == "true":
        return {**subscription, "SubscriptionArn": "PendingConfirmation"}
    return subscription
