"""Finding pressure cheaply: what a glance reads of storage, what it means, and when the next one is due.

May import: resources to workload.
The door offers `Glance`, the troubles in one, the plan of the next, and the plan of alarms on single resources."""

from headroom.domain.detection.glance import Glance, Metric
from headroom.domain.detection.next_glance import (
    DAILY,
    LONGEST,
    SHORTEST,
    USUAL_VALUE_USD_PER_MINUTE,
    WEEKLY,
    GlanceState,
    after_glance,
    first_metrics,
    interval,
    is_due,
    reads_the_rest,
    reconciliation_due,
    risk,
    was_busy,
)
from headroom.domain.detection.resource_alarms import (
    USD_PER_ALARM,
    AlarmPlan,
    Candidate,
    ResourceAlarm,
    Watched,
    alarm_of,
    deserves,
    may_have_alarm,
    most_alarms,
    planned,
    published_as,
)
from headroom.domain.detection.troubles import (
    Trouble,
    credits_cover,
    outstanding_at_limit,
    stirs_at,
    troubles_of,
)
