"""Write docs/operate/grafana-dashboard.json from the panels of the CloudWatch dashboard. `python -m tools.grafana`

The data source is CloudWatch. What CloudFormation names is found by variables, by the names' logical
parts, and may be chosen otherwise in the dashboard.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headroom.cdk.dashboards import (
    DIMENSIONS,
    AlarmPanel,
    LogPanel,
    MetricPanel,
    Panel,
    Part,
    TextPanel,
    View,
    panels,
    placed,
)
from headroom.settings import DEFAULT_PREFIX

PAGE = Path(__file__).resolve().parents[1] / "docs" / "operate" / "grafana-dashboard.json"
SOURCE = {"type": "cloudwatch", "uid": "${datasource}"}
FOUND: Mapping[Part, tuple[str, str, str]] = {
    Part.SIGNALS: ("AWS/Lambda", "Invocations", "SignalsFunction"),
    Part.SWEEP: ("AWS/Lambda", "Invocations", "SweepFunction"),
    Part.REQUESTS: ("AWS/Lambda", "Invocations", "-requests$"),
    Part.QUEUE: ("AWS/SQS", "NumberOfMessagesSent", "SignalsQueue(?!DeadLetters)"),
    Part.DEAD_LETTERS: ("AWS/SQS", "NumberOfMessagesSent", "SignalsQueueDeadLetters"),
    Part.LOST_RUNS: ("AWS/SQS", "NumberOfMessagesSent", "SweepScheduleDeadLetters"),
    Part.HUB_DEAD_LETTERS: ("AWS/SQS", "NumberOfMessagesSent", "HubEventsDeadLetters"),
    Part.RECORDS: ("AWS/DynamoDB", "ConsumedWriteCapacityUnits", "RecordsTable"),
    Part.STATE: ("AWS/DynamoDB", "ConsumedWriteCapacityUnits", "StateTable"),
}
"""Namespace and metric that list the names of a kind, and what the name of the part contains."""
LOGS: Mapping[Part, str] = {Part.SIGNALS_LOG: "SignalsLogs", Part.SWEEP_LOG: "SweepLogs"}


def dashboard() -> dict[str, Any]:
    """The dashboard as Grafana imports it."""
    return {
        "title": "Headroom",
        "uid": "headroom",
        "tags": ["aws", "storage"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "time": {"from": "now-24h", "to": "now"},
        "refresh": "",
        "templating": {"list": _variables()},
        "annotations": {"list": [_alarm_changes()]},
        "panels": [
            {"id": number, **_panel(panel),
             "gridPos": {"x": at["x"], "y": at["y"], "w": at["width"], "h": at["height"]}}
            for number, (panel, at) in enumerate(placed(panels()), start=1)
        ],
    }  # fmt: skip


def _variables() -> list[dict[str, Any]]:
    """The data source, the Region, the prefix, and the name of each part."""
    return [
        {"name": "datasource", "label": "Data source", "type": "datasource", "query": "cloudwatch"},
        _query("region", {"queryType": "regions"}, ""),
        {"name": Part.SERVICE.value, "label": "Prefix", "type": "textbox", "query": DEFAULT_PREFIX,
         "current": {"text": DEFAULT_PREFIX, "value": DEFAULT_PREFIX}},
        *(
            _query(part.value, {
                "queryType": "dimensionValues", "region": "$region", "namespace": namespace,
                "metricName": metric, "dimensionKey": DIMENSIONS[namespace], "dimensionFilters": {},
            }, contains)
            for part, (namespace, metric, contains) in FOUND.items()
        ),
        *(
            _query(part.value, {
                "queryType": "logGroups", "region": "$region", "logGroupPrefix": "",
            }, contains)
            for part, contains in LOGS.items()
        ),
    ]  # fmt: skip


def _query(name: str, query: dict[str, Any], contains: str) -> dict[str, Any]:
    return {
        "name": name, "label": name.replace("_", " ").capitalize(), "type": "query",
        "datasource": SOURCE, "query": {"refId": f"variable-{name}", **query},
        "regex": f"/{contains}/" if contains else "", "refresh": 1, "sort": 1,
    }  # fmt: skip


def _alarm_changes() -> dict[str, Any]:
    """Changes of state of the alarms on Headroom itself, as marks in every panel."""
    return {
        "name": "Alarms on Headroom itself", "enable": True, "iconColor": "red", "datasource": SOURCE,
        "target": {
            "queryMode": "Annotations", "refId": "alarms", "region": "$region",
            "prefixMatching": True, "alarmNamePrefix": f"${Part.SERVICE.value}-own-",
            "actionPrefix": "", "namespace": "", "metricName": "", "dimensions": {},
            "statistic": "Maximum", "period": "60",
        },
    }  # fmt: skip


def _panel(panel: Panel) -> dict[str, Any]:
    match panel:
        case TextPanel():
            return _text(panel.text)
        case AlarmPanel():  # Grafana's data source reads their changes, not their states
            return _text(
                f"**{panel.title}**: their changes are marked in the panels below. States: "
                "[CloudWatch](https://console.aws.amazon.com/cloudwatch/home?region=${region}"
                "#alarmsV2:?search=${service}-own-)"
            )
        case LogPanel():
            kind = "table" if panel.view is View.TABLE else "timeseries"
            return {
                "type": kind,
                "title": panel.title,
                "datasource": SOURCE,
                "targets": [_log(panel)],
            }
        case MetricPanel():
            return {
                "type": "timeseries", "title": panel.title, "datasource": SOURCE,
                "targets": _metrics(panel),
            }  # fmt: skip
    raise TypeError(f"{type(panel).__name__} is no panel of this dashboard")


def _text(markdown: str) -> dict[str, Any]:
    return {"type": "text", "title": "", "options": {"mode": "markdown", "content": markdown}}


def _log(panel: LogPanel) -> dict[str, Any]:
    log = f"${{{panel.log.value}}}"
    return {
        "refId": "A", "datasource": SOURCE, "queryMode": "Logs", "region": "$region", "id": "",
        "expression": panel.query, "logGroups": [{"name": log, "arn": log}],
        "statsGroups": re.findall(r"bin\(\w+\)", panel.query),
    }  # fmt: skip


def _metrics(panel: MetricPanel) -> list[dict[str, Any]]:
    return [
        {
            "refId": chr(ord("A") + number), "datasource": SOURCE, "queryMode": "Metrics",
            "metricQueryType": 0, "metricEditorMode": 0, "region": "$region", "id": "",
            "namespace": one.namespace, "metricName": one.metric,
            "dimensions": {DIMENSIONS[one.namespace]: f"${{{one.of.value}}}"},
            "matchExact": True, "statistic": one.statistic, "period": str(panel.period_s),
            "label": one.label,
        }
        for number, one in enumerate(panel.series)
    ]  # fmt: skip


def written() -> str:
    """The text of the file."""
    return json.dumps(dashboard(), indent=2) + "\n"


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
