"""CloudWatch alarms: configuration, evaluation each minute, contributors, transition events.

May import `events`, `rds`, `metrics`, `state`.
Offers: the alarms of an account and Region, Alarm, State."""

from headroom.localaws.alarms.alarm import Alarm, AlarmInvalid, Contributor
from headroom.localaws.alarms.evaluation import State
from headroom.localaws.alarms.store import AlarmStore, UnknownAlarm, alarm_store, tags_of
