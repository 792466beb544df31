"""What a dashboard shows, described once: the CloudWatch dashboard and the Grafana one are made from it.

Only what exists already: AWS's metrics, the metrics that the functions publish, and their logs.
No panel needs a metric per resource.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

OWN_NAMESPACE = "Headroom"
QUARTER_HOUR_S = 900


class Part(StrEnum):
    """A part of a deployment that a panel is about; its name is known when it is deployed."""

    SERVICE = "service"
    """The prefix, which is the dimension of the own metrics."""
    SIGNALS = "signals"
    SWEEP = "sweep"
    REQUESTS = "requests"
    QUEUE = "queue"
    DEAD_LETTERS = "dead_letters"
    LOST_RUNS = "lost_runs"
    HUB_DEAD_LETTERS = "hub_dead_letters"
    """Only where the deployment names a hub."""
    RECORDS = "records"
    STATE = "state"
    SIGNALS_LOG = "signals_log"
    SWEEP_LOG = "sweep_log"


FUNCTIONS = (Part.SIGNALS, Part.SWEEP, Part.REQUESTS)
DIMENSIONS: Mapping[str, str] = {
    OWN_NAMESPACE: "service",
    "AWS/DynamoDB": "TableName",
    "AWS/Lambda": "FunctionName",
    "AWS/SQS": "QueueName",
}
"""The one dimension by which a metric of a namespace is read."""


class View(StrEnum):
    """How the result of a log query is drawn."""

    LINES = "timeSeries"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Series:
    """One metric of one part."""

    namespace: str
    metric: str
    of: Part
    statistic: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A field of the dashboard, 24 columns in a row."""

    title: str
    width: int = 8
    height: int = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPanel(Panel):
    """Markdown."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmPanel(Panel):
    """The states of the alarms on Headroom itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricPanel(Panel):
    """Lines of metrics."""

    series: tuple[Series, ...]
    period_s: int = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPanel(Panel):
    """A query of CloudWatch Logs Insights over the log of one function."""

    log: Part
    query: str
    view: View = View.LINES


def panels() -> tuple[Panel, ...]:
    """All panels, row by row."""
    return (_HELP, AlarmPanel(title="Alarms on Headroom itself", width=24, height=3),
            *_FLEET, *_DECISIONS, *_QUEUES, *_FUNCTIONS, *_HEALTH)  # fmt: skip


def _of_functions(metric: str, statistic: str) -> tuple[Series, ...]:
    return tuple(
        Series("AWS/Lambda", metric, part, statistic, f"{part.value} {metric.lower()}")
        for part in FUNCTIONS
    )


def _own(*metrics: str, statistic: str = "Sum") -> tuple[Series, ...]:
    return tuple(Series(OWN_NAMESPACE, one, Part.SERVICE, statistic, one) for one in metrics)


def _of_tables(*metrics: str) -> tuple[Series, ...]:
    return tuple(
        Series("AWS/DynamoDB", one, part, "Sum", f"{part.value} {one}")
        for part in (Part.RECORDS, Part.STATE)
        for one in metrics
    )


