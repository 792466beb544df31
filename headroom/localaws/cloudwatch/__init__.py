"""CloudWatch over HTTP, and the metrics of queues.

May import `alarms`, `metrics`, `state`.
Offers: the API, queue metrics."""

from headroom.localaws.cloudwatch.api import CloudWatchApi
from headroom.localaws.cloudwatch.queue_metrics import publish_queue_metrics
