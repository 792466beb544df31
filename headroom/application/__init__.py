"""The only orchestration: edges wake it, the level-triggered sweep makes it right."""

from headroom.application.day import send_digest
from headroom.application.look import look
from headroom.application.remediate import remediate
from headroom.application.sweep import SweepReport, sweep
from headroom.application.tail import PublishedRecords, publish_records

__all__ = [
    "PublishedRecords",
    "SweepReport",
    "look",
    "publish_records",
    "remediate",
    "send_digest",
    "sweep",
]
