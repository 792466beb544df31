"""Deployed functions under AWS's runtime client: invokes, queues, dead letters, schedules."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.localaws.conftest import Program

ECHO = """
import os, boto3
def handle(event, context):
    if event.get("fail"):
        raise ValueError("as asked")
    name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
    queues = boto3.client("sqs").list_queues().get("QueueUrls", [])
    return {"event": event, "name": name, "mine": os.environ.get("MINE"), "queues": len(queues),
            "arn": context.invoked_function_arn}
"""
SLOW = "import time\ndef handle(event, context):\n    time.sleep(event['seconds'])\n    return 1\n"
PICKY = """
import json
def handle(event, context):
    bad = [r["messageId"] for r in event["Records"] if "poison" in r["body"]]
    print(json.dumps({"seen": [r["body"] for r in event["Records"]]}))
    return {"batchItemFailures": [{"itemIdentifier": m} for m in bad]}
"""
EMITTING = """
import json
def handle(event, context):
    print(json.dumps({"_aws": {"Timestamp": 0, "CloudWatchMetrics": [
        {"Namespace": "Mine", "Dimensions": [["who"]], "Metrics": [{"Name": "Runs"}]}]},
        "who": "me", "Runs": 1}))
"""


def invoke(program: Program, name: str, payload: Any, **more: Any) -> tuple[dict[str, Any], Any]:
    answer = program.client("lambda").invoke(
        FunctionName=name, Payload=json.dumps(payload).encode(), **more
    )
    body = answer["Payload"].read()
    return answer, json.loads(body) if body else None


def test_invoke_runs_the_deployed_zip_with_its_environment(program: Program) -> None:
    arn = program.function("echo", ECHO, Environment={"Variables": {"MINE": "yes"}})
    answer, result = invoke(program, "echo", {"a": 1})
    assert "FunctionError" not in answer
    assert (result["event"], result["name"], result["mine"]) == ({"a": 1}, "echo", "yes")
    assert result["arn"] == arn
    assert isinstance(result["queues"], int), "the function reached the endpoint"


def test_a_function_error_has_lambdas_shape(program: Program) -> None:
    program.function("echo-error", ECHO)
    answer, result = invoke(program, "echo-error", {"fail": True})
    assert (answer["FunctionError"], result["errorType"]) == ("Unhandled", "ValueError")
    assert result["errorMessage"] == "as asked"


def test_a_handler_that_cannot_be_imported_is_an_error(program: Program) -> None:
    program.function("broken", "import nothing_of_that_name")
    answer, result = invoke(program, "broken", {})
    assert (answer["FunctionError"], result["errorType"]) == (
        "Unhandled",
        "Runtime.ImportModuleError",
    )


def test_a_package_that_cannot_be_imported_is_an_error_of_its_functions(program: Program) -> None:
    """Packages are imported before processes are forked: a broken one must not end what forks them."""
    program.function("torn", ECHO)
    torn = io.BytesIO()
    with zipfile.ZipFile(torn, "w") as archive:
        archive.writestr("handler.py", ECHO)
        archive.writestr("boto3.py", "raise ImportError('torn package')")
    program.client("lambda").update_function_code(FunctionName="torn", ZipFile=torn.getvalue())
    answer, result = invoke(program, "torn", {})
    assert (answer["FunctionError"], result["errorType"]) == (
        "Unhandled", "Runtime.ImportModuleError",
    )  # fmt: skip
    assert "torn package" in result["errorMessage"]
    program.function("whole", ECHO)
    assert "FunctionError" not in invoke(program, "whole", {})[0]


def test_a_function_that_takes_too_long_is_ended_and_starts_afresh(program: Program) -> None:
    program.function("slow", SLOW, Timeout=1)
    invoke(program, "slow", {"seconds": 0})
    answer, result = invoke(program, "slow", {"seconds": 30})
    assert answer["FunctionError"] == "Unhandled"
    assert result["errorMessage"] == "Task timed out after 1.00 seconds"
    assert invoke(program, "slow", {"seconds": 0})[1] == 1


def test_new_code_is_what_runs_next(program: Program) -> None:
    program.function("changing", "def handle(e, c): return 1")
    assert invoke(program, "changing", {})[1] == 1
    program.client("lambda").update_function_configuration(
        FunctionName="changing", Environment={"Variables": {"A": "b"}}
    )
    assert invoke(program, "changing", {})[1] == 1


def test_an_unknown_function_is_not_found(program: Program) -> None:
    with pytest.raises(ClientError, match="ResourceNotFound"):
        invoke(program, "nobody", {})


def test_a_partial_failure_leaves_only_that_message_until_its_dead_letter_queue(
    program: Program,
) -> None:
    dead, dead_arn = program.queue("dead")
    redrive = json.dumps({"deadLetterTargetArn": dead_arn, "maxReceiveCount": 3})
    url, arn = program.queue("work", RedrivePolicy=redrive, VisibilityTimeout="90")
    program.function("picky", PICKY)
    program.client("lambda").create_event_source_mapping(
        EventSourceArn=arn, FunctionName="picky", BatchSize=10,
        FunctionResponseTypes=["ReportBatchItemFailures"],
    )  # fmt: skip
    sqs = program.client("sqs")
    for body in ("good 1", "poison", "good 2"):
        sqs.send_message(QueueUrl=url, MessageBody=body)
    program.tick(0)
    log = Path(program.aws.state_dir) / "logs" / "picky.log"
    assert _seen(log) == [["good 1", "poison", "good 2"]]
    program.tick()
    assert _seen(log)[1:] == [], "still hidden: the visibility time-out is 90 s of the clock"
    program.tick()
    assert _seen(log)[1:] == [["poison"]]
    program.tick(6)
    assert _seen(log)[1:] == [["poison"], ["poison"]]
    assert program.messages(dead) == ["poison"]
    assert program.aws.control("state")["queues"]["us-east-1/work"] == 0


BACKING_OFF = """
import boto3, json
def handle(event, context):
    (record,) = event["Records"]
    times = int(record["attributes"]["ApproximateReceiveCount"])
    url = boto3.client("sqs").get_queue_url(QueueName="outage")["QueueUrl"]
    boto3.client("sqs").change_message_visibility(
        QueueUrl=url, ReceiptHandle=record["receiptHandle"], VisibilityTimeout=600 * times
    )
    return {"batchItemFailures": [{"itemIdentifier": record["messageId"]}]}