_HELP = TextPanel(
    title="Headroom",
    width=24,
    height=3,
    text=(
        "# Headroom\n"
        "`headroom status` what is paused, spent and in flight | `headroom audit` every record | "
        "`headroom explain ID` one decision | `headroom report` a month | `headroom cost` what "
        "Headroom itself costs | `headroom doctor` the deployment's health"
    ),
)
_FLEET = (
    LogPanel(
        title="Fleet: resources read and suspects found, per 15 minutes",
        log=Part.SIGNALS_LOG,
        query=(
            'filter message = "read a page of the fleet"'
            " | stats sum(scanned) as resources_read, sum(suspects) as suspects_found by bin(15m)"
        ),
    ),
    LogPanel(
        title="Starved at the last reconciliation",
        width=16,
        log=Part.SIGNALS_LOG,
        view=View.TABLE,
        query=(
            "filter ispresent(starved_minutes)"
            " | stats latest(starved_minutes) as minutes, latest(binding) as limit_reached,"
            " latest(answer) as decision, latest(reason) as because, max(@timestamp) as last_seen by resource"
            " | filter minutes > 0 | sort minutes desc | limit 50"
        ),
    ),
)
_DECISIONS = (
    LogPanel(
        title="Decisions on record, per hour",
        log=Part.SWEEP_LOG,
        query=(
            'filter message = "recorded" and step = "decided"'
            ' | stats sum(strcontains(answer, "act")) as acts, sum(strcontains(answer, "hold")) as holds,'
            ' sum(strcontains(answer, "escalate")) as escalations by bin(1h)'
        ),
    ),
    LogPanel(
        title="Guardrails that blocked most",
        log=Part.SWEEP_LOG,
        view=View.TABLE,
        query=(
            'filter message = "recorded" and step = "decided" and answer != "act"'
            " | fields jsonParse(@message) as line | unnest line.blocking into guardrail"
            " | filter ispresent(guardrail)"
            " | stats count(*) as decisions by guardrail | sort decisions desc | limit 10"
        ),
    ),
    LogPanel(
        title="USD a month added and saved by changes that AWS accepted, per day",
        log=Part.SWEEP_LOG,
        query=(
            'filter message = "recorded" and step = "applied"'
            " | fields greatest(price_change_usd, 0) as more, greatest(0 - price_change_usd, 0) as less"
            " | stats sum(more) as added_usd, sum(less) as saved_usd by bin(1d)"
        ),
    ),
)
_QUEUES = (
    MetricPanel(
        title="Age of the oldest work on the queue, in seconds",
        series=(
            Series("AWS/SQS", "ApproximateAgeOfOldestMessage", Part.QUEUE, "Maximum", "age"),
        ),
    ),
    MetricPanel(
        title="Messages on the queue",
        series=(
            Series("AWS/SQS", "ApproximateNumberOfMessagesVisible", Part.QUEUE, "Maximum", "waiting"),
            Series("AWS/SQS", "ApproximateNumberOfMessagesNotVisible", Part.QUEUE, "Maximum", "taken"),
        ),
    ),
    MetricPanel(
        title="Dead letters",
        series=tuple(
            Series("AWS/SQS", "ApproximateNumberOfMessagesVisible", part, "Maximum", label)
            for part, label in ((Part.DEAD_LETTERS, "work"), (Part.LOST_RUNS, "runs of the dispatcher"),
                                (Part.HUB_DEAD_LETTERS, "events for the hub"))
        ),
    ),
)  # fmt: skip
_FUNCTIONS = (
    MetricPanel(
        title="Errors and throttles of the functions",
        series=(*_of_functions("Errors", "Sum"), *_of_functions("Throttles", "Sum")),
    ),
    MetricPanel(
        title="Duration of the functions, 95th percentile in milliseconds",
        series=_of_functions("Duration", "p95"),
    ),
    MetricPanel(
        title="Concurrent executions", series=_of_functions("ConcurrentExecutions", "Maximum")
    ),
)
_HEALTH = (
    LogPanel(
        title="Oldest due work and age of the scan, in seconds",
        width=6,
        log=Part.SWEEP_LOG,
        query=(
            'filter message = "dispatched"'
            " | stats max(oldest_due_s) as oldest_due, max(scan_age_s) as scan_age by bin(5m)"
        ),
    ),
    MetricPanel(
        title="Runs of the dispatcher that completed",
        width=6,
        series=_own("SweepCompleted"),
    ),
    MetricPanel(
        title="Trouble (published only while there is any)",
        width=6,
        period_s=QUARTER_HOUR_S,
        series=(
            *_own("ChangesStopped", "FailedReconciliations", "FailedNotifications",
                  "NotPublished", "RejectedSignals", "FallingBehind"),
            *_own("OldestDueSeconds", "ScanAgeSeconds", statistic="Maximum"),
        ),
    ),
    MetricPanel(
        title="Tables: use and throttles",
        width=6,
        series=_of_tables("ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits",
                          "ReadThrottleEvents", "WriteThrottleEvents"),
    ),
)  # fmt: skip
