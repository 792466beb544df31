"""The only orchestration: edges wake it, the level-triggered sweep makes it right."""

from headroom.application.look import look
from headroom.application.remediate import remediate
from headroom.application.sweep import SweepReport, sweep

__all__ = ["SweepReport", "look", "remediate", "sweep"]
