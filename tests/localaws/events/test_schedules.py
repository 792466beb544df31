"""Schedules are parsed when they are created; none can stop the clock."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.localaws.conftest import Program


def schedule(program: Program, name: str, arn: str, expression: str, **more: Any) -> None:
    program.client("scheduler").create_schedule(
        Name=name, ScheduleExpression=expression, FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": arn, "RoleArn": "arn:aws:iam::123456789012:role/x", "Input": name}, **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "zone"),
    [
        ("foo", "UTC"),
        ("rate(0 minutes)", "UTC"),
        ("cron(* * * * *)", "UTC"),
        ("cron(* * * * * *)", "UTC"),
        ("at(2026-13-01T00:00:00)", "UTC"),
        ("rate(1 minute)", "Mars/X"),
    ],
)
def test_a_schedule_that_could_never_fire_is_refused(
    program: Program, expression: str, zone: str
) -> None:
    with pytest.raises(ClientError, match="ValidationException"):
        schedule(
            program, "never", "arn:aws:sqs:us-east-1:123456789012:x", expression,
            ScheduleExpressionTimezone=zone,
        )  # fmt: skip
    assert program.client("scheduler").list_schedules(NamePrefix="never")["Schedules"] == []


@pytest.mark.parametrize(
    "expression",
    [
        "rate(0 minutes)", "rate(2 minute)", "rate(1 minutes)", "cron(* * * * *)",
        "at(2026-01-05T00:00:00)",
    ],
)  # fmt: skip
def test_a_rule_with_a_wrong_schedule_is_refused(program: Program, expression: str) -> None:
    events = program.client("events")
    with pytest.raises(ClientError, match="ValidationException"):
        events.put_rule(Name="wrong", ScheduleExpression=expression)
    assert events.list_rules(NamePrefix="wrong")["Rules"] == []


def test_a_schedule_that_fails_delays_no_other(program: Program) -> None:
    url, arn = program.queue("scheduled")
    nowhere = "arn:aws:sqs:us-east-1:123456789012:nowhere"
    program.client("scheduler").create_schedule(
        Name="broken", ScheduleExpression="rate(1 minute)", FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": nowhere, "RoleArn": "r" * 20, "DeadLetterConfig": {"Arn": nowhere}},
    )  # fmt: skip
    schedule(program, "sound", arn, "rate(1 minute)")
    program.tick(2)
    assert program.messages(url) == ["sound", "sound"]
    program.client("scheduler").delete_schedule(Name="sound")


def test_a_completed_schedule_is_deleted_if_it_says_so(program: Program) -> None:
    url, arn = program.queue("once")
    now = program.aws.control("clock")["now"]
    soon = f"at({now[:14]}{int(now[14:16]) + 1:02d}:00)"
    schedule(program, "goes", arn, soon, ActionAfterCompletion="DELETE")
    schedule(program, "stays", arn, soon)
    program.tick(2)
    assert sorted(program.messages(url)) == ["goes", "stays"]
    listed = program.client("scheduler").list_schedules()["Schedules"]
    assert {"goes", "stays"} & {s["Name"] for s in listed} == {"stays"}
