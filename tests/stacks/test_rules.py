"""The template's event patterns, matched by AWS's own event-ruler against hand-written events."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from tests.stacks.conftest import Matching, Synthesised, properties

pytestmark = pytest.mark.java

ALARM_ARN = "arn:aws:cloudwatch:eu-west-1:210987654321:alarm:headroom-detect-iops-exceeded"
VOLUME_ARN = "arn:aws:ec2:eu-west-1:210987654321:volume/vol-0a1b2c3d4e5f60718"


def _envelope(source: str, detail_type: str, *arns: str, detail: dict[str, Any]) -> dict[str, Any]:
    return {
        "version": "0",
        "id": "5f0c6c1e-8a51-4c53-9d55-2f9d3c0c7a11",
        "detail-type": detail_type,
        "source": source,
        "account": "210987654321",
        "time": "2026-03-02T09:15:00Z",
        "region": "eu-west-1",
        "resources": list(arns),
        "detail": detail,
    }


CONTRIBUTOR = _envelope(
    "aws.cloudwatch",
    "CloudWatch Alarm Contributor State Change",
    ALARM_ARN,
    detail={
        "alarmName": "headroom-detect-iops-exceeded",
        "alarmContributor": {
            "id": "0f1e2d3c4b5a6978",
            "attributes": {"VolumeId": "vol-0a1b2c3d4e5f60718"},
        },
        "state": {"value": "ALARM", "reason": "2 out of 3", "timestamp": "2026-03-02T09:15:00Z"},
    },
)
ALARM = _envelope(
    "aws.cloudwatch",
    "CloudWatch Alarm State Change",
    ALARM_ARN,
    detail={
        "alarmName": "headroom-detect-burst-balance",
        "previousState": {"value": "OK"},
        "state": {"value": "ALARM", "evaluationState": "PARTIAL_DATA"},
    },
)
ALARM_EDITED = _envelope(
    "aws.cloudwatch",
    "CloudWatch Alarm Configuration Change",
    ALARM_ARN,
    detail={"alarmName": "headroom-detect-iops-exceeded", "operation": "update"},
)
MODIFIED = _envelope(
    "aws.ec2",
    "EBS Volume Notification",
    VOLUME_ARN,
    detail={"result": "optimizing", "cause": "", "event": "modifyVolume", "request-id": "r-1"},
)
MODIFY_CALL = _envelope(
    "aws.ec2",
    "AWS API Call via CloudTrail",
    detail={
        "eventSource": "ec2.amazonaws.com",
        "eventName": "ModifyVolume",
        "requestParameters": {"ModifyVolumeRequest": {"VolumeId": "vol-0a1b2c3d4e5f60718"}},
    },
)


def _with(event: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """The event with one field replaced."""
    changed = copy.deepcopy(event)
    at = changed
    *parents, last = path.split("/")
    for part in parents:
        at = at[part]
    at[last] = value
    return changed


CASES: tuple[tuple[str, dict[str, Any], str | None], ...] = (
    ("a contributor in ALARM", CONTRIBUTOR, "Alarms"),
    ("a contributor that is OK again", _with(CONTRIBUTOR, "detail/state/value", "OK"), "Alarms"),
    ("an alarm with partial data", ALARM, "Alarms"),
    ("the owner's own alarm", _with(ALARM, "detail/alarmName", "headroom-detect-mine"), "Alarms"),
    ("an alarm on Headroom itself", _with(ALARM, "detail/alarmName", "headroom-own-x"), None),
    ("somebody else's alarm", _with(ALARM, "detail/alarmName", "cpu-high"), None),
    ("an alarm that was edited", ALARM_EDITED, None),
    ("an alarm of another source", _with(ALARM, "source", "my.app"), None),
    ("a modification optimizing", MODIFIED, "VolumeModifications"),
    ("one that completed", _with(MODIFIED, "detail/result", "completed"), "VolumeModifications"),
    ("one with a new result", _with(MODIFIED, "detail/result", "stuck"), "VolumeModifications"),
    ("a volume created", _with(MODIFIED, "detail/event", "createVolume"), None),
    ("a snapshot", _with(MODIFIED, "detail-type", "EBS Snapshot Notification"), None),
    ("a ModifyVolume call", MODIFY_CALL, "ModifyVolumeCalls"),
    ("one that failed", _with(MODIFY_CALL, "detail/errorCode", "x"), "ModifyVolumeCalls"),
    ("another call", _with(MODIFY_CALL, "detail/eventName", "AttachVolume"), None),
    ("another service", _with(MODIFY_CALL, "detail/eventSource", "rds.amazonaws.com"), None),
)


@pytest.mark.parametrize(("what", "event", "rule"), CASES, ids=[case[0] for case in CASES])
def test_an_event_reaches_the_queue_once_or_not_at_all(
    matching: Matching, what: str, event: dict[str, Any], rule: str | None
) -> None:
    assert matching(event) == ([rule] if rule else []), what


def test_every_pattern_is_one_that_eventbridge_accepts(ruler: Any, shipped: Synthesised) -> None:
    compiler = ruler.JClass("software.amazon.event.ruler.RuleCompiler")
    for rule in properties(shipped.loop, "AWS::Events::Rule"):
        assert compiler.check(json.dumps(rule["EventPattern"])) is None
        assert rule["State"] == "ENABLED"
