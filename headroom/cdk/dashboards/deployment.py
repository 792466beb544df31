"""The CloudWatch dashboard of a deployment, where its owner asked for one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aws_cdk import Aws, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from headroom.cdk.dashboards.panels import (
    DIMENSIONS,
    AlarmPanel,
    LogPanel,
    MetricPanel,
    Panel,
    Part,
    TextPanel,
    panels,
)
from headroom.settings import Names

COLUMNS = 24


class Dashboard(Construct):
    """One dashboard, named by prefix and Region: an account's dashboards are common to its Regions.

    Source: CloudWatch User Guide, "Using CloudWatch dashboards" (2026-11).
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, names: Names, parts: Mapping[Part, str],
        alarms: Sequence[cloudwatch.IAlarm],
    ) -> None:  # fmt: skip
        super().__init__(scope, construct_id)
        widgets = [
            {**where, **_widget(panel, parts, [alarm.alarm_arn for alarm in alarms])}
            for panel, where in placed(panels())
        ]
        cloudwatch.CfnDashboard(
            self,
            "Dashboard",
            dashboard_name=f"{names.prefix}-{Aws.REGION}",
            dashboard_body=Stack.of(self).to_json_string({"start": "-PT24H", "widgets": widgets}),
        )


def placed(shown: Sequence[Panel]) -> Iterator[tuple[Panel, dict[str, int]]]:
    """Each panel with its place, from left to right and row by row."""
    x = y = row = 0
    for panel in shown:
        if x + panel.width > COLUMNS:
            x, y, row = 0, y + row, 0
        yield panel, {"x": x, "y": y, "width": panel.width, "height": panel.height}
        x, row = x + panel.width, max(row, panel.height)


def _widget(panel: Panel, parts: Mapping[Part, str], alarms: Sequence[str]) -> dict[str, Any]:
    match panel:
        case TextPanel():
            return {"type": "text", "properties": {"markdown": panel.text}}
        case AlarmPanel():
            return {"type": "alarm", "properties": {"title": panel.title, "alarms": list(alarms)}}
        case LogPanel():
            query = f"SOURCE '{parts[panel.log]}' | {panel.query}"
            return {"type": "log", "properties": {
                "title": panel.title, "region": Aws.REGION, "query": query, "view": panel.view.value,
            }}  # fmt: skip
        case MetricPanel():
            metrics = [
                [one.namespace, one.metric, DIMENSIONS[one.namespace], parts[one.of],
                 {"label": one.label, "stat": one.statistic}]
                for one in panel.series
                if one.of in parts
            ]  # fmt: skip
            return {"type": "metric", "properties": {
                "title": panel.title, "region": Aws.REGION, "view": "timeSeries",
                "period": panel.period_s, "metrics": metrics,
            }}  # fmt: skip
    raise TypeError(f"{type(panel).__name__} is no panel of this dashboard")
