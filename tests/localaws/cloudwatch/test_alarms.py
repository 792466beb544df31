"""Metrics and alarms over HTTP: paging, transitions, contributors, events, actions."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.localaws.conftest import Program

QUERY = (
    'SELECT MAX("VolumeIOPSExceededCheck") FROM SCHEMA("AWS/EBS", InstanceId, VolumeId) '
    "GROUP BY VolumeId ORDER BY MAX() DESC"
)


def now(program: Program) -> datetime:
    return datetime.fromisoformat(program.aws.control("clock")["now"])


def put(program: Program, name: str, value: float, *, namespace: str = "N", **dims: str) -> None:
    dimensions = [{"Name": k, "Value": v} for k, v in dims.items()]
    program.client("cloudwatch").put_metric_data(
        Namespace=namespace,
        MetricData=[{"MetricName": name, "Dimensions": dimensions, "Value": value}],
    )


def check(program: Program, volume: str, value: float) -> None:
    put(
        program, "VolumeIOPSExceededCheck", value, namespace="AWS/EBS", InstanceId="i-1",
        VolumeId=volume,
    )  # fmt: skip


def state(program: Program, name: str) -> str:
    answer = program.client("cloudwatch").describe_alarms(AlarmNames=[name])["MetricAlarms"][0]
    return str(answer["StateValue"])


def listen(program: Program, name: str, alarm: str) -> str:
    """A queue that receives every event of an alarm."""
    url, arn = program.queue(name)
    events = program.client("events")
    pattern = {"source": ["aws.cloudwatch"], "detail": {"alarmName": [alarm]}}
    events.put_rule(Name=name, EventPattern=json.dumps(pattern))
    events.put_targets(Rule=name, Targets=[{"Id": "q", "Arn": arn}])
    return url


def test_metric_data_comes_in_pages(program: Program) -> None:
    cloudwatch, start = program.client("cloudwatch"), now(program)
    for minute in range(5):
        for metric in ("a", "b"):
            cloudwatch.put_metric_data(
                Namespace="Pages",
                MetricData=[{"MetricName": metric, "Value": minute, "Timestamp": start + timedelta(minutes=minute)}],
            )  # fmt: skip
    queries = [
        {"Id": m, "MetricStat": {"Metric": {"Namespace": "Pages", "MetricName": m}, "Period": 60, "Stat": "Sum"}}
        for m in ("a", "b")
    ]  # fmt: skip
    request = {
        "MetricDataQueries": queries, "StartTime": start, "EndTime": start + timedelta(hours=1),
        "ScanBy": "TimestampAscending",
    }  # fmt: skip
    found: dict[str, list[float]] = {"a": [], "b": []}
    pages, token = 0, {}
    while True:
        answer = cloudwatch.get_metric_data(**request, MaxDatapoints=3, **token)
        pages += 1
        for result in answer["MetricDataResults"]:
            found[result["Id"]] += result["Values"]
        if "NextToken" not in answer:
            break
        token = {"NextToken": answer["NextToken"]}
    assert (pages, found) == (4, {"a": [0, 1, 2, 3, 4], "b": [0, 1, 2, 3, 4]})


def test_list_metrics_comes_in_pages_of_500(program: Program) -> None:
    cloudwatch = program.client("cloudwatch")
    for batch in range(0, 620, 20):
        data = [
            {"MetricName": "many", "Value": 1, "Dimensions": [{"Name": "n", "Value": str(n)}]}
            for n in range(batch, batch + 20)
        ]
        cloudwatch.put_metric_data(Namespace="Many", MetricData=data)
    pages = list(cloudwatch.get_paginator("list_metrics").paginate(Namespace="Many"))
    assert [len(page["Metrics"]) for page in pages] == [500, 120]


def test_statistics_and_percentiles_of_one_metric(program: Program) -> None:
    cloudwatch, start = program.client("cloudwatch"), now(program)
    cloudwatch.put_metric_data(
        Namespace="S", MetricData=[{"MetricName": "x", "Values": [1, 2, 10], "Counts": [5, 4, 1]}]
    )
    answer = cloudwatch.get_metric_statistics(
        Namespace="S", MetricName="x", StartTime=start, EndTime=start + timedelta(minutes=1),
        Period=60, Statistics=["Sum", "Average", "SampleCount"], ExtendedStatistics=["p95"],
    )["Datapoints"]  # fmt: skip
    assert [(d["Sum"], d["Average"], d["SampleCount"]) for d in answer] == [(23, 2.3, 10)]
    assert answer[0]["ExtendedStatistics"] == {"p95": 10}


@pytest.mark.parametrize(
    "queries",
    [
        [{"Id": "e", "Expression": "nope + 1"}],
        [{"Id": "e", "Expression": "SELECT WHAT FROM x"}],
        [{"Id": "m", "MetricStat": {"Metric": {"Namespace": "N", "MetricName": "a"}, "Period": 60, "Stat": "Mode"}}],
    ],
)  # fmt: skip
def test_an_invalid_query_is_a_validation_error(
    program: Program, queries: list[dict[str, Any]]
) -> None:
    start = now(program)
    with pytest.raises(ClientError, match="ValidationError"):
        program.client("cloudwatch").get_metric_data(
            MetricDataQueries=queries, StartTime=start, EndTime=start + timedelta(hours=1)
        )


def test_an_alarm_reports_transitions_only_and_publishes_to_its_topic(program: Program) -> None:
    sns, cloudwatch = program.client("sns"), program.client("cloudwatch")
    inbox, inbox_arn = program.queue("inbox")
    topic = sns.create_topic(Name="people")["TopicArn"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=inbox_arn)
    cloudwatch.put_metric_alarm(
        AlarmName="hot", Namespace="N", MetricName="heat", Statistic="Maximum", Period=60,
        EvaluationPeriods=3, DatapointsToAlarm=2, Threshold=1, AlarmActions=[topic],
        ComparisonOperator="GreaterThanOrEqualToThreshold", TreatMissingData="notBreaching",
        Dimensions=[{"Name": "room", "Value": "1"}], AlarmDescription="too hot",
    )  # fmt: skip
    events = listen(program, "hot-events", "hot")
    seen = []
    for value in (0, 1, 1, 1, 0, 0, 0):
        put(program, "heat", value, room="1")
        program.tick()
        seen.append(state(program, "hot"))
    assert seen == ["OK", "OK", "ALARM", "ALARM", "ALARM", "OK", "OK"]
    answer = [json.loads(body) for body in program.messages(events)]
    values = [
        (e["detail"]["previousState"]["value"], e["detail"]["state"]["value"]) for e in answer
    ]
    assert values == [("INSUFFICIENT_DATA", "OK"), ("OK", "ALARM"), ("ALARM", "OK")]
    alarm = answer[1]
    assert alarm["detail-type"] == "CloudWatch Alarm State Change"
    assert alarm["resources"] == ["arn:aws:cloudwatch:us-east-1:123456789012:alarm:hot"]
    data = json.loads(alarm["detail"]["state"]["reasonData"])
    assert (data["recentDatapoints"], data["threshold"]) == ([0.0, 1.0, 1.0], 1.0)
    metric = alarm["detail"]["configuration"]["metrics"][0]["metricStat"]["metric"]
    assert metric == {"namespace": "N", "name": "heat", "dimensions": {"room": "1"}}
    assert alarm["detail"]["configuration"]["description"] == "too hot"
    messages = [json.loads(json.loads(body)["Message"]) for body in program.messages(inbox)]
    assert [(m["NewStateValue"], m["OldStateValue"]) for m in messages] == [("ALARM", "OK")]
    history = cloudwatch.describe_alarm_history(AlarmName="hot", HistoryItemType="StateUpdate")
    assert history["AlarmHistoryItems"][0]["HistorySummary"].endswith("ALARM to OK")


def test_without_data_an_alarm_is_what_its_owner_said(program: Program) -> None:
    for missing in ("missing", "notBreaching", "breaching"):
        program.client("cloudwatch").put_metric_alarm(
            AlarmName=f"silent-{missing}", Namespace="N", MetricName="silence", Statistic="Sum",
            Period=60, EvaluationPeriods=2, Threshold=1, TreatMissingData=missing,
            ComparisonOperator="LessThanThreshold",
        )  # fmt: skip
    program.tick()
    states = [state(program, f"silent-{m}") for m in ("missing", "notBreaching", "breaching")]
    assert states == ["INSUFFICIENT_DATA", "OK", "ALARM"]


def test_a_metric_math_alarm_compares_its_expression(program: Program) -> None:
    metrics = [
        {"Id": m, "ReturnData": False, "MetricStat": {"Metric": {"Namespace": "N", "MetricName": m}, "Period": 60, "Stat": "Sum"}}
        for m in ("err", "all")
    ]  # fmt: skip
    program.client("cloudwatch").put_metric_alarm(
        AlarmName="share", EvaluationPeriods=1, Threshold=0.5,
        ComparisonOperator="GreaterThanThreshold",
        Metrics=[*metrics, {"Id": "share", "Expression": "err / all", "Label": "share"}],
    )  # fmt: skip
    seen = []
    for errors in (1, 3):
        put(program, "err", errors)
        put(program, "all", 4)
        program.tick()
        seen.append(state(program, "share"))
    assert seen == ["OK", "ALARM"]


def test_each_contributor_of_a_grouped_query_arrives_as_its_own_event(program: Program) -> None:
    cloudwatch = program.client("cloudwatch")
    cloudwatch.put_metric_alarm(
        AlarmName="fleet", EvaluationPeriods=3, DatapointsToAlarm=2, Threshold=1,
        ComparisonOperator="GreaterThanOrEqualToThreshold", TreatMissingData="notBreaching",
        Metrics=[{"Id": "m1", "Expression": QUERY, "Period": 60, "ReturnData": True}],
    )  # fmt: skip
    events = listen(program, "fleet-events", "fleet")
    program.tick()
    assert state(program, "fleet") == "INSUFFICIENT_DATA", (
        "an empty result, whatever TreatMissingData"
    )
    log = []
    for a, b in ((1, 0), (1, 0), (1, 1), (1, 1), (0, 1), (0, 1), (0, None), (0, None)):
        check(program, "vol-a", a)
        if b is not None:
            check(program, "vol-b", b)
        program.tick()
        answer = cloudwatch.describe_alarm_contributors(AlarmName="fleet")["AlarmContributors"]
        volumes = sorted(c["ContributorAttributes"]["VolumeId"] for c in answer)
        log.append((state(program, "fleet"), volumes))
    assert log == [
        ("OK", []), ("ALARM", ["vol-a"]), ("ALARM", ["vol-a"]), ("ALARM", ["vol-a", "vol-b"]),
        ("ALARM", ["vol-a", "vol-b"]), ("ALARM", ["vol-b"]), ("ALARM", ["vol-b"]),
        ("ALARM", ["vol-b"]),
    ]  # fmt: skip
    program.tick(6)
    assert state(program, "fleet") == "INSUFFICIENT_DATA"
    answer = [json.loads(body) for body in program.messages(events)]
    contributors = [e["detail"] for e in answer if "Contributor" in e["detail-type"]]
    assert [
        (c["alarmContributor"]["attributes"]["VolumeId"], c["state"]["value"]) for c in contributors
    ] == [("vol-a", "ALARM"), ("vol-b", "ALARM"), ("vol-a", "OK"), ("vol-b", "OK")]
    assert all(
        set(c) == {"alarmName", "alarmContributor", "state", "configuration"} for c in contributors
    )
    assert all(len(c["alarmContributor"]["id"]) == 16 for c in contributors)
    assert all("reasonData" not in c["state"] for c in contributors)
    assert contributors[0]["configuration"]["metrics"][0]["expression"] == QUERY
    assert (
        "2 missing datapoints were treated as [NonBreaching]" in contributors[-1]["state"]["reason"]
    )
    alarm_level = [
        e["detail"]["state"]["value"] for e in answer if "Contributor" not in e["detail-type"]
    ]
    assert alarm_level == ["OK", "ALARM", "OK", "INSUFFICIENT_DATA"]


def test_a_vanished_contributor_is_ok_whatever_missing_data_counts_for(program: Program) -> None:
    cloudwatch = program.client("cloudwatch")
    query = 'SELECT MAX("x") FROM SCHEMA("Gone", VolumeId) GROUP BY VolumeId ORDER BY MAX() DESC'
    cloudwatch.put_metric_alarm(
        AlarmName="gone", EvaluationPeriods=1, Threshold=1, TreatMissingData="ignore",
        ComparisonOperator="GreaterThanOrEqualToThreshold",
        Metrics=[{"Id": "m1", "Expression": query, "Period": 60, "ReturnData": True}],
    )  # fmt: skip
    events = listen(program, "gone-events", "gone")
    put(program, "x", 1, namespace="Gone", VolumeId="vol-a")
    program.tick(8)
    answer = [json.loads(body)["detail"] for body in program.messages(events)]
    states = [d["state"] for d in answer if "alarmContributor" in d]
    assert [s["value"] for s in states] == ["ALARM", "OK"]
    assert states[1]["reason"] == "No data was returned for this contributor"


def test_only_a_hundred_contributors_are_tracked_and_the_data_is_called_partial(
    program: Program,
) -> None:
    cloudwatch = program.client("cloudwatch")
    query = (
        'SELECT MAX("load") FROM SCHEMA("Crowd", VolumeId) GROUP BY VolumeId ORDER BY MAX() DESC'
    )
    cloudwatch.put_metric_alarm(
        AlarmName="crowd", EvaluationPeriods=1, Threshold=1,
        ComparisonOperator="GreaterThanOrEqualToThreshold",
        Metrics=[{"Id": "m1", "Expression": query, "Period": 60, "ReturnData": True}],
    )  # fmt: skip
    for n in range(105):
        put(program, "load", 1, namespace="Crowd", VolumeId=f"vol-{n:03d}")
    program.tick()
    answer = cloudwatch.describe_alarms(AlarmNames=["crowd"])["MetricAlarms"][0]
    assert (answer["StateValue"], answer["EvaluationState"]) == ("ALARM", "PARTIAL_DATA")
    contributors = cloudwatch.describe_alarm_contributors(AlarmName="crowd")["AlarmContributors"]
    assert len(contributors) == 100


def test_set_alarm_state_sends_the_event(program: Program) -> None:
    cloudwatch = program.client("cloudwatch")
    cloudwatch.put_metric_alarm(
        AlarmName="by-hand", Namespace="N", MetricName="x", Statistic="Sum", Period=60,
        EvaluationPeriods=1, Threshold=1, ComparisonOperator="GreaterThanThreshold",
    )  # fmt: skip
    events = listen(program, "by-hand-events", "by-hand")
    cloudwatch.set_alarm_state(AlarmName="by-hand", StateValue="ALARM", StateReason="a test")
    answer = [json.loads(body)["detail"] for body in program.messages(events)]
    assert [(d["state"]["value"], d["state"]["reason"]) for d in answer] == [("ALARM", "a test")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"ComparisonOperator": "Sideways"},
        {"EvaluationPeriods": 2, "DatapointsToAlarm": 3},
        {"Period": 3_600, "EvaluationPeriods": 9_999},
        {"MetricName": "x", "Metrics": [{"Id": "e", "Expression": "m1", "ReturnData": True}]},
    ],
)
def test_an_alarm_that_cannot_be_evaluated_is_refused(
    program: Program, wrong: dict[str, Any]
) -> None:
    request = {
        "AlarmName": "wrong", "Namespace": "N", "MetricName": "x", "Statistic": "Sum", "Period": 60,
        "EvaluationPeriods": 1, "Threshold": 1, "ComparisonOperator": "GreaterThanThreshold",
    }  # fmt: skip
    with pytest.raises(ClientError, match="Validation"):
        program.client("cloudwatch").put_metric_alarm(**{**request, **wrong})


def test_alarms_come_in_pages(program: Program) -> None:
    cloudwatch = program.client("cloudwatch")
    for n in range(5):
        cloudwatch.put_metric_alarm(
            AlarmName=f"page-{n}", Namespace="N", MetricName="x", Statistic="Sum", Period=60,
            EvaluationPeriods=1, Threshold=1, ComparisonOperator="GreaterThanThreshold",
        )  # fmt: skip
    pages = cloudwatch.get_paginator("describe_alarms").paginate(
        AlarmNamePrefix="page-", PaginationConfig={"PageSize": 2}
    )
    assert [len(page["MetricAlarms"]) for page in pages] == [2, 2, 1]
