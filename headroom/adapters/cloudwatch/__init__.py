"""Metrics of volumes, databases, clusters and their instances, read with GetMetricData, and with
ListMetrics what agents measure.

May import `adapters.events` (resource names in dimensions), `adapters.errors`, `ports` and the domain.
The door offers one metrics adapter for each kind of storage, the history for replays, and alarms on single
resources."""

from headroom.adapters.cloudwatch.clusters import (
    PERIOD_S,
    CloudWatchAuroraMetrics,
    activity_of,
    billed_queries,
    queries,
)
from headroom.adapters.cloudwatch.databases import CloudWatchRdsMetrics
from headroom.adapters.cloudwatch.disk_metrics import disks_of
from headroom.adapters.cloudwatch.history import LONGEST_DAYS, CloudWatchHistory, Past, batches
from headroom.adapters.cloudwatch.metric_data import read, window
from headroom.adapters.cloudwatch.metrics import CloudWatchMetrics, glance_window
from headroom.adapters.cloudwatch.prefetched import PrefetchedMetrics
from headroom.adapters.cloudwatch.resource_alarms import CloudWatchResourceAlarms, FoundAlarm
from headroom.adapters.cloudwatch.summary import (
    DatabaseSummary,
    LoadSummary,
    database_summaries,
    summaries,
)
