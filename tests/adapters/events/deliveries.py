"""Events in the shapes EventBridge delivers them in, hand-written, one word to change one thing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

ACCOUNT = "123456789012"
REGION = "us-east-1"
VOLUME = "vol-0a1b2c3d4e5f60718"
ALARM = "headroom-detect-iops"
QUERY = (
    'SELECT MAX(VolumeIOPSExceededCheck) FROM SCHEMA("AWS/EBS", InstanceId, VolumeId) '
    "GROUP BY VolumeId ORDER BY MAX() DESC"
)
MUTED = {
    "mutedByArn": f"arn:aws:cloudwatch:{REGION}:{ACCOUNT}:alarm-mute-rule:nights",
    "muteWindowStart": "2026-01-05T00:00:00.000+0000",
    "muteWindowEnd": "2026-01-05T06:00:00.000+0000",
}


def envelope(
    source: str, detail_type: str, detail: Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    return {
        "version": "0",
        "id": "5d1f3f6e-8d1a-4a55-9a39-0d3a0c7a1f11",
        "detail-type": detail_type,
        "source": source,
        "account": ACCOUNT,
        "time": "2026-01-05T12:00:00Z",
        "region": REGION,
        "resources": [],
        "detail": dict(detail),
        **more,
    }


def contributor(state: str = "ALARM", attributes: Any = None, **detail: Any) -> dict[str, Any]:
    """One series of a query alarm: no previous state, no reason data."""
    return envelope(
        "aws.cloudwatch",
        "CloudWatch Alarm Contributor State Change",
        {
            "alarmName": ALARM,
            "alarmContributor": {
                "id": "0f1e2d3c4b5a6978",
                "attributes": {"VolumeId": VOLUME} if attributes is None else attributes,
            },
            "state": {
                "value": state,
                "reason": "Threshold Crossed: 2 datapoints were greater than or equal to 1.0.",
                "timestamp": "2026-01-05T11:59:58.120+0000",
            },
            "configuration": {
                "metrics": [{"id": "q1", "expression": QUERY, "returnData": True, "period": 60}]
            },
            **detail,
        },
    )


def query_alarm(state: str = "ALARM", **of_state: Any) -> dict[str, Any]:
    """The same alarm as a whole."""
    event = contributor()
    event["detail-type"] = "CloudWatch Alarm State Change"
    del event["detail"]["alarmContributor"]
    event["detail"]["state"] = {
        "value": state,
        "reason": "2 out of 31 time series evaluated to ALARM",
        "timestamp": "2026-01-05T11:59:58.120+0000",
        **of_state,
    }
    event["detail"]["previousState"] = {"value": "OK", "timestamp": "2026-01-05T11:00:00.000+0000"}
    return event


def metric_alarm(*volumes: str, state: str = "ALARM") -> dict[str, Any]:
    """An alarm on metrics with dimensions (an object here, a list in the API)."""
    metrics = [
        {
            "id": f"m{i}",
            "metricStat": {
                "metric": {
                    "namespace": "AWS/EBS",
                    "name": "BurstBalance",
                    "dimensions": {"VolumeId": volume},
                },
                "period": 300,
                "stat": "Average",
            },
            "returnData": True,
        }
        for i, volume in enumerate(volumes)
    ]
    event = query_alarm(
        state, reasonData=json.dumps({"version": "1.0", "period": 300, "threshold": 70.0})
    )
    event["detail"]["configuration"]["metrics"] = metrics
    return event


def notification(event: str = "modifyVolume", result: str = "optimizing") -> dict[str, Any]:
    return envelope(
        "aws.ec2",
        "EBS Volume Notification",
        {"result": result, "cause": "", "event": event, "request-id": "req-1"},
        resources=[f"arn:aws:ec2:{REGION}:{ACCOUNT}:volume/{VOLUME}"],
    )


def api_call(parameters: Any = None, name: str = "ModifyVolume", **detail: Any) -> dict[str, Any]:
    nested = {"ModifyVolumeRequest": {"VolumeId": VOLUME, "Iops": 6000, "VolumeType": "gp3"}}
    return envelope(
        "aws.ec2",
        "AWS API Call via CloudTrail",
        {
            "eventVersion": "1.11",
            "eventSource": "ec2.amazonaws.com",
            "eventName": name,
            "awsRegion": REGION,
            "requestParameters": nested if parameters is None else parameters,
            "responseElements": None,
            **detail,
        },
    )
