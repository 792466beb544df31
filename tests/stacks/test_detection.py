"""Detection is bought: what is asked of CloudWatch, and what that costs."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from headroom.adapters.cloudwatch.ebs_queries import (
    balance_queries,
    glance_queries,
    instance_queries,
    volume_queries,
)
from headroom.cdk.detection import (
    METRICS_PER_GLANCE,
    METRICS_PER_RECONCILE,
    alarms_usd,
    bill,
    fleet_queries,
    price_note,
    reconcile_usd,
    scan_usd,
    where_tagged,
)
from headroom.settings import DeploymentConfig, Detection, Names
from tests.builders import gp2, gp3, instance, volume
from tests.stacks.conftest import Synth, Synthesised, properties


def _detection_alarms(made: Synthesised) -> dict[str, dict[str, object]]:
    alarms = properties(made.loop, "AWS::CloudWatch::Alarm")
    return {
        alarm["AlarmName"]: alarm
        for alarm in alarms
        if alarm["AlarmName"].startswith(Names().detection_alarms)
    }


def test_the_fleets_queries_group_by_volume_and_put_the_worst_first(synth: Synth) -> None:
    queries = {
        name: alarm["Metrics"][0]["Expression"]  # type: ignore[index]
        for name, alarm in _detection_alarms(synth(detection="fleet", kinds="ebs")).items()
    }
    assert queries == {
        "headroom-detect-burst-balance": (
            'SELECT MIN("BurstBalance") FROM SCHEMA("AWS/EBS", VolumeId) '
            "GROUP BY VolumeId ORDER BY MIN() ASC"
        ),
        "headroom-detect-iops-exceeded": (
            'SELECT MAX("VolumeIOPSExceededCheck") FROM SCHEMA("AWS/EBS", InstanceId, VolumeId) '
            "GROUP BY VolumeId ORDER BY MAX() DESC"
        ),
        "headroom-detect-throughput-exceeded": (
            'SELECT MAX("VolumeThroughputExceededCheck") '
            'FROM SCHEMA("AWS/EBS", InstanceId, VolumeId) '
            "GROUP BY VolumeId ORDER BY MAX() DESC"
        ),
    }


def test_detection_alarms_need_two_of_three_minutes_and_never_act(synth: Synth) -> None:
    alarms = _detection_alarms(synth(detection="fleet"))
    assert len(alarms) == 6
    for alarm in alarms.values():
        assert (alarm["DatapointsToAlarm"], alarm["EvaluationPeriods"]) == (2, 3)
        assert alarm["TreatMissingData"] == "notBreaching"
        assert "AlarmActions" not in alarm


@pytest.mark.parametrize(
    ("metric", "operator", "threshold"),
    [
        ("burst-balance", "LessThanThreshold", 70),
        ("iops-exceeded", "GreaterThanOrEqualToThreshold", 1),
        ("throughput-exceeded", "GreaterThanOrEqualToThreshold", 1),
    ],
)
def test_an_alarm_breaches_on_the_worse_side(
    synth: Synth, metric: str, operator: str, threshold: float
) -> None:
    alarm = _detection_alarms(synth(detection="fleet"))[f"headroom-detect-{metric}"]
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == (operator, threshold)


def test_the_threshold_and_the_minutes_are_the_owners(synth: Synth) -> None:
    made = synth(
        detection="fleet", burst_balance_alarm_percent="40", alarm_datapoints="3", alarm_periods="5"
    )
    alarm = _detection_alarms(made)["headroom-detect-burst-balance"]
    assert (alarm["Threshold"], alarm["DatapointsToAlarm"], alarm["EvaluationPeriods"]) == (
        40,
        3,
        5,
    )


def test_tagged_narrows_every_query_to_what_is_enrolled(synth: Synth) -> None:
    alarms = _detection_alarms(synth(detection="tagged"))
    assert len(alarms) == 6  # three over volumes, three over databases
    for alarm in alarms.values():
        assert " WHERE tag.headroom='auto' GROUP BY " in alarm["Metrics"][0]["Expression"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("key", "value", "where"),
    [
        ("headroom", "auto", "tag.headroom='auto'"),
        ("cost-centre", "data base", "tag.\"cost-centre\"='data base'"),
        ("a:b", "c", "tag.\"a:b\"='c'"),
    ],
)
def test_a_tag_key_that_is_no_plain_word_is_quoted(key: str, value: str, where: str) -> None:
    config = DeploymentConfig.from_context(
        {"detection": "tagged", "enrolment_tag_key": key, "enrolment_tag_value": value}
    )
    assert where_tagged(config) == where


@pytest.mark.parametrize("detection", ["adaptive", "sweep"])
def test_without_detection_alarms_the_loop_still_listens(synth: Synth, detection: str) -> None:
    made = synth(detection=detection, kinds="ebs")
    assert _detection_alarms(made) == {}
    assert len(properties(made.loop, "AWS::Events::Rule")) == 3
    assert len(properties(made.loop, "AWS::Scheduler::Schedule")) == 1


@pytest.mark.parametrize(
    ("detection", "minutes", "alarms", "scan"),
    [
        # 3 queries x 1,000 volumes x $0.10; 43,800 minutes / 15 x 4 metrics x $0.01.
        (Detection.FLEET, 15, "300.00", "116.80"),
        (Detection.TAGGED, 15, "300.00", "116.80"),
        (Detection.SWEEP, 15, "0.00", "116.80"),
        (Detection.SWEEP, 5, "0.00", "350.40"),
        (Detection.FLEET, 60, "300.00", "29.20"),
    ],
)
def test_a_thousand_volumes_cost_so_much(
    detection: Detection, minutes: int, alarms: str, scan: str
) -> None:
    config = DeploymentConfig(detection=detection, scan_every_minutes=minutes)
    assert alarms_usd(config, 1_000) == Decimal(alarms)
    assert scan_usd(config, 1_000) == Decimal(scan)
    note = price_note(config)
    assert f"alarms ${alarms} (" in note
    assert f"fleet scans ${scan} (" in note
    assert f"costs ${Decimal(alarms) + Decimal(scan):,.2f} per 1,000 volumes and month" in note
    assert "at most" not in note, "reconciliations come on top"
    assert "Each volume under pressure adds $0.67-$2.72 a month while it is" in note


@pytest.mark.parametrize(
    ("detection", "minutes"), [("adaptive", "5"), ("fleet", "15"), ("sweep", "15")]
)
def test_the_functions_know_how_pressure_is_found(
    synth: Synth, detection: str, minutes: str
) -> None:
    for function in properties(synth(detection=detection).loop, "AWS::Lambda::Function"):
        variables = function["Environment"]["Variables"]
        assert variables["HEADROOM_DETECTION"] == detection
        assert variables["HEADROOM_SCAN_EVERY_MINUTES"] == minutes


def test_adaptive_costs_at_most_25_dollars_and_says_item_by_item(shipped: Synthesised) -> None:
    config = DeploymentConfig()
    low, high = bill(config, 1_000).usd
    assert low < high <= 25
    (note,) = [note for note in shipped.notes if "Detection adaptive" in note]
    assert f"${low:,.2f}-${high:,.2f} per 1,000 volumes and month in total" in note
    for item in ("Glances $", "Routine reconciliation $", "Lambda $", "DynamoDB $", "before use"):
        assert item in note
    for detection in (Detection.FLEET, Detection.TAGGED, Detection.SWEEP):
        assert bill(replace(config, detection=detection), 1_000).usd[0] > high


def test_before_use_headroom_costs_less_than_two_dollars() -> None:
    assert bill(DeploymentConfig(), 0).usd[1] < 2
    assert bill(DeploymentConfig(topic_key="on"), 0).usd[1] < 3


def test_full_reconciliations_cost_what_the_adapter_reads() -> None:
    steady = instance(volumes=())
    assert steady.limits is not None
    limits = replace(steady.limits, maximum_iops=12_000, maximum_mibps=600.0)
    alone = (volume(gp3()), replace(steady, limits=limits))
    beside = (volume(gp2()), instance(volumes=("vol-root",)))
    asked = []
    for one, machine in (alone, beside):
        now = {*volume_queries(one, instance=machine), *instance_queries(machine)}
        earlier, balances = volume_queries(one, 300), balance_queries(machine)
        asked.append(len(now) + len(earlier) + len(balances))
    assert tuple(asked) == METRICS_PER_RECONCILE
    assert len(glance_queries(volume(gp2()))) == METRICS_PER_GLANCE
    low, high = reconcile_usd(DeploymentConfig(detection=Detection.FLEET))
    assert (round(low, 2), round(high, 2)) == (Decimal("0.67"), Decimal("2.72"))


def test_synth_prints_the_price_and_the_stack_keeps_it(synth: Synth) -> None:
    made = synth(detection="sweep", kinds="ebs")
    assert any("costs $116.80 per 1,000 volumes and month" in note for note in made.notes)
    assert made.loop["Outputs"]["DetectionPrice"]["Value"] == (
        "sweep: $116.80 per 1,000 volumes and month, and $0.67-$2.72 for each while it is "
        "under pressure."
    )


def test_a_fleet_of_known_size_is_priced_as_well() -> None:
    config = DeploymentConfig(detection=Detection.FLEET, expected_volumes=200)
    assert price_note(config).endswith("For 200 volumes: $83.36.")
    low, high = bill(DeploymentConfig(), 200).usd
    assert price_note(DeploymentConfig(expected_volumes=200)).endswith(
        f"For 200 volumes: ${low:,.2f}-${high:,.2f}."
    )


def test_every_query_names_the_metrics_own_dimensions() -> None:
    dimensions = {
        query.metric: query.dimensions
        for query in fleet_queries(DeploymentConfig(detection=Detection.FLEET))
    }
    assert dimensions["BurstBalance"] == ("VolumeId",)
    for check in ("VolumeIOPSExceededCheck", "VolumeThroughputExceededCheck"):
        assert dimensions[check] == ("InstanceId", "VolumeId")
