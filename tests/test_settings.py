"""The settings of a deployment and of a function."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.settings import DeploymentConfig, Detection, FunctionSettings, SettingsError

SETTINGS = FunctionSettings(
    records_table="records",
    state_table="state",
    policy_parameter="/headroom/policy",
    topic_arn="arn:aws:sns:us-east-1:123456789012:headroom",
    queue_url="https://sqs.us-east-1.amazonaws.com/123456789012/work",
    scan_every_minutes=5,
)
NAMES = st.text("abcdefghijklmnopqrstuvwxyz-_/:.0123456789", min_size=1, max_size=40)


@given(tables=st.tuples(NAMES, NAMES), parameter=NAMES, topic=NAMES, minutes=st.integers(1, 1440))
def test_the_environment_of_a_function_reads_back_to_the_same_settings(
    tables: tuple[str, str], parameter: str, topic: str, minutes: int
) -> None:
    settings = FunctionSettings(
        records_table=tables[0],
        state_table=tables[1],
        policy_parameter=parameter,
        topic_arn=topic,
        queue_url="https://sqs.us-east-1.amazonaws.com/123456789012/work",
        scan_every_minutes=minutes,
    )
    assert FunctionSettings.from_environment(settings.to_environment()) == settings


@pytest.mark.parametrize("name", SETTINGS.to_environment())
@pytest.mark.parametrize("value", [None, "", "   "])
def test_a_missing_variable_is_named(name: str, value: str | None) -> None:
    environment = SETTINGS.to_environment()
    if value is None:
        del environment[name]
    else:
        environment[name] = value
    with pytest.raises(SettingsError, match=name):
        FunctionSettings.from_environment(environment)


@pytest.mark.parametrize("value", ["0", "-1", "1441", "15.5", "often", "٣"])
def test_a_scan_period_that_is_no_number_of_minutes_is_refused(value: str) -> None:
    environment = SETTINGS.to_environment() | {"HEADROOM_SCAN_EVERY_MINUTES": value}
    with pytest.raises(SettingsError, match="HEADROOM_SCAN_EVERY_MINUTES"):
        FunctionSettings.from_environment(environment)


def test_powertools_finds_its_own_variables_in_the_environment_of_a_function() -> None:
    environment = SETTINGS.to_environment()
    assert environment["POWERTOOLS_METRICS_NAMESPACE"] == "Headroom"
    assert environment["POWERTOOLS_SERVICE_NAME"] == "headroom"


def test_without_context_the_shipped_configuration_applies() -> None:
    config = DeploymentConfig.from_context({})
    assert config.detection is Detection.ADAPTIVE
    assert config.scan_minutes == 5
    assert DeploymentConfig(detection=Detection.SWEEP).scan_minutes == 15
    assert DeploymentConfig(scan_every_minutes=30).scan_minutes == 30
    assert config.notify_email is None


def test_numbers_come_as_text_from_the_command_line_of_the_cdk() -> None:
    config = DeploymentConfig.from_context(
        {"detection": "sweep", "scan_every_minutes": "5", "log_retention_days": 30}
    )
    assert config.detection is Detection.SWEEP
    assert config.scan_every_minutes == 5
    assert config.log_retention_days == 30


def test_keys_of_the_cdk_itself_are_passed_over() -> None:
    context: dict[str, object] = {
        "@aws-cdk/core:checkSecretUsage": True,
        "aws:cdk:bundling-stacks": [],
        "aws-cdk:enableDiffNoFail": "true",
        "availability-zones:account=1:region=us-east-1": ["us-east-1a"],
        "acknowledged-issue-numbers": [1],
    }
    assert DeploymentConfig.from_context(context) == DeploymentConfig()


@pytest.mark.parametrize(
    ("context", "says"),
    [
        ({"detektion": "fleet"}, "did you mean detection"),
        ({"scan-every-minutes": 5}, "did you mean scan_every_minutes"),
        ({"qqq": 5}, "known are"),
        ({"detection": "everything"}, "must be adaptive, fleet, tagged or sweep"),
        ({"detection": True}, "must be adaptive, fleet, tagged or sweep"),
        ({"scan_every_minutes": True}, "whole number"),
        ({"scan_every_minutes": "false"}, "whole number"),
        ({"scan_every_minutes": -1}, "whole number"),
        ({"scan_every_minutes": 15.0}, "whole number"),
        ({"scan_every_minutes": None}, "whole number"),
        ({"queue_max_concurrency": 1}, "2 to 1000"),
        ({"kinds": "rds"}, "ebs, or ebs,rds"),
        ({"kinds": "ebs,aurora"}, "ebs, or ebs,rds"),
        ({"kinds": 1}, "ebs, or ebs,rds"),
        ({"log_retention_days": 2}, "one of 1, 3, 5"),
        ({"notify_email": "nobody"}, "e-mail"),
        ({"notify_email": False}, "e-mail"),
        ({"policy_file": ""}, "path"),
        ({"policy_file": 7}, "path"),
        ({"enrolment_tag_value": "it's"}, "enrolment_tag_value"),
        ({"dashboard": "yes"}, "dashboard is 'yes'; it must be on or off"),
        ({"dashboard": 1}, "must be on or off"),
        ({"alarm_datapoints": 4, "alarm_periods": 3}, "at most alarm_periods"),
    ],
)
def test_a_context_value_that_makes_no_sense_is_refused_in_one_sentence(
    context: dict[str, object], says: str
) -> None:
    with pytest.raises(SettingsError) as refusal:
        DeploymentConfig.from_context(context)
    assert says in str(refusal.value)
    assert str(refusal.value).endswith(".")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("said", "kinds", "databases"),
    [("ebs", "ebs", False), ("rds, ebs", "ebs,rds", True), (["ebs", "rds"], "ebs,rds", True)],
)
def test_databases_are_covered_where_the_owner_says_so(
    said: object, kinds: str, databases: bool
) -> None:
    config = DeploymentConfig.from_context({"kinds": said})
    assert (config.kinds, config.databases) == (kinds, databases)
    assert DeploymentConfig().databases  # observed, unless its owner leaves them out
    deployed = replace(SETTINGS, kinds=config.kinds)
    assert FunctionSettings.from_environment(deployed.to_environment()).databases == databases


def test_hard_caps_come_as_a_mapping_or_as_text_and_reach_the_functions() -> None:
    said = {"max_iops": 5_000, "resource_tag": "team=db"}
    config = DeploymentConfig.from_context({"hard_caps": said})
    assert DeploymentConfig.from_context({"hard_caps": json.dumps(said)}) == config
    settings = replace(SETTINGS, hard_caps=config.hard_caps)
    assert FunctionSettings.from_environment(settings.to_environment()) == settings


def test_a_hard_cap_that_is_not_understood_stops_the_function() -> None:
    environment = SETTINGS.to_environment() | {"HEADROOM_HARD_CAPS": '{"max_iops": "8k"}'}
    with pytest.raises(SettingsError, match="HEADROOM_HARD_CAPS: max_iops is '8k'"):
        FunctionSettings.from_environment(environment)
