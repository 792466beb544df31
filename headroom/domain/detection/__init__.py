"""Finding pressure cheaply: what a glance reads of storage, what it means, and when the next one is due.

May import: resources to workload.
The door offers `Glance`, the troubles in one, and the plan of the next."""

from headroom.domain.detection.glance import Glance, Metric
from headroom.domain.detection.next_glance import (
    DAILY,
    LONGEST,
    SHORTEST,
    WEEKLY,
    GlanceState,
    after_glance,
    first_metrics,
    interval,
    is_due,
    look_due,
    reads_the_rest,
    risk,
)
from headroom.domain.detection.troubles import (
    SUSPECT_BALANCE_PERCENT,
    Trouble,
    credits_cover,
    outstanding_at_limit,
    stirs_at,
    troubles_of,
)
