"""Small refusals and boundaries of the services beside EBS."""

from __future__ import annotations

import re
from typing import Any

import pytest
from botocore.exceptions import ClientError

from headroom.localaws.daemon import EndpointFailed
from tests.localaws.conftest import START, Program

SELECT = 'SELECT MAX("x") FROM "N"'


def test_a_message_hidden_for_a_minute_is_there_after_a_minute(program: Program) -> None:
    url, _ = program.queue("hidden", VisibilityTimeout="60")
    sqs = program.client("sqs")
    sqs.send_message(QueueUrl=url, MessageBody="m")
    assert sqs.receive_message(QueueUrl=url)["Messages"]
    assert not sqs.receive_message(QueueUrl=url).get("Messages")
    program.tick(1)
    assert sqs.receive_message(QueueUrl=url)["Messages"]


@pytest.mark.parametrize(("period", "allowed"), [(10, True), (60, True), (45, False), (90, False)])
def test_an_alarm_has_one_of_awss_periods(program: Program, period: int, allowed: bool) -> None:
    request: dict[str, Any] = {
        "AlarmName": f"p{period}", "Namespace": "N", "MetricName": "x", "Statistic": "Sum",
        "Period": period, "EvaluationPeriods": 1, "Threshold": 1,
        "ComparisonOperator": "GreaterThanThreshold",
    }  # fmt: skip
    cloudwatch = program.client("cloudwatch")
    if allowed:
        cloudwatch.put_metric_alarm(**request)
        return
    with pytest.raises(ClientError, match=r"ValidationError.*multiple of 60"):
        cloudwatch.put_metric_alarm(**request)


@pytest.mark.parametrize(("ids", "words"), [(("a", "a"), "unique"), (("a", "b"), "only one")])
def test_queries_are_asked_under_their_own_ids_and_one_insights_query_at_a_time(
    program: Program, ids: tuple[str, str], words: str
) -> None:
    queries = [{"Id": name, "Expression": SELECT, "Period": 60} for name in ids]
    with pytest.raises(ClientError, match=f"ValidationError.*{words}"):
        program.client("cloudwatch").get_metric_data(
            MetricDataQueries=queries, StartTime=START, EndTime="2026-01-05T01:00:00+00:00"
        )


def test_values_without_their_counts_are_refused(program: Program) -> None:
    datum = {"MetricName": "x", "Values": [1.0, 2.0], "Counts": [1.0]}
    with pytest.raises(ClientError, match="same size") as caught:
        program.client("cloudwatch").put_metric_data(Namespace="N", MetricData=[datum])
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_a_queue_is_mapped_to_a_function_once(program: Program) -> None:
    _, arn = program.queue("mapped")
    program.function("taker", "def handle(event, context): return None")
    client = program.client("lambda")
    mapping = client.create_event_source_mapping(EventSourceArn=arn, FunctionName="taker")
    with pytest.raises(
        ClientError, match=f"ResourceConflictException.*{mapping['UUID']}"
    ) as answer:
        client.create_event_source_mapping(EventSourceArn=arn, FunctionName="taker")
    assert answer.value.response["ResponseMetadata"]["HTTPStatusCode"] == 409


def test_a_missing_service_is_reported_at_once(program: Program) -> None:
    with pytest.raises(ClientError, match=r"NotImplemented.*dlm") as caught:
        program.client("dlm").get_lifecycle_policies()
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 501


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("clock", {"seed": 1}, "The request must contain 'set'."),
        ("history", {"volume_id": "vol-0", "starts": []}, "There is no volume vol-0"),
        ("unload", {"volume": 1}, "load: volume_id is missing"),
        ("tick", {"minutes": [1]}, "The request has a value of the wrong kind"),
    ],
)
def test_the_control_api_answers_in_sentences(
    program: Program, path: str, body: dict[str, Any], words: str
) -> None:
    with pytest.raises(EndpointFailed, match=re.escape(words)):
        program.aws.control(path, body)
