"""Each way in which a deployment breaks is one finding, and a healthy one has none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from headroom.adapters.cloudwatch import CloudWatchResourceAlarms
from headroom.cli.commands.doctor import CHECKS
from headroom.cli.doctor.deployed import Deployed, Stack, StackResource, of_deployment
from headroom.cli.doctor.findings import Finding, examine
from headroom.domain.detection import Metric, ResourceAlarm, Watched
from headroom.domain.policy import Policy, hard_caps_of
from headroom.domain.resources import AdditionalVolume, DatabaseFacts, Kind, ResourceRef, VolumeType
from headroom.domain.state import Step
from headroom.policy import canonical_json, default_policy, parse_policy
from headroom.ports import StorageView
from headroom.settings import FunctionSettings, Names
from tests.builders import ACCOUNT, IMAGE, REGION, volume
from tests.cli.doctor.deployment import (
    POLICY,
    ROLE,
    Whole,
    client,
    policy_for,
    published,
    whole,
)
from tests.contracts.decisions import act, append, failed, intended
from tests.domain.databases import rds


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Iterator[Whole]:
    for name, value in (("ACCESS_KEY_ID", "test"), ("SECRET_ACCESS_KEY", "test"),
                        ("IAM_LOAD_MANAGED_POLICIES", "")):  # fmt: skip
        monkeypatch.setenv(f"AWS_{name}", value)
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    with mock_aws():
        client("iam").create_role(RoleName="role", AssumeRolePolicyDocument="{}")
        yield whole()


def findings(deployed: Deployed) -> list[tuple[str, Finding]]:
    return [
        (name, finding)
        for name, check in CHECKS
        for finding in examine(name, check, deployed).findings
    ]


def test_a_healthy_deployment_has_no_finding(there: Whole) -> None:
    assert findings(there.deployed) == []


def test_every_instant_is_written_as_other_commands_do(there: Whole) -> None:
    facts = [
        fact.text for name, check in CHECKS for fact in examine(name, check, there.deployed).facts
    ]
    days = re.findall(r"\b20\d\d-\d\d-\d\d", "; ".join(facts))
    instants = re.findall(r"\b20\d\d-\d\d-\d\d \d\d:\d\dZ", "; ".join(facts))
    assert any(", changed " in text for text in facts)
    assert len(instants) == len(days), facts


def drop_alarm(_: Whole) -> None:
    client("cloudwatch").delete_alarms(AlarmNames=["own"])


QUEUE = ResourceAlarm(kind=Kind.EBS, resource_id="vol-1", metric=Metric.QUEUE, threshold=32.0)


def leave_an_alarm(_: Whole) -> None:
    names = Names()
    CloudWatchResourceAlarms(
        client("cloudwatch"), prefix=names.resource_alarms, deployment=names.prefix
    ).put(QUEUE)


def take_a_name(there: Whole) -> None:
    leave_an_alarm(there)
    (alarm,) = client("cloudwatch").describe_alarms(AlarmNamePrefix="headroom-detect")[
        "MetricAlarms"
    ]
    pager = {"AlarmActions": ["arn:aws:sns:us-east-1:123456789012:pager"]}
    names = ("AlarmName", "AlarmDescription", "MetricName", "Namespace", "Dimensions", "Statistic", "Period",
             "EvaluationPeriods", "Threshold", "ComparisonOperator")  # fmt: skip
    client("cloudwatch").put_metric_alarm(**{name: alarm[name] for name in names} | pager)
    now = there.deployed.now
    planned = Watched(alarm=QUEUE, score=1.0, since=now, noted_at=now)
    there.deployed.here.ledger.amend_alarm_plan(
        lambda before: replace(before, watched=(planned,), checked_at=now)
    )


def mute_alarm(_: Whole) -> None:
    client("cloudwatch").disable_alarm_actions(AlarmNames=["own"])


def raise_alarm(_: Whole) -> None:
    client("cloudwatch").set_alarm_state(AlarmName="own", StateValue="ALARM", StateReason="bad")


def disable_rule(_: Whole) -> None:
    client("events").disable_rule(Name="alarms")


def drop_target(_: Whole) -> None:
    client("events").remove_targets(Rule="alarms", Ids=["t"])


def disable_schedule(_: Whole) -> None:
    found = client("scheduler").get_schedule(Name="minute")
    client("scheduler").update_schedule(
        Name="minute", State="DISABLED", ScheduleExpression=found["ScheduleExpression"],
        FlexibleTimeWindow=found["FlexibleTimeWindow"],
        Target={"Arn": found["Target"]["Arn"], "RoleArn": ROLE},
    )  # fmt: skip


def disable_mapping(there: Whole) -> None:
    client("lambda").update_event_source_mapping(UUID=there.mapping, Enabled=False)


def park_message(there: Whole) -> None:
    client("sqs").send_message(QueueUrl=there.dead_letters, MessageBody="{}")


def lose_the_hub(there: Whole) -> None:
    client("sqs").send_message(QueueUrl=there.undelivered, MessageBody="{}")
    published("ApproximateAgeOfOldestMessage", datetime.now(UTC), 30 * 3_600, namespace="AWS/SQS",
              dimension=("QueueName", "undelivered"))  # fmt: skip


def let_events_wait(_: Whole) -> None:
    published("ApproximateAgeOfOldestMessage", datetime.now(UTC), 1_800, namespace="AWS/SQS",
              dimension=("QueueName", "signals"))  # fmt: skip


def stop_function(_: Whole) -> None:
    client("lambda").put_function_concurrency(FunctionName="sweep", ReservedConcurrentExecutions=0)


def drop_function(_: Whole) -> None:
    client("lambda").delete_function(FunctionName="sweep")


def fail_function(_: Whole) -> None:
    published("Errors", datetime.now(UTC), 3, namespace="AWS/Lambda",
              dimension=("FunctionName", "sweep"))  # fmt: skip


def point_elsewhere(there: Whole) -> None:
    settings = FunctionSettings(
        records_table="others", state_table="state", policy_parameter="/headroom/policy",
        topic_arn=there.topic, queue_url=there.queue,
    )  # fmt: skip
    client("lambda").update_function_configuration(
        FunctionName="sweep", Environment={"Variables": settings.to_environment()}
    )


def forget_setting(_: Whole) -> None:
    client("lambda").update_function_configuration(
        FunctionName="sweep", Environment={"Variables": {}}
    )


def nobody_listens(_: Whole) -> None:
    for one in client("sns").list_subscriptions()["Subscriptions"]:
        client("sns").unsubscribe(SubscriptionArn=one["SubscriptionArn"])


def spoil_policy(_: Whole) -> None:
    client("ssm").put_parameter(Name="/headroom/policy", Value="{", Overwrite=True)


def another_policy(_: Whole) -> None:
    put_policy(default_policy())


def put_policy(policy: Policy) -> None:
    client("ssm").put_parameter(
        Name="/headroom/policy", Value=canonical_json(policy), Overwrite=True
    )


def pause(there: Whole) -> None:
    there.deployed.here.ledger.pause(
        until=datetime.now(UTC) + timedelta(hours=1), at=datetime.now(UTC), who="me", reason="test"
    )


def enrol_nothing(_: Whole) -> None:
    for one in client("ec2").describe_volumes()["Volumes"]:
        client("ec2").delete_volume(VolumeId=one["VolumeId"])


def lose_prices(_: Whole) -> None:
    table = client("dynamodb")
    for item in table.scan(TableName="state")["Items"]:
        if "prices" in item:
            table.delete_item(
                TableName="state", Key={name: item[name] for name in ("owner", "item")}
            )


def mark_by_custodian(_: Whole) -> None:
    (volume,) = client("ec2").describe_volumes()["Volumes"]
    tag = {"Key": "maid_status", "Value": "no backup: delete@2026/12/01"}
    client("ec2").create_tags(Resources=[volume["VolumeId"]], Tags=[tag])


def grow_a_claim(_: Whole) -> None:
    (volume,) = client("ec2").describe_volumes()["Volumes"]
    claim = {"Key": "kubernetes.io/created-for/pvc/name", "Value": "pg-0"}
    client("ec2").create_tags(Resources=[volume["VolumeId"]], Tags=[claim])
    client("ec2").modify_volume(VolumeId=volume["VolumeId"], Size=200, VolumeType="gp3")


def redirect_alarm(_: Whole) -> None:
    (alarm,) = client("cloudwatch").describe_alarms(AlarmNames=["own"])["MetricAlarms"]
    names = ("AlarmName", "AlarmDescription", "MetricName", "Namespace", "Statistic", "Period",
             "EvaluationPeriods", "Threshold", "ComparisonOperator")  # fmt: skip
    client("cloudwatch").put_metric_alarm(**{name: alarm[name] for name in names})
    client("cloudwatch").set_alarm_state(AlarmName="own", StateValue="OK", StateReason="well")


def _update_queue(url: str, name: str, value: str) -> None:
    client("sqs").set_queue_attributes(QueueUrl=url, Attributes={name: value})


def close_queue(there: Whole) -> None:
    _update_queue(there.queue, "Policy", "")


def close_to_all(there: Whole) -> None:
    policy = json.loads(policy_for("events.amazonaws.com", "sqs:SendMessage"))
    policy["Statement"] += [{"Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*"}]
    _update_queue(there.queue, "Policy", json.dumps(policy))


def close_dead_letters(there: Whole) -> None:
    another = policy_for("s3.amazonaws.com", "sqs:SendMessage")
    _update_queue(there.dead_letters, "Policy", another)


def park_nothing(there: Whole) -> None:
    _update_queue(there.queue, "RedrivePolicy", "")


def drop_dead_letters(there: Whole) -> None:
    client("sqs").delete_queue(QueueUrl=there.dead_letters)


def send_elsewhere(_: Whole) -> None:
    target = {"Id": "t", "Arn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:somebodys"}
    client("events").put_targets(Rule="alarms", Targets=[target])


def _reschedule(**changed: object) -> None:
    found = client("scheduler").get_schedule(Name="minute")
    names = ("ScheduleExpression", "FlexibleTimeWindow", "Target")
    client("scheduler").update_schedule(
        Name="minute", State="ENABLED", **({name: found[name] for name in names} | changed)
    )


def slow_down(_: Whole) -> None:
    _reschedule(ScheduleExpression="rate(1 hour)")


def invoke_another(_: Whole) -> None:
    arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:somebodys"
    _reschedule(Target={"Arn": arn, "RoleArn": ROLE})


def close_topic(there: Whole) -> None:
    client("sns").set_topic_attributes(
        TopicArn=there.topic, AttributeName="Policy",
        AttributeValue=policy_for("s3.amazonaws.com", "sns:Publish"),
    )  # fmt: skip


def drop_topic(there: Whole) -> None:
    client("sns").delete_topic(TopicArn=there.topic)


def disable_key(there: Whole) -> None:
    client("kms").disable_key(KeyId=there.key)


def delete_key(there: Whole) -> None:
    client("kms").schedule_key_deletion(KeyId=there.key, PendingWindowInDays=7)


def drop_role(_: Whole) -> None:
    client("iam").delete_role(RoleName="role")


def drop_log_group(_: Whole) -> None:
    client("logs").delete_log_group(logGroupName="lines")
    client("logs").create_log_group(logGroupName="lines-of-another")


def drop_document(_: Whole) -> None:
    client("ssm").delete_document(Name="extend")


def drop_parameter(_: Whole) -> None:
    client("ssm").delete_parameter(Name="/headroom/policy")


def drop_index(_: Whole) -> None:
    update = {"Delete": {"IndexName": "by_day"}}
    client("dynamodb").update_table(TableName="records", GlobalSecondaryIndexUpdates=[update])


def keep_for_ever(_: Whole) -> None:
    off = {"Enabled": False, "AttributeName": "expires_at"}
    client("dynamodb").update_time_to_live(TableName="records", TimeToLiveSpecification=off)


def back_up_nothing(_: Whole) -> None:
    off = {"PointInTimeRecoveryEnabled": False}
    client("dynamodb").update_continuous_backups(
        TableName="state", PointInTimeRecoverySpecification=off
    )


def open_table(_: Whole) -> None:
    arn = client("dynamodb").describe_table(TableName="state")["Table"]["TableArn"]
    client("dynamodb").delete_resource_policy(ResourceArn=arn)


def drop_table(_: Whole) -> None:
    client("dynamodb").delete_table(TableName="state")


def drop_records(_: Whole) -> None:
    client("dynamodb").delete_table(TableName="records")


def change_caps(there: Whole) -> None:
    settings = replace(
        there.deployed.settings[0], hard_caps=hard_caps_of({"max_iops": 16_000}, "caps")
    )
    client("lambda").update_function_configuration(
        FunctionName="signals", Environment={"Variables": settings.to_environment()}
    )


BEHIND_ITS_BACK = (
    (
        (redirect_alarm, "alarms", "the alarm own does not notify the topic"),
        (close_queue, "deliveries", "the policy of the queue signals refuses EventBridge"),
        (close_dead_letters, "deliveries", "the policy of the queue parked refuses EventBridge"),
        (park_nothing, "deliveries", "messages that fail in signals reach no dead-letter queue"),
        (slow_down, "deliveries", "the schedule minute runs at rate(1 hour) instead"),
        (close_topic, "notifications", "the topic's policy refuses CloudWatch"),
        (disable_key, "parts", "is Disabled: everything that uses it fails"),
        (drop_role, "parts", "the role role was deleted"),
        (drop_log_group, "parts", "the log group lines was deleted"),
        (drop_document, "parts", "the document extend was deleted"),
        (drop_index, "tables", "the table records has no index by_day"),
        (keep_for_ever, "tables", "the table records does not delete expired records"),
        (back_up_nothing, "tables", "point-in-time recovery of the table state is off"),
        (open_table, "tables", "the table state has no resource policy"),
        (change_caps, "functions", "the functions have different settings"),
    ),
    (
        (close_to_all, "deliveries", "the policy of the queue signals refuses EventBridge"),
        (invoke_another, "deliveries", "invokes arn:aws:lambda:us-east-1:123456789012:function:s"),
        (drop_topic, "notifications", ":people was deleted: nobody is notified"),
        (delete_key, "parts", "is PendingDeletion: everything that uses it fails"),
        (drop_table, "tables", "the table state was deleted"),
        (drop_parameter, "policy", "the policy is unreadable"),
    ),
    (
        (send_elsewhere, "deliveries", ":somebodys, which is not part of this deployment"),
        (drop_dead_letters, "queues", "the queue parked was deleted"),
        (drop_records, "tables", "the table records was deleted"),
    ),
)


@pytest.mark.parametrize("damages", BEHIND_ITS_BACK)
def test_each_change_behind_cloudformations_back_is_exactly_one_finding(
    there: Whole, damages: tuple[tuple[Callable[[Whole], None], str, str], ...]
) -> None:
    for damage, _, _ in damages:
        damage(there)
    found = findings(there.again())
    for _, check, said in damages:
        assert len([1 for name, one in found if name == check and said in one.problem]) == 1, said
    assert len(found) == len(damages)
    assert all(one.fix for _, one in found)


@pytest.mark.parametrize(
    ("damage", "check", "said"),
    [
        (drop_alarm, "alarms", "the alarm own was deleted"),
        (mute_alarm, "alarms", "it notifies nobody"),
        (raise_alarm, "alarms", "the alarm own has been in ALARM"),
        (
            leave_an_alarm,
            "alarms on single resources",
            "1 alarm on a single resource is not as planned",
        ),
        (
            take_a_name,
            "alarms on single resources",
            "an alarm that Headroom did not make has a name of its alarms: headroom-detect-resource-vol-1",
        ),
        (disable_rule, "triggers", "the rule alarms is DISABLED"),
        (drop_target, "triggers", "the rule alarms has no target"),
        (disable_schedule, "triggers", "the schedule minute is DISABLED"),
        (disable_mapping, "triggers", "events wait unread"),
        (park_message, "queues", "1 messages are parked in parked"),
        (lose_the_hub, "queues", "1 events wait in undelivered, the oldest for 30 hours"),
        (let_events_wait, "queues", "oldest event in signals has waited for 30 minutes"),
        (stop_function, "functions", "its reserved concurrency is 0"),
        (drop_function, "functions", "the function sweep was deleted"),
        (fail_function, "functions", "sweep failed 3 times in the last hour"),
        (point_elsewhere, "functions", "sweep uses others and the stack's RecordsTable is records"),
        (forget_setting, "functions", "HEADROOM_RECORDS_TABLE is not set"),
        (nobody_listens, "notifications", "nobody receives notifications"),
        (spoil_policy, "policy", "the policy is unreadable"),
        (another_policy, "policy", "somebody wrote the parameter"),
        (pause, "pauses and breakers", "Paused until"),
        (enrol_nothing, "enrolment", "nothing is enrolled"),
        (lose_prices, "prices", "no price list was read"),
        (mark_by_custodian, "other automations", "have Cloud Custodian's tags"),
        (
            grow_a_claim,
            "other automations",
            "of Kubernetes claims were grown by something other than Headroom",
        ),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_each_damage_is_found_with_a_fix(
    there: Whole, damage: Callable[[Whole], None], check: str, said: str
) -> None:
    damage(there)
    found = findings(there.again())
    about = [finding for name, finding in found if name == check and said in finding.problem]
    assert len(about) == 1
    assert about[0].fix
    assert all(name in (check, "functions") for name, _ in found)


def test_events_that_the_hub_did_not_take_are_found_with_the_command_that_sends_them(
    there: Whole,
) -> None:
    lose_the_hub(there)
    (finding,) = [finding for name, finding in findings(there.again()) if name == "queues"]
    assert finding.fix.endswith("headroom hub redeliver --queue undelivered")


@pytest.mark.parametrize(
    ("table", "kept"),
    [
        ("a", ["HeadroomStateRecordsTableD4", "HeadroomLoopSweepFunctionB5"]),
        ("b", ["HeadroomBlueStateRecordsTableB1", "HeadroomBlueLoopSweepFunction77"]),
        ("elsewhere", None),
    ],
)
def test_of_several_deployments_in_a_stack_one_is_examined(
    table: str, kept: list[str] | None
) -> None:
    logical = {
        "HeadroomStateRecordsTableD4": ("AWS::DynamoDB::Table", "a"),
        "HeadroomLoopSweepFunctionB5": ("AWS::Lambda::Function", "f-a"),
        "HeadroomBlueStateRecordsTableB1": ("AWS::DynamoDB::Table", "b"),
        "HeadroomBlueLoopSweepFunction77": ("AWS::Lambda::Function", "f-b"),
        "OrdersQueueDeadLetters11": ("AWS::SQS::Queue", "the owner's"),
    }
    resources = tuple(
        StackResource(logical=name, kind=kind, physical=physical)
        for name, (kind, physical) in logical.items()
    )
    stack = Stack(name="Storage", status="CREATE_COMPLETE", outputs={}, resources=resources)
    found = [one.logical for one in of_deployment(stack, table).resources]
    assert found == (list(logical) if kept is None else kept)


def test_one_of_several_volumes_without_metrics_of_its_own_is_found(there: Whole) -> None:
    extra = AdditionalVolume(
        name="RDSDBDATA2", volume_type="gp3", size_gib=500, iops=None, mibps=None,
        status="VOLUME-FULL", operation=None,
    )  # fmt: skip
    facts = DatabaseFacts(
        instance_class="db.r6g.large",
        status="available",
        members=("orders",),
        additional=(extra,),
        volume_name="rdsdbdata",
    )
    name = ResourceRef(kind=Kind.RDS, account_id=ACCOUNT, region=REGION, resource_id="orders")
    found = volume(
        rds(VolumeType.GP3, 500, 12_000, 500), ref=name, facts=facts, tags=(("headroom", "auto"),)
    )
    seen = StorageView(volume=found, modification=None, instance=None)
    deployed = replace(there.again(), storage={"ebs": (), "rds": (seen,), "aurora": ()})
    (finding,) = [one for name, one in findings(deployed) if name == "enrolment"]
    assert finding.problem.startswith("CloudWatch lists no metrics of orders alone")
    dimensions = [
        {"Name": "DbInstanceIdentifier", "Value": "orders"},
        {"Name": "VolumeName", "Value": "rdsdbdata"},
    ]
    deployed.client("cloudwatch").put_metric_data(
        Namespace="AWS/RDS",
        MetricData=[{"MetricName": "ReadIOPS", "Value": 1.0, "Dimensions": dimensions}],
    )
    assert not [one for name, one in findings(deployed) if name == "enrolment"]


def test_a_sweep_that_stopped_is_found_by_its_age(there: Whole) -> None:
    account = replace(there.deployed.here.account, now=there.deployed.now + timedelta(hours=2))
    later = replace(
        there.again(), here=replace(there.deployed.here, account=account)
    )  # fmt: skip
    problems = [finding.problem for name, finding in findings(later) if name == "sweep"]
    assert len(problems) == 1
    assert problems[0].startswith("the last sweep completed at ")


@pytest.mark.parametrize(("minutes", "found"), [(1, 0), (14, 0), (16, 1)])
def test_what_the_first_minutes_after_a_deployment_lack_is_no_finding_yet(
    there: Whole, minutes: int, found: int
) -> None:
    now = there.deployed.now + timedelta(days=2)  # no sweep has completed for a day
    account = replace(there.deployed.here.account, now=now)
    since = now - timedelta(minutes=minutes)
    stacks = tuple(replace(stack, since=since) for stack in there.deployed.stacks)
    young = replace(
        there.again(), stacks=stacks, here=replace(there.deployed.here, account=account)
    )
    swept = next(examine(name, check, young) for name, check in CHECKS if name == "sweep")
    assert [one.problem for one in swept.findings] == ["no sweep has completed in 24 hours"] * found
    assert any(fact.text.startswith("just deployed: no sweep") for fact in swept.facts) is (
        not found
    )


def test_a_scan_that_does_not_complete_is_found_by_its_age(there: Whole) -> None:
    published("ScanAgeSeconds", there.deployed.now, 60 * 131)
    problems = [finding.problem for name, finding in findings(there.again()) if name == "sweep"]
    assert problems == ["the last complete scan of the fleet began 131 minutes ago"]


def test_an_open_breaker_is_found(there: Whole) -> None:
    ledger = there.deployed.here.ledger
    for number in range(5):
        failed(ledger, f"d{number}", "vol-0abc1", at=there.deployed.now)
    problems = [f.problem for name, f in findings(there.again()) if name == "pauses and breakers"]
    assert len(problems) == 1
    assert "vol-0abc1" in problems[0]


def test_decisions_under_another_policy_than_the_one_in_force_are_found(there: Whole) -> None:
    later = there.deployed.now + timedelta(hours=1)
    there.deployed.here.ledger.decided(act(at=later), due_at=None)
    account = replace(there.deployed.here.account, now=later)
    found = replace(there.again(), here=replace(there.deployed.here, account=account))
    (finding,) = [f for name, f in findings(found) if name == "records"]
    assert f"{POLICY.version} has been in force" in finding.problem


def test_a_stack_that_is_missing_or_failed_is_found(there: Whole) -> None:
    state, loop = there.deployed.stacks
    failed_loop = replace(loop, status="UPDATE_ROLLBACK_FAILED")
    gone = Stack(name="HeadroomLoop", status="", outputs={}, resources=())
    for one, said in ((failed_loop, "is UPDATE_ROLLBACK_FAILED"), (gone, "there is no stack")):
        broken = replace(there.again(), stacks=(state, one))
        about = [f.problem for name, f in findings(broken) if name == "stacks"]
        assert len(about) == 1
        assert said in about[0]


def test_a_denied_call_is_a_finding_that_names_the_permission(
    there: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    sqs = client("sqs")
    message = (
        f"User: arn:aws:iam::{ACCOUNT}:user/me is not authorized to perform: "
        f"sqs:GetQueueAttributes on resource: arn:aws:sqs:{REGION}:{ACCOUNT}:signals"
    )

    def refuse(**_: object) -> None:
        error = {"Error": {"Code": "AccessDenied", "Message": message}}
        raise ClientError(error, "GetQueueAttributes")  # type: ignore[arg-type]

    monkeypatch.setattr(sqs, "get_queue_attributes", refuse)
    found = there.again()
    found._clients["sqs"] = sqs
    refused = findings(found)
    assert [name for name, _ in refused] == ["deliveries", "queues"]
    for _, finding in refused:
        assert finding.problem == "could not check: GetQueueAttributes is denied"
        assert finding.fix.startswith("grant sqs:GetQueueAttributes to the caller")


def test_a_claims_volume_that_headroom_grew_is_no_finding(there: Whole) -> None:
    grow_a_claim(there)
    (volume,) = client("ec2").describe_volumes()["Volumes"]
    now, ledger = there.deployed.now, there.deployed.here.ledger
    made = act("d1", volume["VolumeId"], at=now)
    intent = intended(ledger, made, now, lease_until=now + timedelta(minutes=20))
    append(ledger, made, Step.APPLIED, at=now, intent=intent)
    assert [name for name, _ in findings(there.again()) if name == "other automations"] == []


def reads_free_space(there: Whole) -> None:
    settings = FunctionSettings(
        records_table="records", state_table="state", policy_parameter="/headroom/policy",
        topic_arn=there.topic, queue_url=there.queue, extend_document="headroom-extend",
    )  # fmt: skip
    for name in ("signals", "sweep"):
        client("lambda").update_function_configuration(
            FunctionName=name, Environment={"Variables": settings.to_environment()}
        )


def test_volumes_that_may_grow_and_are_not_measured_are_found(there: Whole) -> None:
    (volume,) = client("ec2").describe_volumes()["Volumes"]
    run = client("ec2").run_instances(ImageId=IMAGE, MinCount=1, MaxCount=1)
    instance_id = run["Instances"][0]["InstanceId"]
    client("ec2").attach_volume(
        VolumeId=volume["VolumeId"], InstanceId=instance_id, Device="/dev/sdf"
    )
    put_policy(parse_policy({"defaults": {"grow_space": True}}, source="policy"))

    def about() -> list[str]:
        found = findings(there.again())
        return [finding.problem for name, finding in found if name == "free space"]

    assert about() == []  # the deployment does not read free space
    reads_free_space(there)
    (problem,) = about()
    assert volume["VolumeId"] in problem
    labels = {
        "InstanceId": instance_id,
        "VolumeId": volume["VolumeId"],
        "path": "/",
        "fstype": "xfs",
    }
    measured("disk_used_percent", "disk_total", labels)
    assert about() == []


def measured(first: str, second: str, labels: dict[str, str]) -> None:
    for metric in (first, second):
        client("cloudwatch").put_metric_data(
            Namespace="CWAgent",
            MetricData=[
                {
                    "MetricName": metric, "Value": 50, "Timestamp": datetime.now(UTC),
                    "Dimensions": [{"Name": n, "Value": v} for n, v in labels.items()],
                }
            ],
        )  # fmt: skip


def test_drive_c_of_windows_is_known_to_be_read(there: Whole) -> None:
    (instance,) = client("ec2").run_instances(ImageId=IMAGE, MinCount=1, MaxCount=1)["Instances"]
    labels = {"InstanceId": instance["InstanceId"], "instance": "C:"}
    measured("LogicalDisk % Free Space", "LogicalDisk Free Megabytes", labels)
    put_policy(parse_policy({"defaults": {"mode": "auto", "grow_space": True}}, source="policy"))
    reads_free_space(there)
    assert [one for name, one in findings(there.again()) if name == "free space"] == []
