"""What the templates deploy: tables that stay, a loop that loses nothing, alarms on both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headroom.adapters.tables import RECORDS, STATE, Table, create_table
from headroom.application.execute import LEASE
from headroom.application.scan import PAGE_CLAIM, TAKEN
from headroom.application.work import CLAIM
from headroom.cdk import function_code
from headroom.cdk.loop import PRICED_REGIONS
from headroom.policy import default_policy
from headroom.settings import DeploymentConfig, Detection, Names
from stacks.deployment import HeadroomLoop, HeadroomState
from tests.stacks.conftest import UNCOPIED, Synth, Synthesised, properties, resources


def _one(found: dict[str, dict[str, Any]], prefix: str) -> dict[str, Any]:
    (name,) = [name for name in found if name.startswith(prefix)]
    return found[name]


@pytest.mark.parametrize(("prefix", "schema"), [("Records", RECORDS), ("State", STATE)])
def test_a_table_is_the_one_the_ledger_works_with(
    shipped: Synthesised, prefix: str, schema: Table
) -> None:
    table = _one(resources(shipped.state, "AWS::DynamoDB::Table"), prefix)["Properties"]
    wanted = create_table(schema, "any")
    for part in ("BillingMode", "KeySchema"):
        assert table[part] == wanted[part]
    kinds = {a["AttributeName"]: a["AttributeType"] for a in table["AttributeDefinitions"]}
    assert kinds == {a["AttributeName"]: a["AttributeType"] for a in wanted["AttributeDefinitions"]}
    assert table["GlobalSecondaryIndexes"] == wanted["GlobalSecondaryIndexes"]


@pytest.mark.parametrize("prefix", ["Records", "State"])
def test_a_table_outlives_its_stack_and_can_be_recovered(shipped: Synthesised, prefix: str) -> None:
    body = _one(resources(shipped.state, "AWS::DynamoDB::Table"), prefix)
    assert (body["DeletionPolicy"], body["UpdateReplacePolicy"]) == (
        "RetainExceptOnCreate", "Retain",
    )  # fmt: skip
    table = body["Properties"]
    assert "DeletionProtectionEnabled" not in table  # a rolled back creation could not remove it
    assert table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True


def test_everything_that_must_not_be_lost_is_in_the_state_stack(shipped: Synthesised) -> None:
    kinds = {body["Type"] for body in shipped.loop["Resources"].values()}
    assert not kinds & {"AWS::DynamoDB::Table", "AWS::SNS::Topic", "AWS::KMS::Key"}
    retained = {
        body["Type"]
        for body in shipped.loop["Resources"].values()
        if body.get("DeletionPolicy", "Delete").startswith("Retain")
    }
    assert retained == set()


def test_the_topic_is_encrypted_under_a_key_that_rotates_if_the_owner_asks(
    shipped: Synthesised, synth: Synth
) -> None:
    assert properties(shipped.state, "AWS::KMS::Key") == []
    assert "KmsMasterKeyId" not in properties(shipped.state, "AWS::SNS::Topic")[0]
    made = synth(topic_key="on")
    (topic,) = properties(made.state, "AWS::SNS::Topic")
    (key,) = properties(made.state, "AWS::KMS::Key")
    assert "KmsMasterKeyId" in topic
    assert key["EnableKeyRotation"] is True


def test_an_address_is_subscribed_only_when_one_is_given(
    shipped: Synthesised, synth: Synth
) -> None:
    assert properties(shipped.state, "AWS::SNS::Subscription") == []
    made = synth(notify_email="storage@example.com", detection="sweep")
    (subscription,) = properties(made.state, "AWS::SNS::Subscription")
    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "storage@example.com")


def test_functions_run_on_the_newest_python_on_arm_and_log_json(shipped: Synthesised) -> None:
    groups = resources(shipped.loop, "AWS::Logs::LogGroup")
    functions = properties(shipped.loop, "AWS::Lambda::Function")
    assert len(functions) == 3
    for function in functions:
        assert (function["Runtime"], function["Architectures"]) == ("python3.14", ["arm64"])
        assert function["TracingConfig"] == {"Mode": "Active"}
        assert function["LoggingConfig"]["LogFormat"] == "JSON"
        assert function["LoggingConfig"]["LogGroup"]["Ref"] in groups
        assert "Layers" not in function
    assert {group["Properties"]["RetentionInDays"] for group in groups.values()} == {90}


def test_log_retention_is_the_owners(synth: Synth) -> None:
    made = synth(log_retention_days="30", detection="sweep")
    groups = properties(made.loop, "AWS::Logs::LogGroup")
    assert {group["RetentionInDays"] for group in groups} == {30}


def test_a_failed_record_goes_back_alone_and_concurrency_is_bounded(
    shipped: Synthesised, synth: Synth
) -> None:
    (mapping,) = properties(shipped.loop, "AWS::Lambda::EventSourceMapping")
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": 8}
    made = synth(queue_max_concurrency="2", detection="sweep")
    (slower,) = properties(made.loop, "AWS::Lambda::EventSourceMapping")
    assert slower["ScalingConfig"] == {"MaximumConcurrency": 2}


def _main_queue(made: Synthesised) -> dict[str, Any]:
    (main,) = [q for q in properties(made.loop, "AWS::SQS::Queue") if "RedrivePolicy" in q]
    return main


def test_queues_are_encrypted_and_what_fails_for_a_day_is_parked(shipped: Synthesised) -> None:
    queues = resources(shipped.loop, "AWS::SQS::Queue")
    assert len(queues) == 3
    assert all(q["Properties"]["SqsManagedSseEnabled"] is True for q in queues.values())
    main = _main_queue(shipped)
    assert main["RedrivePolicy"]["maxReceiveCount"] == 52, "a minute, doubling to half an hour"
    parked_in = main["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]
    assert queues[parked_in]["Properties"]["MessageRetentionPeriod"] == 14 * 86_400


def test_a_message_stays_hidden_longer_than_a_function_may_run_and_comes_again_soon(
    shipped: Synthesised,
) -> None:
    signals = _one(resources(shipped.loop, "AWS::Lambda::Function"), "Signals")["Properties"]
    main = _main_queue(shipped)
    assert main["VisibilityTimeout"] >= 2 * signals["Timeout"]
    assert main["VisibilityTimeout"] <= 10 * 60


def test_what_a_rule_cannot_deliver_is_parked(shipped: Synthesised) -> None:
    queues = resources(shipped.loop, "AWS::SQS::Queue")
    for rule in properties(shipped.loop, "AWS::Events::Rule"):
        (target,) = rule["Targets"]
        parked_in = target["DeadLetterConfig"]["Arn"]["Fn::GetAtt"][0]
        assert parked_in in queues
        assert parked_in != target["Arn"]["Fn::GetAtt"][0]
        assert target["RetryPolicy"]["MaximumRetryAttempts"] == 185


def test_the_sweep_runs_every_minute_and_parks_what_it_cannot(shipped: Synthesised) -> None:
    (schedule,) = properties(shipped.loop, "AWS::Scheduler::Schedule")
    sweep = next(n for n in resources(shipped.loop, "AWS::Lambda::Function") if "Sweep" in n)
    assert schedule["ScheduleExpression"] == "rate(1 minute)"
    assert schedule["FlexibleTimeWindow"] == {"Mode": "OFF"}
    assert schedule["Target"]["Arn"]["Fn::GetAtt"][0] == sweep
    parked_in = schedule["Target"]["DeadLetterConfig"]["Arn"]
    (failures,) = properties(shipped.loop, "AWS::Lambda::EventInvokeConfig")
    assert failures["DestinationConfig"]["OnFailure"]["Destination"] == parked_in


def _own_alarms(made: Synthesised) -> dict[str, dict[str, Any]]:
    return {
        alarm["AlarmName"].removeprefix(Names().own_alarms): alarm
        for alarm in properties(made.loop, "AWS::CloudWatch::Alarm")
        if alarm["AlarmName"].startswith(Names().own_alarms)
    }


def test_headroom_is_watched(shipped: Synthesised) -> None:
    assert set(_own_alarms(shipped)) == {
        "signals-dead-letters", "signals-waiting", "signals-errors", "sweep-errors",
        "sweep-not-running", "falling-behind", "changes-stopped", "reconciliations-failing",
        "notifications-failing", "signals-rejected",
    }  # fmt: skip


def test_every_alarm_on_headroom_notifies_the_topic_when_it_starts_and_ends(
    shipped: Synthesised,
) -> None:
    for alarm in _own_alarms(shipped).values():
        assert len(alarm["AlarmActions"]) == 1
        assert alarm["AlarmActions"] == alarm["OKActions"]
        assert "Topic" in str(alarm["AlarmActions"])


def test_a_sweep_that_says_nothing_is_a_sweep_that_does_not_run(shipped: Synthesised) -> None:
    alarm = _own_alarms(shipped)["sweep-not-running"]
    assert alarm["TreatMissingData"] == "breaching"
    assert (alarm["Namespace"], alarm["MetricName"]) == ("Headroom", "SweepCompleted")
    assert alarm["Dimensions"] == [{"Name": "service", "Value": "headroom"}]
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("LessThanThreshold", 1)


@pytest.mark.parametrize(("every", "period_s"), [("15", 900), ("60", 3_600), ("1", 900)])
def test_reconciliations_that_fail_once_a_scan_raise_the_alarm(
    synth: Synth, every: str, period_s: int
) -> None:
    alarm = _own_alarms(synth(scan_every_minutes=every, detection="sweep"))[
        "reconciliations-failing"
    ]
    assert alarm["Period"] == period_s, "a failure once per scan is one in every period"
    assert (alarm["DatapointsToAlarm"], alarm["EvaluationPeriods"]) == (2, 3)


@pytest.mark.parametrize(
    ("name", "metric", "minutes"),
    [("falling-behind", "FallingBehind", 15), ("changes-stopped", "ChangesStopped", 5),
     ("notifications-failing", "FailedNotifications", 5)],
)  # fmt: skip
def test_trouble_that_is_published_alone_is_an_alarm_and_its_absence_is_none(
    shipped: Synthesised, name: str, metric: str, minutes: int
) -> None:
    alarm = _own_alarms(shipped)[name]
    assert (alarm["MetricName"], alarm["Threshold"], alarm["Statistic"]) == (metric, 1, "Sum")
    assert alarm["Period"] * alarm["EvaluationPeriods"] == minutes * 60
    assert alarm["TreatMissingData"] == "notBreaching"


def test_a_worker_lives_shorter_than_its_claims_and_a_lease(shipped: Synthesised) -> None:
    functions = resources(shipped.loop, "AWS::Lambda::Function")
    worker = _one(functions, "Signals")["Properties"]
    assert (worker["Timeout"], worker["MemorySize"]) == (180, 1_769)
    assert worker["Timeout"] < CLAIM.total_seconds() < LEASE.total_seconds()
    assert worker["Timeout"] < min(TAKEN, PAGE_CLAIM).total_seconds()
    assert _one(functions, "Sweep")["Properties"]["Timeout"] == 300


def _said_of_prices(tmp_path: Path, region: str | None, kind: str = "warning") -> list[str]:
    import aws_cdk as cdk

    app = cdk.App(outdir=str(tmp_path), context={UNCOPIED: True})
    place = cdk.Stage(app, "Place", env=cdk.Environment(region=region)) if region else app
    config = DeploymentConfig(detection=Detection.SWEEP)
    state = HeadroomState(place, config=config)
    loop = HeadroomLoop(
        place, config=config, kept=state.kept, policy=default_policy(), code=function_code(state)
    )
    return [
        str(entry.data)
        for entry in loop.node.find_child("Default").node.metadata
        if entry.type == f"aws:cdk:{kind}" and "EBS prices" in str(entry.data)
    ]


@pytest.mark.parametrize("region", [None, *PRICED_REGIONS])
def test_where_prices_are_known_or_the_region_is_not_nobody_is_warned(
    tmp_path: Path, region: str | None
) -> None:
    assert _said_of_prices(tmp_path, region) == []


def test_a_region_that_only_the_price_list_knows_is_a_note_and_no_warning(tmp_path: Path) -> None:
    assert _said_of_prices(tmp_path / "a", "eu-central-1") == []
    (info,) = _said_of_prices(tmp_path / "b", "eu-central-1", "info")
    assert "no table of EBS prices for eu-central-1" in info


@pytest.mark.parametrize("region", ["cn-north-1", "us-gov-west-1", "eusc-de-east-1"])
def test_a_region_without_prices_in_dollars_is_warned_of_at_synth(
    tmp_path: Path, region: str
) -> None:
    (warning,) = _said_of_prices(tmp_path, region)
    assert f"no EBS prices in US dollars for {region}" in warning


def test_the_own_alarms_metrics_are_ones_the_functions_emit(shipped: Synthesised) -> None:
    from tests.stacks.conftest import ROOT

    emitted = "".join(path.read_text() for path in (ROOT / "lambdas").glob("*.py"))
    for alarm in _own_alarms(shipped).values():
        if alarm["Namespace"] == "Headroom":
            assert f'"{alarm["MetricName"]}"' in emitted


def test_no_alarm_name_belongs_to_both_kinds() -> None:
    assert not Names().own_alarms.startswith(Names().detection_alarms)
    assert not Names().detection_alarms.startswith(Names().own_alarms)


def test_the_command_line_finds_the_tables_in_the_outputs(shipped: Synthesised) -> None:
    assert set(shipped.state["Outputs"]) >= {"RecordsTable", "StateTable", "TopicArn"}
    assert {"DetectionPrice", "PolicyVersion", "SignalsQueueUrl"} <= set(shipped.loop["Outputs"])


def test_the_state_cannot_be_deleted_under_a_running_loop(shipped: Synthesised) -> None:
    assert "Fn::ImportValue" in str(shipped.loop)
    assert "Fn::GetStackOutput" not in str(shipped.loop)
