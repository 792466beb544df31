"""Freezes by date and instant, in time zones, and what they add up to."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from headroom.domain.policy import Freeze, PolicyError, frozen_until
from headroom.domain.policy.freezes import freeze_between
from headroom.policy import canonical_json, parse_policy, policy_from_json
from tests.builders import NOW


def local(text: str) -> datetime:
    """What a clock on some wall shows."""
    return datetime.fromisoformat(text)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("first", "last", "zone", "begins", "until"),
    [
        (date(2026, 12, 20), date(2026, 12, 20), "UTC", "2026-12-20T00:00", "2026-12-21T00:00"),
        (date(2026, 12, 20), date(2027, 1, 3), "Europe/Berlin", "2026-12-19T23:00",
         "2027-01-03T23:00"),
        (local("2026-11-27T18:00"), local("2026-11-30T08:00:01"), "America/New_York",
         "2026-11-27T23:00", "2026-11-30T13:00:01"),
        (datetime(2026, 11, 27, 18, tzinfo=UTC), date(2026, 11, 28), "Asia/Tokyo",
         "2026-11-27T18:00", "2026-11-28T15:00"),
        # Where the clock shows 02:30 twice, the longer freeze is meant.
        (local("2026-10-25T02:30"), local("2026-10-25T02:45"), "Europe/Berlin",
         "2026-10-25T00:30", "2026-10-25T01:45"),
    ],
)  # fmt: skip
def test_a_freeze_counts_from_its_first_day_to_the_end_of_its_last(
    first: date, last: date, zone: str, begins: str, until: str
) -> None:
    freeze = freeze_between(first, last, zone, "")
    assert (freeze.begins, freeze.until) == (at(begins), at(until))
    assert freeze.is_active(at(begins))
    assert not freeze.is_active(at(until))


def freezes(*hours: tuple[int, int]) -> tuple[Freeze, ...]:
    return tuple(
        Freeze(begins=NOW + timedelta(hours=a), until=NOW + timedelta(hours=b)) for a, b in hours
    )


@pytest.mark.parametrize(
    ("hours", "until"),
    [
        ((), None),
        (((1, 2),), None),
        (((-2, 0),), None),
        (((-1, 1),), 1),
        (((-1, 1), (1, 2)), 2),
        (((-1, 1), (2, 3)), 1),
        (((-5, 2), (1, 4), (3, 9), (10, 11)), 9),
    ],
)
def test_freezes_that_touch_are_one(hours: tuple[tuple[int, int], ...], until: int | None) -> None:
    found = frozen_until(freezes(*hours), NOW)
    assert found == (None if until is None else NOW + timedelta(hours=until))


def test_dates_that_yaml_makes_of_what_is_not_quoted_mean_the_same(tmp_path: object) -> None:
    quoted = {"from": "2026-12-20", "until": "2026-12-21T06:00:00Z", "reason": " year   end "}
    yaml = {"from": date(2026, 12, 20), "until": datetime(2026, 12, 21, 6, tzinfo=UTC),
            "reason": "year end"}  # fmt: skip
    one, other = (
        parse_policy({"account": {"freezes": [f]}}, source="policy") for f in (quoted, yaml)
    )
    assert one == other
    assert policy_from_json(canonical_json(one), source="canonical") == one


def test_a_freeze_at_the_end_of_time_is_refused_not_a_crash() -> None:
    endless = {"account": {"freezes": [{"from": "2026-12-20", "until": "9999-12-31"}]}}
    with pytest.raises(PolicyError, match="too far away in time"):
        parse_policy(endless, source="policy")
