"""The control API under /_headroom/: clock, loads, ticks, external changes; and the loop over minutes.

May import `loads`, `functions`, `events`, `rds`, `ebs`, `cloudwatch`, `alarms`, `state`.
Offers: Control, PREFIX, the minute loop."""

from headroom.localaws.control.api import PREFIX, Control
from headroom.localaws.control.pacer import MinuteLoop
