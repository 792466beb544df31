"""CloudWatch over HTTP, alarms joined to the event bus and tags, and the metrics of queues.

May import `events`, `rds`, `alarms`, `metrics`, `state`.
Offers: the API, the alarms of an account and Region, queue metrics."""

from headroom.localaws.cloudwatch.alarms import alarm_store
from headroom.localaws.cloudwatch.api import CloudWatchApi
from headroom.localaws.cloudwatch.queue_metrics import publish_queue_metrics