"""


def test_a_failed_message_backs_off_for_a_day_and_dead_letters_are_moved_back(
    program: Program,
) -> None:
    dead, dead_arn = program.queue("outage-dead")
    redrive = json.dumps({"deadLetterTargetArn": dead_arn, "maxReceiveCount": 3})
    url, arn = program.queue("outage", RedrivePolicy=redrive, VisibilityTimeout="60")
    sqs = program.client("sqs")
    sqs.send_message(QueueUrl=url, MessageBody="an alarm")
    program.function("backing-off", BACKING_OFF)
    mapping = program.client("lambda").create_event_source_mapping(
        EventSourceArn=arn, FunctionName="backing-off", BatchSize=10,
        FunctionResponseTypes=["ReportBatchItemFailures"],
    )  # fmt: skip
    program.tick(0)
    parked = []
    for _ in range(6):
        program.tick(10)
        parked.append(program.aws.control("state")["queues"]["us-east-1/outage-dead"])
    assert parked == [0, 0, 0, 0, 0, 1], "after 10, 20 and 30 minutes"
    program.client("lambda").delete_event_source_mapping(UUID=mapping["UUID"])
    sqs.start_message_move_task(SourceArn=dead_arn, DestinationArn=arn)
    assert program.messages(url) == ["an alarm"]
    assert program.messages(dead) == []


def test_without_partial_responses_a_failed_batch_comes_back_whole(program: Program) -> None:
    url, arn = program.queue("whole", VisibilityTimeout="60")
    program.function("failing", "def handle(e, c):\n    print('{\"seen\": 1}')\n    raise OSError")
    program.client("lambda").create_event_source_mapping(
        EventSourceArn=arn, FunctionName="failing", BatchSize=10
    )
    for body in ("a", "b"):
        program.client("sqs").send_message(QueueUrl=url, MessageBody=body)
    program.tick(0)
    assert program.aws.control("state")["queues"]["us-east-1/whole"] == 2


def test_a_schedule_fires_its_function_at_its_minutes(program: Program) -> None:
    program.function("scheduled", EMITTING)
    arn = program.client("lambda").get_function(FunctionName="scheduled")["Configuration"][
        "FunctionArn"
    ]
    program.client("scheduler").create_schedule(
        Name="often", ScheduleExpression="rate(2 minutes)", FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": arn, "RoleArn": "arn:aws:iam::123456789012:role/any", "Input": "{}"},
    )  # fmt: skip
    start = datetime.fromisoformat(program.aws.control("clock")["now"])
    end = datetime.fromisoformat(program.tick(6)["now"])
    answer = program.client("cloudwatch").get_metric_data(
        StartTime=start, EndTime=end.replace(hour=23), ScanBy="TimestampAscending",
        MetricDataQueries=[
            {"Id": "r", "MetricStat": {"Period": 60, "Stat": "Sum", "Metric": {
                "Namespace": "Mine", "MetricName": "Runs",
                "Dimensions": [{"Name": "who", "Value": "me"}]}}},
        ],
    )["MetricDataResults"][0]  # fmt: skip
    assert [at.minute % 2 for at in answer["Timestamps"]] == [0, 0, 0]
    assert answer["Values"] == [1, 1, 1]


def test_a_scheduled_rule_reaches_its_queue(program: Program) -> None:
    url, arn = program.queue("ticks")
    events = program.client("events")
    events.put_rule(Name="hourly", ScheduleExpression="rate(1 minute)")
    events.put_targets(Rule="hourly", Targets=[{"Id": "q", "Arn": arn}])
    program.tick(2)
    answer = [json.loads(body) for body in program.messages(url)]
    assert [event["detail-type"] for event in answer] == ["Scheduled Event"] * 2


@pytest.mark.parametrize(("source", "expected"), [("me", True), ("you", False)])
def test_a_pattern_can_be_tried_on_an_event(program: Program, source: str, expected: bool) -> None:
    answer = program.client("events").test_event_pattern(
        EventPattern='{"source": ["me"]}', Event=json.dumps({"source": source})
    )
    assert answer["Result"] is expected


def test_what_a_rule_cannot_deliver_is_parked(program: Program) -> None:
    dead, dead_arn = program.queue("rule-dead")
    events = program.client("events")
    events.put_rule(Name="lost", EventPattern=json.dumps({"source": ["me"]}))
    gone = "arn:aws:sqs:us-east-1:123456789012:no-such-queue"
    events.put_targets(
        Rule="lost", Targets=[{"Id": "q", "Arn": gone, "DeadLetterConfig": {"Arn": dead_arn}}]
    )
    events.put_events(Entries=[{"Source": "me", "DetailType": "d", "Detail": '{"n": 1}'}])
    answer = [json.loads(body) for body in program.messages(dead)]
    assert [event["detail"] for event in answer] == [{"n": 1}]
    assert answer[0]["account"] == "123456789012"


def test_an_asynchronous_call_is_tried_three_times_and_then_parked(program: Program) -> None:
    dead, dead_arn = program.queue("async-dead")
    program.function("always-fails", "def handle(e, c):\n    raise OSError('no')")
    client = program.client("lambda")
    client.put_function_event_invoke_config(
        FunctionName="always-fails", DestinationConfig={"OnFailure": {"Destination": dead_arn}}
    )
    answer, _ = invoke(program, "always-fails", {"n": 1}, InvocationType="Event")
    assert answer["StatusCode"] == 202
    parked = []
    for _ in range(5):
        program.tick()
        parked.append([json.loads(body) for body in program.messages(dead)])
    assert [len(messages) for messages in parked] == [0, 0, 1, 0, 0]
    message = parked[2][0]
    assert message["requestContext"]["approximateInvokeCount"] == 3
    assert message["requestPayload"] == {"n": 1}
    assert message["responsePayload"]["errorMessage"] == "no"


def test_calls_errors_and_queue_depths_are_metrics(program: Program) -> None:
    program.function("counted", ECHO)
    start = datetime.fromisoformat(program.aws.control("clock")["now"])
    for payload in ({}, {}, {"fail": True}):
        invoke(program, "counted", payload)
    url, _ = program.queue("deep")
    program.client("sqs").send_message(QueueUrl=url, MessageBody="x")
    end = datetime.fromisoformat(program.tick()["now"])

    def total(namespace: str, name: str, dimension: str, value: str, at: datetime) -> list[float]:
        answer = program.client("cloudwatch").get_metric_statistics(
            Namespace=namespace, MetricName=name, StartTime=at, EndTime=at.replace(second=59),
            Period=60, Statistics=["Sum"], Dimensions=[{"Name": dimension, "Value": value}],
        )  # fmt: skip
        return [d["Sum"] for d in answer["Datapoints"]]

    assert total("AWS/Lambda", "Invocations", "FunctionName", "counted", start) == [3]
    assert total("AWS/Lambda", "Errors", "FunctionName", "counted", start) == [1]
    depth = total("AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", "deep", end)
    assert depth == [1]


def test_a_functions_clock_module_returns_the_endpoints_time(program: Program) -> None:
    import io
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("headroom/__init__.py", "")
        archive.writestr(
            "headroom/clock.py", "def utc_now():\n    raise RuntimeError('not replaced')\n"
        )
        archive.writestr(
            "handler.py",
            "from headroom import clock\ndef handle(e, c): return clock.utc_now().isoformat()\n",
        )
    program.function("clocked", "")
    client = program.client("lambda")
    client.update_function_code(FunctionName="clocked", ZipFile=buffer.getvalue())
    now = program.aws.control("clock")["now"]
    assert invoke(program, "clocked", {})[1] == now
    assert invoke(program, "clocked", {})[1] != program.tick()["now"]


def _seen(log: Path) -> list[list[str]]:
    lines = log.read_text().splitlines()
    return [json.loads(line)["seen"] for line in lines if line.startswith('{"seen"')]
