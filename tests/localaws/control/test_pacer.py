"""The whole path in simulated time: load, metrics, alarm, event, queue, function, change, relief."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headroom.localaws.daemon import EndpointFailed
from tests.localaws.conftest import START, Program

FIX = """
import json, boto3
def handle(event, context):
    for record in event["Records"]:
        response = json.loads(record["body"])
        item = {"id": {"S": response["id"]}, "body": {"S": record["body"]}, "message": {"S": record["messageId"]}}
        boto3.client("dynamodb").put_item(TableName="seen", Item=item)
        contributor = response["detail"].get("alarmContributor")
        if contributor and response["detail"]["state"]["value"] == "ALARM":
            volume = contributor["attributes"]["VolumeId"]
            boto3.client("ec2").modify_volume(VolumeId=volume, Iops=6000, Throughput=250)
    return {"batchItemFailures": []}
"""
QUERY = (
    'SELECT MAX("VolumeIOPSExceededCheck") FROM SCHEMA("AWS/EBS", InstanceId, VolumeId) '
    "GROUP BY VolumeId ORDER BY MAX() DESC"
)
LOAD = {
    "steps": [{"for": "5m", "iops": 500, "io_kib": 16}, {"for": "40m", "iops": 4000, "io_kib": 16}]
}


def story(program: Program, minutes: int) -> dict[str, Any]:
    """Deploy a small remedy, run a load, and return everything that can be observed."""
    program.client("dynamodb").create_table(
        TableName="seen", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )  # fmt: skip
    _, arn = program.queue("signals")
    program.function("fix", FIX)
    program.client("lambda").create_event_source_mapping(
        EventSourceArn=arn, FunctionName="fix", FunctionResponseTypes=["ReportBatchItemFailures"]
    )
    program.client("cloudwatch").put_metric_alarm(
        AlarmName="iops", EvaluationPeriods=3, DatapointsToAlarm=2, Threshold=1,
        ComparisonOperator="GreaterThanOrEqualToThreshold", TreatMissingData="notBreaching",
        Metrics=[{"Id": "q", "Expression": QUERY, "Period": 60, "ReturnData": True}],
    )  # fmt: skip
    events = program.client("events")
    events.put_rule(Name="all", EventPattern=json.dumps({"source": ["aws.cloudwatch", "aws.ec2"]}))
    events.put_targets(Rule="all", Targets=[{"Id": "q", "Arn": arn}])
    volume_id = program.volume(attached=True)
    attachment = {"instance_type": "m6i.2xlarge"}
    program.aws.control(
        "load", {"volume_id": volume_id, "workload": LOAD, "attachment": attachment}
    )
    response = program.tick(minutes)
    scan = program.client("dynamodb").scan(TableName="seen")["Items"]
    modifications = program.client("ec2").describe_volumes_modifications()["VolumesModifications"]
    return {
        "volume": volume_id,
        "minutes": response["minutes"],
        "seen": sorted(json.dumps(item, sort_keys=True) for item in scan),
        "modifications": json.loads(json.dumps(modifications, default=str)),
        "alarms": program.aws.control("state")["alarms"],
    }


@pytest.fixture(scope="module")
def response(long_program: Program) -> dict[str, Any]:
    return story(long_program, 30)


def test_a_starved_volume_is_relieved_by_what_was_deployed(response: dict[str, Any]) -> None:
    starved = [minute["start"][14:16] for minute in response["minutes"] if minute["starved"]]
    (change,) = response["modifications"]
    # Load rises at minute 5; minutes 5 and 6 breach and are readable 2 minutes after minute 6.
    assert change["StartTime"].startswith("2026-01-05 00:09:00")
    # Performance arrives 10 minutes later; the backlog is then worked off.
    assert starved[0] == "05"
    assert [m["limit_iops"] for m in response["minutes"]][18:20] == [3_000, 6_000]
    assert not any(minute["starved"] for minute in response["minutes"][-3:])


def test_metrics_are_readable_after_their_delay_only(
    long_program: Program, response: dict[str, Any]
) -> None:
    now = datetime.fromisoformat(long_program.aws.control("clock")["now"])
    answer = long_program.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/EBS", MetricName="VolumeReadOps", Period=60, Statistics=["Sum"],
        Dimensions=[{"Name": "VolumeId", "Value": response["volume"]}],
        StartTime=now - timedelta(hours=1), EndTime=now,
    )  # fmt: skip
    newest = max(point["Timestamp"] for point in answer["Datapoints"])
    assert newest == now - timedelta(minutes=3), "the minute that ended two minutes ago"


def test_the_same_seed_gives_the_same_record_at_another_endpoint(
    program: Program, response: dict[str, Any]
) -> None:
    program.client("ec2").describe_volumes()  # requests before the start shift nothing
    program.aws.control("clock", {"set": START, "seed": 99})
    program.volume()
    program.aws.control("reset", {})
    program.aws.control("clock", {"set": START, "seed": 7})
    assert story(program, 30) == response


def test_the_control_api_says_what_is_wrong(program: Program) -> None:
    for name, body, words in (
        ("load", {"volume_id": "vol-0", "workload": {}}, "no volume vol-0"),
        ("load", {"workload": {}}, "volume_id is missing"),
        ("load", {"volume_id": "v", "workload": {}, "wrkload": 1}, "unknown key 'wrkload'"),
        ("tick", {"minutes": -1}, "0 to"),
        ("clock", {"set": "noon"}, "noon"),
        ("nothing", None, "Known are"),
    ):  # fmt: skip
        with pytest.raises(EndpointFailed, match=words):
            program.aws.control(name, body)


def test_a_load_can_be_removed(program: Program) -> None:
    volume_id = program.volume()
    program.aws.control("load", {"volume_id": volume_id, "workload": LOAD})
    assert [m["volume_id"] for m in program.tick()["minutes"]] == [volume_id]
    assert program.aws.control("unload", {"volume_id": volume_id}) == {"unloaded": True}
    assert program.tick()["minutes"] == []


def test_after_a_reset_a_buckets_name_is_free_again(program: Program) -> None:
    for _ in range(2):
        s3 = program.client("s3")
        s3.create_bucket(Bucket="assets")
        s3.put_object(Bucket="assets", Key="k", Body=b"v")
        program.aws.control("reset", {})
        assert program.client("s3").list_buckets()["Buckets"] == []


def test_simulated_time_does_not_reach_credentials(program: Program) -> None:
    role = program.client("iam").create_role(RoleName="clocked", AssumeRolePolicyDocument="{}")
    response = program.client("sts").assume_role(RoleArn=role["Role"]["Arn"], RoleSessionName="me")
    assert response["Credentials"]["Expiration"] > datetime.now(UTC)


def test_a_load_is_limited_by_the_instance_of_its_volume(program: Program) -> None:
    attached, alone = program.volume(attached=True), program.volume()
    ec2 = program.client("ec2")
    for volume_id in (attached, alone):
        ec2.modify_volume(VolumeId=volume_id, Iops=50_000, Throughput=500)
    program.tick(15)
    workload = {"steps": [{"for": "2h", "iops": 45_000, "io_kib": 4}]}
    for volume_id in (attached, alone):
        program.aws.control("load", {"volume_id": volume_id, "workload": workload})
    limited = {m["volume_id"]: m["instance_iops_exceeded"] for m in program.tick(2)["minutes"]}
    assert (limited[attached], limited[alone]) == (1, 0)
    for volume_id in (attached, alone):
        program.aws.control("unload", {"volume_id": volume_id})
