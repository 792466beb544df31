"""Alarms on single resources: planned by those who scan the fleet, made and removed by the dispatcher.

May import the domain and `ports`.
The door offers both steps."""

from headroom.application.alarms.apply import AlarmsReport, apply_alarm_plan
from headroom.application.alarms.plan import plan_alarms
