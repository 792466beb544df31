"""CloudWatch alarms: configuration, evaluation each minute, contributors, transition events.

May import `metrics`.
Offers: the alarms of an account and Region, Alarm, State."""

from headroom.localaws.alarms.alarm import Alarm, AlarmInvalid, Contributor
from headroom.localaws.alarms.evaluation import State
from headroom.localaws.alarms.store import Act, AlarmStore, Emit, UnknownAlarm
