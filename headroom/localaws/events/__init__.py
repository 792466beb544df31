"""EventBridge: events of AWS services, rules and their targets, schedules.

May import `state`.
Offers: put_event, put_api_call, send_to_target, start_due_schedules, the backends."""

from headroom.localaws.events.api import EventsApi, FirehoseApi
from headroom.localaws.events.bus import (
    iso,
    put_api_call,
    put_event,
    send_if_matching,
    send_to_target,
    trail_shape,
)
from headroom.localaws.events.expressions import whole_minute
from headroom.localaws.events.schedule_backends import LocalEvents, LocalScheduler
from headroom.localaws.events.schedules import start_due_schedules
from headroom.localaws.events.targets import Undeliverable, publish_to_topic, streams_of
