"""What CloudWatch publishes about a minute, with AWS's names, dimensions, gaps and delay; the alarms.

May import `physics`, `workloads`.
Offers: datapoints of volumes, databases and Aurora clusters, PublishedVolume, VolumeAlarms."""

from headroom.proving.metrics.alarms import (
    BREACHING_MIN,
    CHECKS,
    EVALUATED_MIN,
    LOW_BALANCE_PERCENT,
    VolumeAlarms,
)
from headroom.proving.metrics.aurora import AuroraMembers, aurora_datapoints
from headroom.proving.metrics.database import DbMember, added_up, database_datapoints
from headroom.proving.metrics.published import (
    BUSIEST,
    GLANCE_MIN,
    INSTANCE_SERIES,
    RATES,
    SLOW_MIN,
    VOLUME_SERIES,
    PublishedVolume,
    minute_number,
)
from headroom.proving.metrics.volume import (
    BALANCE_EVERY_MIN,
    BALANCES,
    Datapoint,
    datapoints,
    instance_datapoints,
    metric_sums,
)
