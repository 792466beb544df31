"""When schedules fire."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headroom.localaws.events.expressions import BadSchedule, fires

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)  # a Monday


@pytest.mark.parametrize(
    ("expression", "at", "expected"),
    [
        ("rate(1 minute)", NOON.replace(minute=7), True),
        ("rate(5 minutes)", NOON.replace(minute=10), True),
        ("rate(5 minutes)", NOON.replace(minute=11), False),
        ("rate(1 hour)", NOON, True),
        ("rate(1 hour)", NOON.replace(minute=1), False),
        ("cron(0 12 * * ? *)", NOON, True),
        ("cron(0 12 * * ? *)", NOON.replace(hour=13), False),
        ("cron(0/15 8-17 ? * MON-FRI *)", NOON.replace(minute=45), True),
        ("cron(0/15 8-17 ? * MON-FRI *)", NOON.replace(day=4, minute=45), False),
        ("cron(0 12 ? * 2#1 *)", NOON, True),
        ("cron(0 12 ? * 2#2 *)", NOON, False),
        ("cron(0 12 L * ? *)", NOON.replace(day=31), True),
        ("cron(0 12 L * ? *)", NOON, False),
        ("cron(0 12 1 JAN,JUL ? 2026)", NOON.replace(day=1), True),
        ("at(2026-01-05T12:00:00)", NOON, True),
        ("at(2026-01-05T12:00:00)", NOON.replace(minute=1), False),
    ],
)
def test_a_schedule_fires_at_its_minutes_only(
    expression: str, at: datetime, expected: bool
) -> None:
    assert fires(expression, at) is expected


def test_a_schedule_follows_its_own_time_zone() -> None:
    assert fires("cron(0 21 * * ? *)", NOON, "Asia/Tokyo")
    assert not fires("cron(0 12 * * ? *)", NOON, "Asia/Tokyo")


@pytest.mark.parametrize(
    "expression",
    ["rate(0 minutes)", "rate(5 parsecs)", "cron(0 12 * *)", "cron(61 * * * ? *)", "every minute"],
)
def test_what_is_no_schedule_is_refused(expression: str) -> None:
    with pytest.raises(BadSchedule):
        fires(expression, NOON)
