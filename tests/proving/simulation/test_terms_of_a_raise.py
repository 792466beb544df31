"""What the owner's terms make of a raise: a cooldown, no giving back, and what he chose to begin with."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.proving.simulation.situations import RDS, START, hours, simulated, step, targets

NIGHT = [step("2h", 2_200, 4), step("20m", 13_500, 4), step("21h40m", 2_200, 4)]


def owner(**limits: Any) -> dict[str, Any]:
    return {"version": 1, "rules": [{"match": {"kind": "rds"}, "set": {"mode": "auto", **limits}}]}


def test_a_raise_that_a_cooldown_keeps_for_half_a_day_is_not_made_for_five_minutes() -> None:
    """20 minutes a night above 12,000 IOPS are short for 17 minutes: $1.70; 12 hours of the raise cost $2.56."""
    database = {**RDS, "storage_type": "gp3", "allocated_storage_gib": 600}
    waits = simulated(database, NIGHT * 2, history=NIGHT * 14, policy=owner(cooldown="12h"))
    assert not waits.changes
    free = simulated(database, NIGHT * 2, history=NIGHT * 14, policy=owner())
    assert len(free.changes) == 4, "raised and given back each night"


def test_a_raise_that_stays_is_not_made_for_two_minutes() -> None:
    day = [step("12h", 300), step("2m", 9_000), step("11h58m", 300)]
    rules = {"version": 1, "defaults": {"mode": "auto", "give_back": False}}
    volume = {"type": "gp3", "size_gib": 400}
    assert not simulated(volume, day * 2, history=[step("3d", 300)], policy=rules).changes
    lasting = simulated(volume, [step("6h", 9_000)], history=[step("3d", 300)], policy=rules)
    assert hours(lasting)[0] < 0.75
    assert targets(lasting)[-1].iops >= 9_000  # type: ignore[operator]


@pytest.mark.parametrize("iops", [13_200, 11_800])
def test_what_the_owner_chose_is_back_before_load_that_it_serves_and_no_earlier_for_load_beyond_it(
    iops: int,
) -> None:
    """At the preset thrift a minute that 12,000 IOPS would not serve is worth a cent, and no eight."""
    day = [step("21h30m", 700), step("2h30m", iops)]
    result = simulated(
        {"type": "gp3", "size_gib": 1_000, "iops": 12_000, "throughput_mibps": 250},
        day * 2, history=day * 20, policy={"version": 1, "defaults": {"preset": "thrift"}},
        aws={"completes_after": "6h"},
    )  # fmt: skip
    lowered, raised = result.changes[:2]
    assert lowered.target.iops < 4_000 <= raised.target.iops  # type: ignore[operator]
    assert raised.at >= START + timedelta(hours=20)
    assert raised.at <= START + timedelta(hours=21, minutes=45)


@pytest.mark.parametrize("one_way", ["never", "approve"])
def test_what_a_person_must_agree_to_is_no_reason_to_wait_with_half_a_relief(one_way: str) -> None:
    """200 MiB/s where 180 are allowed: io2 would serve it, but for good, and the $2 raise came after the load."""
    load = [step("10h", 100, 256), step("4h", 800, 256), step("10h", 100, 256)]
    rules = {"defaults": {"mode": "auto", "max_throughput_mibps": 180, "one_way": one_way}}
    result = simulated({"type": "gp3", "size_gib": 600}, load, policy={"version": 1, **rules})
    assert [change.target.throughput_mibps for change in result.changes[:1]] == [180]
    assert result.changes[0].at <= START + timedelta(hours=10, minutes=10)


def test_no_slot_is_used_to_give_hardly_anything_back() -> None:
    """A database was lowered from 24,500 to 24,476 IOPS, which shut its storage for a day before the real change."""
    load = [step("6d", 22_000), step("12d", 500)]
    result = simulated(
        {**RDS, "storage_type": "gp3", "allocated_storage_gib": 450,
         "instance_class": "db.r6g.8xlarge"}, load, policy=owner(),
    )  # fmt: skip
    lowered = [c for c in result.changes if (c.target.iops or 0) < (c.origin.iops or 0)]
    assert lowered
    assert all((c.target.iops or 0) <= 0.98 * (c.origin.iops or 0) for c in lowered)


@pytest.mark.parametrize(
    ("limits", "before", "load"),
    [({"price_increase_usd_per_month": 40}, 15_000, 15_000), ({"preset": "thrift"}, 9_000, 13_500)],
    ids=["$40 buy 2,000 IOPS", "a minute is worth little"],
)
def test_money_that_is_short_buys_no_throughput_that_no_load_used(
    limits: dict[str, Any], before: int, load: int
) -> None:
    """At 16 KiB, 15,000 IOPS move 235 MiB/s of 500; the $40 bought 1,200 IOPS and 200 MiB/s."""

    def day(iops: int) -> list[dict[str, Any]]:
        return [step("8h", 1_500), step("10h", iops), step("6h", 1_500)]

    result = simulated(
        {**RDS, "storage_type": "gp3", "allocated_storage_gib": 1_000},
        [step("8h", 1_500), step("1h", load)],
        history=[*day(before) * 6, *day(load)], policy=owner(**limits),
    )  # fmt: skip
    first = targets(result)[0]
    assert hours(result)[0] < 8
    assert first.throughput_mibps == 500
    assert first.iops > (13_900 if before == load else 13_100)  # type: ignore[operator]


def test_loads_that_take_turns_do_not_change_places_where_the_price_allows_one() -> None:
    """IOPS by day and MiB/s by night, for $20: with each the other starved, 1,393 minutes instead of 860."""
    day = [
        step("8h", 500), step("3h", 7_000), step("8h", 500), step("3h", 1_200, 256), step("2h", 500)
    ]  # fmt: skip
    result = simulated(
        {"type": "gp3", "size_gib": 500}, day * 3, history=day * 8,
        policy={"version": 1, "defaults": {"mode": "auto", "price_increase_usd_per_month": 20}},
    )  # fmt: skip
    assert result.starved_minutes < 1_000
