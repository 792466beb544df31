"""The messages about a transition: two events and an SNS message.

Source: CloudWatch User Guide, "Alarm events and EventBridge" (checked 2026-10).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from headroom.localaws.alarms.alarm import Alarm, AlarmState, Contributor
from headroom.localaws.alarms.evaluation import WORDS, Evaluation, Rule, State
from headroom.localaws.metrics import instant

ALARM_CHANGED = "CloudWatch Alarm State Change"
CONTRIBUTOR_CHANGED = "CloudWatch Alarm Contributor State Change"


def alarm_timestamp(at: datetime) -> str:
    """An instant as CloudWatch writes it inside events."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}+0000"


def reason(rule: Rule, evaluation: Evaluation) -> str:
    """The sentence in StateReason."""
    counted, filled = _counted(rule), evaluation.filled
    treated = (
        f"{filled} missing datapoint{'' if filled == 1 else 's'} "
        f"{'was' if filled == 1 else 'were'} treated as [{counted}]"
    )
    if not evaluation.evaluated:
        if counted is None:
            return "Insufficient Data: no datapoints were received."
        return f"Threshold Crossed: no datapoints were received for {filled} periods and {treated}."
    alarmed = evaluation.state is State.ALARM
    counted_points = [(at, v) for at, v in evaluation.evaluated if rule.breaches(v) is alarmed]
    values = ", ".join(f"{value} ({instant(at):%d/%m/%y %H:%M:%S})" for at, value in counted_points)
    least, change = (
        (rule.datapoints_to_alarm, "OK -> ALARM")
        if alarmed
        else (rule.evaluation_periods - rule.datapoints_to_alarm + 1, "ALARM -> OK")
    )
    gaps = f" and {treated}" if filled and counted is not None else ""
    return (
        f"Threshold Crossed: {len(counted_points)} out of the last {rule.evaluation_periods} datapoints "
        f"[{values}] {'was' if len(counted_points) == 1 else 'were'}{'' if alarmed else ' not'} "
        f"{WORDS[rule.comparison]} the threshold ({rule.threshold}){gaps} "
        f"(minimum {least} datapoint{'' if least == 1 else 's'} for {change} transition)."
    )


def _counted(rule: Rule) -> str | None:
    return {"breaching": "Breaching", "notBreaching": "NonBreaching"}.get(rule.missing.value)


def reason_data(alarm: Alarm, evaluation: Evaluation, at: datetime) -> str:
    """The JSON text in StateReasonData, datapoints oldest first."""
    ordered = sorted(evaluation.evaluated)
    data: dict[str, Any] = {"version": "1.0", "queryDate": alarm_timestamp(at)}
    if ordered:
        data["startDate"] = alarm_timestamp(instant(ordered[0][0]))
    if alarm.request.get("Statistic"):
        data["statistic"] = alarm.request["Statistic"]
    data |= {
        "period": alarm.period,
        "recentDatapoints": [value for _, value in ordered],
        "threshold": alarm.rule.threshold,
        "evaluatedDatapoints": [
            {"timestamp": alarm_timestamp(instant(start)), "value": value}
            for start, value in reversed(ordered)
        ],
    }
    return json.dumps(data, separators=(",", ":"))


def state_detail(state: AlarmState) -> dict[str, Any]:
    """A state inside an event; reasonData is a JSON text, absent when there is none."""
    detail: dict[str, Any] = {
        "value": state.value.value,
        "reason": state.reason,
        "timestamp": alarm_timestamp(state.at),
    }
    if state.data is not None:
        detail["reasonData"] = state.data
    if state.evaluation_state is not None:
        detail["evaluationState"] = state.evaluation_state
    return detail


def configuration(alarm: Alarm) -> dict[str, Any]:
    """The alarm's metrics inside an event; dimensions are an object here."""
    shape: dict[str, Any] = {"metrics": [_metric(q, alarm.period) for q in alarm.queries]}
    if alarm.request.get("AlarmDescription"):
        shape["description"] = alarm.request["AlarmDescription"]
    return shape


def _metric(query: Mapping[str, Any], period: int) -> dict[str, Any]:
    shape: dict[str, Any] = {"id": query["Id"], "returnData": bool(query.get("ReturnData", True))}
    stat = query.get("MetricStat")
    if stat:
        metric = stat["Metric"]
        dimensions = {d["Name"]: d["Value"] for d in metric.get("Dimensions") or ()}
        shape["metricStat"] = {
            "metric": {
                "namespace": metric["Namespace"],
                "name": metric["MetricName"],
                "dimensions": dimensions,
            },
            "period": int(stat["Period"]),
            "stat": stat["Stat"],
        }
        return shape
    shape["expression"] = query["Expression"]
    if query.get("Label"):
        shape["label"] = query["Label"]
    shape["period"] = int(query.get("Period") or period)
    return shape


def alarm_detail(alarm: Alarm, before: AlarmState) -> dict[str, Any]:
    """Detail of the alarm-level event."""
    return {
        "alarmName": alarm.name,
        "state": state_detail(alarm.state),
        "previousState": state_detail(before),
        "configuration": configuration(alarm),
    }


def contributor_detail(
    alarm: Alarm, contributor: Contributor, value: State, why: str, at: datetime
) -> dict[str, Any]:
    """Detail of the contributor-level event; it has no previous state and no reason data."""
    return {
        "alarmName": alarm.name,
        "alarmContributor": {"id": contributor.id, "attributes": dict(contributor.attributes)},
        "state": {"value": value.value, "reason": why, "timestamp": alarm_timestamp(at)},
        "configuration": configuration(alarm),
    }


def sns_message(
    alarm: Alarm, before: State, *, account: str, region: str, attributes: Sequence[object] = ()
) -> str:
    """The message of an SNS action."""
    request = alarm.request
    trigger = {
        name: request[name]
        for name in (
            "MetricName", "Namespace", "Period", "EvaluationPeriods", "DatapointsToAlarm",
            "ComparisonOperator", "Threshold", "TreatMissingData", "Metrics",
        )
        if request.get(name) is not None
    }  # fmt: skip
    if request.get("Statistic"):
        trigger |= {"StatisticType": "Statistic", "Statistic": str(request["Statistic"]).upper()}
        trigger["Dimensions"] = [
            {"name": d["Name"], "value": d["Value"]} for d in request.get("Dimensions") or ()
        ]
    message = {
        "AlarmName": alarm.name,
        "AlarmDescription": request.get("AlarmDescription"),
        "AWSAccountId": account,
        "AlarmConfigurationUpdatedTimestamp": alarm_timestamp(alarm.configured_at),
        "NewStateValue": alarm.state.value.value,
        "NewStateReason": alarm.state.reason,
        "StateChangeTime": alarm_timestamp(alarm.state.at),
        "Region": region,
        "AlarmArn": alarm.arn,
        "OldStateValue": before.value,
        "OKActions": list(request.get("OKActions") or ()),
        "AlarmActions": list(request.get("AlarmActions") or ()),
        "InsufficientDataActions": list(request.get("InsufficientDataActions") or ()),
        "Trigger": trigger,
    }
    if attributes:
        message["AlarmContributors"] = list(attributes)
    return json.dumps(message, default=str)
