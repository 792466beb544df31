"""Alarms on single resources at the endpoint: an alarm that somebody else made is left alone."""

from __future__ import annotations

from headroom.adapters.cloudwatch import CloudWatchResourceAlarms
from tests.adapters.cloudwatch.test_resource_alarms import CHECK, OTHERS, PREFIX, applied, like_ours
from tests.localaws.conftest import Program


def test_an_alarm_of_somebody_else_is_neither_replaced_nor_removed(program: Program) -> None:
    client = program.client("cloudwatch")
    alarms = CloudWatchResourceAlarms(client, prefix=PREFIX, deployment="headroom")
    for changes in OTHERS.values():
        like_ours(alarms, client, **changes)
        (before,) = client.describe_alarms()["MetricAlarms"]
        for planned in (True, False):
            assert applied(client, planned=planned).error is None
            assert before in client.describe_alarms()["MetricAlarms"]
        client.delete_alarms(AlarmNames=[before["AlarmName"]])
    assert applied(client, planned=True).made == [f"{PREFIX}{CHECK.resource_id}"]
