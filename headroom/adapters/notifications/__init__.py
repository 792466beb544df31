"""Messages to people through SNS: plain text, Slack blocks and the daily digest.

May import `ports` and the domain.
The door offers `TopicNotifier` and the message values that it renders."""

from headroom.adapters.notifications.messages import clipped, plan_facts, plan_of
from headroom.adapters.notifications.topic import SnsNotifier
