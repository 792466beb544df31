"""The hub's dashboard: every deployment of the organization, from the log of their events."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Aws, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

HELP = (
    "# Headroom, all accounts\n"
    "`headroom hub approve ID --spoke ACCOUNT/REGION` | `headroom hub pause --spokes FILE` | "
    "`headroom hub publish policy.yaml --spokes FILE` | Athena: the named queries of the workgroup"
)
PLACE = "fields coalesce(detail.region, region) as of_region"
"""The Region of the deployment; that of a redelivered event is the hub's."""
PANELS: Mapping[str, tuple[str, str]] = {
    "Waiting for approval": (
        "table",
        'filter `detail-type` in ["Headroom Request", "Headroom Change"]'
        f" | {PLACE} | stats latest(detail.step) as step, latest(detail.expires) as expires,"
        " latest(detail.summary) as summary by account, of_region, detail.decision_id"
        ' | filter step = "awaiting" | sort expires asc',
    ),
    "Failed or escalated": (
        "table",
        'filter detail.outcome in ["escalate", "failed", "refused", "ineffective", "diverged",'
        ' "breaker_opened", "policy_refused"]'
        f" | {PLACE} | display @timestamp, account, of_region, detail.outcome, detail.summary"
        " | sort @timestamp desc | limit 50",
    ),
    "Pauses and circuit breakers: latest event": (
        "table",
        f'filter `detail-type` = "Headroom Stop" | {PLACE}'
        ' | fields strcontains(detail.step, "breaker") as is_breaker'
        " | stats latest(detail.step) as step, latest(detail.until) as until, latest(detail.who) as who,"
        " max(@timestamp) as since by account, of_region, detail.resource, is_breaker"
        " | sort since desc",
    ),
    "Decisions, per hour": (
        "timeSeries",
        'filter detail.step = "decided"'
        ' | stats sum(strcontains(detail.outcome, "act")) as acts,'
        ' sum(strcontains(detail.outcome, "hold")) as holds,'
        ' sum(strcontains(detail.outcome, "escalate")) as escalations by bin(1h)',
    ),
    "USD per month added and saved, by account": (
        "table",
        'filter detail.step = "applied"'
        f" | {PLACE}, greatest(detail.plan.price_change_usd, 0) as more,"
        " greatest(0 - detail.plan.price_change_usd, 0) as less"
        " | stats max(more) as once_more, max(less) as once_less by account, of_region, detail.record_hash"
        " | stats count(*) as changes, sum(once_more) as added_usd, sum(once_less) as saved_usd"
        " by account, of_region"
        " | sort added_usd desc",
    ),
    "Deployments, longest silent first": (
        "table",
        f"{PLACE} | stats max(@timestamp) as last, count(*) as records by account, of_region"
        " | sort last asc",
    ),
}  # fmt: skip
"""Title, view and query of CloudWatch Logs Insights, two in a row."""


class HubDashboard(Construct):
    """One dashboard of logs, and whether records arrive and are kept."""

    def __init__(
        self, scope: Construct, construct_id: str, *, prefix: str, log: str, stream: str
    ) -> None:
        super().__init__(scope, construct_id)
        widgets: list[dict[str, object]] = [
            {"type": "text", "x": 0, "y": 0, "width": 24, "height": 3,
             "properties": {"markdown": HELP}},
        ]  # fmt: skip
        for number, (title, (view, query)) in enumerate(PANELS.items()):
            widgets.append(
                {"type": "log", "x": number % 2 * 12, "y": 3 + number // 2 * 7, "width": 12,
                 "height": 7, "properties": {
                     "title": title, "region": Aws.REGION, "view": view,
                     "query": f"SOURCE '{log}' | {query}",
                 }}
            )  # fmt: skip
        rule = ["EventBusName", prefix, "RuleName", prefix]
        kept = ["DeliveryStreamName", stream]
        metrics = [
            ["AWS/Events", "Invocations", *rule, {"stat": "Sum"}],
            ["AWS/Events", "FailedInvocations", *rule, {"stat": "Sum"}],
            ["AWS/Firehose", "DeliveryToS3.Records", *kept, {"stat": "Sum"}],
            ["AWS/Firehose", "DeliveryToS3.DataFreshness", *kept, {"stat": "Maximum"}],
        ]  # fmt: skip
        widgets.append(
            {"type": "metric", "x": 0, "y": 3 + (len(PANELS) + 1) // 2 * 7, "width": 24,
             "height": 6, "properties": {
                 "title": "Records received, failed and stored", "region": Aws.REGION,
                 "view": "timeSeries", "period": 300, "metrics": metrics,
             }}
        )  # fmt: skip
        cloudwatch.CfnDashboard(
            self,
            "Dashboard",
            dashboard_name=f"{prefix}-{Aws.REGION}",
            dashboard_body=Stack.of(self).to_json_string({"start": "-P7D", "widgets": widgets}),
        )
