"""CloudWatch's metrics: the store, statistics, metric math, Metrics Insights."""
