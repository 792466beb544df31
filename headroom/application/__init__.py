"""The only orchestration: edges wake it, the level-triggered sweep makes it right."""

from headroom.application.day import tell_day
from headroom.application.look import look
from headroom.application.remediate import remediate
from headroom.application.sweep import SweepReport, sweep
from headroom.application.tail import RecordsTold, tell_records

__all__ = ["RecordsTold", "SweepReport", "look", "remediate", "sweep", "tell_day", "tell_records"]
