"""CloudWatch metrics: the store, statistics, metric math, Metrics Insights.

May import nothing of the endpoint.
Offers: MetricStore, MetricKey, QuerySet, parse."""

from headroom.localaws.metrics.expressions import BadExpression, parse
from headroom.localaws.metrics.insights import TagsOf, is_insights_query, parse_insights_query
from headroom.localaws.metrics.queries import QuerySet, Result
from headroom.localaws.metrics.statistics import UnknownStatistic, periods, statistic
from headroom.localaws.metrics.store import MetricKey, MetricStore, Series, epoch, instant
