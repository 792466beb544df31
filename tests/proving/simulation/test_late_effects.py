"""What may happen while AWS works on a change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import Any

import pytest

from headroom.domain.decision import Escalate
from headroom.domain.resources import Volume
from headroom.proving.simulation import Result
from headroom.proving.simulation.storage import AccountVolume
from tests.proving.simulation.situations import (
    RDS,
    START,
    simulated,
    starved_between,
    step,
    targets,
)

# --- a database's free space while RDS works on a change

FILLING = {
    **RDS, "instance_class": "db.r6g.16xlarge", "storage_type": "gp3",
    "allocated_storage_gib": 500, "max_allocated_storage_gib": 2_000,
}  # fmt: skip


def late_days(result: Result, days: int) -> list[int]:
    """The days on which more than a blip starved."""
    starved = (
        starved_between(result, timedelta(days=day), timedelta(days=day + 1)) for day in range(days)
    )
    return [day for day, minutes in enumerate(starved) if minutes > 5]


def full_minutes(result: Result) -> int:
    assert result.space is not None
    return result.space.full_minutes


def test_nothing_is_given_back_by_which_an_import_could_fill_a_database() -> None:
    """RDS grows its storage below a tenth free, but not while it works on a change."""
    database = {
        **FILLING, "iops": 20_000, "storage_throughput_mibps": 800, "free_storage_gib": 60,
        "fill": [
            {"for": "30h", "gib_per_hour": 0.2}, {"for": "4h", "gib_per_hour": 20},
            {"for": "14h", "gib_per_hour": 0.1},
        ],
    }  # fmt: skip
    result = simulated(database, [step("48h", 1_000)], aws={"completes_after": "12h"})
    assert not result.changes
    assert full_minutes(result) == 0
    ample = simulated(
        {**database, "free_storage_gib": 200}, [step("48h", 1_000)], aws={"completes_after": "12h"}
    )
    assert [change.reason for change in ample.changes] == ["scaling_down"]
    assert full_minutes(ample) == 0


def test_an_import_that_also_needs_iops_does_not_fill_a_database_by_its_raise() -> None:
    database = {
        **FILLING, "free_storage_gib": 150,
        "fill": [
            {"for": "24h", "gib_per_hour": 0.1}, {"for": "8h", "gib_per_hour": 30},
            {"for": "24h", "gib_per_hour": 0.1},
        ],
    }  # fmt: skip
    load = [step("24h", 1_000), step("8h", 20_000), step("24h", 1_000)]
    result = simulated(database, load, aws={"completes_after": "6h"})
    assert full_minutes(result) == 0
    held = next(d for d in result.decisions if d.observation.at > START + timedelta(hours=24))
    assert "30.0 GiB an hour more in the last minutes" in str(held.judgements)


# --- AWS takes hours until a raise has its effect


@pytest.mark.parametrize(
    ("resource", "high", "number"),
    [
        ({"type": "gp3", "size_gib": 1_000, "iops": 16_000, "throughput_mibps": 500}, 14_000, 6),
        (
            {**RDS, "instance_class": "db.r6g.16xlarge", "storage_type": "gp3",
             "allocated_storage_gib": 1_000, "iops": 20_000, "storage_throughput_mibps": 500},
            18_000, 17,
        ),
    ],
    ids=["volume", "database"],
)  # fmt: skip
def test_how_late_a_raise_has_its_effect_is_learned_from_the_first_one(
    resource: dict[str, Any], high: int, number: int
) -> None:
    """What the owner chose served the daily load; lowered in between, only the first day may suffer.

    After two weeks AWS's and Headroom's memory of the late raise ends, and nothing shows it any more.
    """
    days = {"every": "24h", "after": "8h", "for": "2h", "else_iops": 1_500, "io_kib": 16}
    result = simulated(
        resource, [{**days, "iops": high, "repeat": number}],
        aws={"effect_delay": "2h", "completes_after": "5h"},
    )  # fmt: skip
    assert len(late_days(result, number)) <= 1
    assert sum(change.reason == "scaling_down" for change in result.changes) >= number - 4


def test_an_effect_that_is_a_few_minutes_too_late_is_learned_as_well() -> None:
    """A raise ahead begins 40 minutes before its load; here it takes 47."""
    days = {"every": "24h", "after": "2h", "for": "1h", "else_iops": 500, "io_kib": 16}
    result = simulated(
        {"type": "gp3", "size_gib": 400}, [{**days, "iops": 9_000, "repeat": 9}],
        aws={"effect_delay": "47m", "completes_after": "4h"},
    )  # fmt: skip
    late = late_days(result, 9)
    assert len(late) <= 3
    assert late[-1] <= 4


def test_a_week_that_hardly_filled_is_proof_enough_for_a_saving_on_a_fuller_database() -> None:
    """A fifth is free, as where RDS autoscaling has been at work: not a quarter, but twice the reserve."""
    database = {
        **RDS, "storage_type": "io1", "allocated_storage_gib": 500, "iops": 10_000,
        "free_storage_gib": 100,
    }  # fmt: skip
    result = simulated(database, [step("216h", 500)])
    (change,) = result.changes
    assert timedelta(days=6) < change.at - START < timedelta(days=8)
    assert change.reason == "scaling_down"


def test_a_raise_before_does_not_make_growth_for_space_wait_for_a_person() -> None:
    database = {
        **RDS, "storage_type": "gp3", "allocated_storage_gib": 600, "free_storage_gib": 90,
        "fill": [{"for": "12h", "gib_per_hour": 0.5}, {"for": "60h", "gib_per_hour": 1.5}],
    }  # fmt: skip
    limits = {"grow_space": True, "growth": True, "approve_above_usd_per_month": 100}
    result = simulated(
        database, [step("6h", 1_000), step("12h", 15_500), step("54h", 14_000)],
        policy={"version": 1, "rules": [{"match": {"kind": "rds"}, "set": limits}]},
    )  # fmt: skip
    raised, *grown = targets(result)
    assert (raised.iops or 0) > 12_000
    assert any(target.size_gib > 600 for target in grown)
    assert full_minutes(result) == 0


def test_rds_autoscaling_crosses_the_size_from_which_there_are_several_volumes() -> None:
    database = {
        **FILLING, "allocated_storage_gib": 380, "free_storage_gib": 50, "fill_gib_per_hour": 1.5,
    }  # fmt: skip
    result = simulated(database, [step("48h", 300)], controller="none")
    assert result.space is not None
    assert result.space.grown_by_rds
    assert result.space.full_minutes == 0


# --- how long a raise takes


def test_a_daily_load_is_raised_for_ahead_once_it_is_known_how_long_a_reaction_takes() -> None:
    """A reaction to 7,000 IOPS leaves 77 minutes short: the alarm, the change, and what waited."""
    database = {
        **RDS, "engine": "sqlserver", "multi_az": True, "storage_type": "gp2",
        "allocated_storage_gib": 1_200, "burst_balance_percent": 50,
    }  # fmt: skip
    day = [step("8h", 500, 32), step("4h", 7_000, 32), step("12h", 500, 32)]
    result = simulated(database, day * 6, start="2026-03-02T06:00:00Z")
    assert 0 < result.starved_minutes < 100  # on the first day


def busy_at(
    monkeypatch: pytest.MonkeyPatch, when: Callable[[datetime], bool], **facts: object
) -> None:
    """RDS reports this of the database at such instants."""
    described = AccountVolume.described

    def at(volume: AccountVolume, now: datetime) -> Volume:
        seen = described(volume, now)
        assert seen.facts is not None
        return replace(seen, facts=replace(seen.facts, **facts)) if when(now) else seen  # type: ignore[arg-type]

    monkeypatch.setattr(AccountVolume, "described", at)


OWNED = {
    **RDS, "instance_class": "db.r6g.8xlarge", "storage_type": "gp3", "allocated_storage_gib": 500,
    "iops": 24_000, "storage_throughput_mibps": 500, "free_storage_gib": 200,
}  # fmt: skip
"""What its owner chose serves 20,000 IOPS."""


@pytest.mark.parametrize(
    ("begins", "ends", "late"),
    [(75, 120, 110), (60, 300, 500)],
    ids=["before the load", "through it"],
)
def test_a_raise_comes_before_the_backup_of_every_night(
    begins: int, ends: int, late: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From 02:00 to 05:00; RDS takes no change during its backup. Two nights show that it is in the way."""
    busy_at(
        monkeypatch, lambda now: begins <= 60 * now.hour + now.minute < ends, status="backing-up"
    )
    result = simulated(OWNED, [step("2h", 1_000), step("3h", 20_000), step("19h", 1_000)] * 6)
    assert starved_between(result, timedelta(0), timedelta(days=4)) < late
    assert starved_between(result, timedelta(days=4), timedelta(days=6)) == 0
    waits = [d.summary for d in result.decisions if isinstance(d.answer, Escalate)]
    assert all("RDS reports backing-up" in said for said in waits)
    assert all("decides again as soon as that has passed" in said for said in waits)


@pytest.mark.parametrize("kept", ["the raise", "the give-back"])
def test_what_somebody_left_pending_is_reported_before_it_hurts(
    kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised = kept == "the give-back"
    since = START + (timedelta(days=2, hours=12) if raised else timedelta(days=4, hours=20))
    busy_at(monkeypatch, lambda now: now >= since, pending=("DBInstanceClass",))
    database = {**OWNED, "iops": 12_000} if raised else OWNED
    day = [step("9h", 1_000), step("3h", 20_000), step("12h", 1_000)]
    result = simulated(database, [*day * 3, step("3d", 1_000)] if raised else day * 6)
    first, *_ = [d for d in result.decisions if d.at >= since and isinstance(d.answer, Escalate)]
    assert isinstance(first.answer, Escalate)
    assert first.answer.cause.startswith("kept_from_")
    assert "somebody left DBInstanceClass pending" in first.summary
    if raised:
        assert timedelta(hours=22) < first.at - since < timedelta(hours=30)
        assert "would now give back what costs $" in first.summary
    else:
        assert START + timedelta(days=5, hours=8) < first.at < START + timedelta(days=5, hours=9)
        assert "load of earlier days is expected to come again" in first.summary


def test_a_change_that_is_staged_every_morning_is_reported_once_a_week_and_not_waited_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Pending from 08:00 to 08:50; the load comes at nine."""
    staged = ("DBInstanceClass",)
    busy_at(monkeypatch, lambda now: now.hour == 8 and now.minute < 50, pending=staged)
    result = simulated(OWNED, [step("9h", 1_000), step("3h", 20_000), step("12h", 1_000)] * 8)
    causes = [d.answer.cause for d in result.decisions if isinstance(d.answer, Escalate)]
    assert causes == ["kept_from_raising (DBInstanceClass)"]
    raised = [c.at for c in result.changes if (c.target.iops or 0) > (c.origin.iops or 0)]
    assert len(raised) >= 5
    assert all(at.time() <= time(9, 5) for at in raised), "at once, not when it starves"


def test_a_raise_that_needs_approval_is_not_announced_as_kept_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    since = START + timedelta(days=4, hours=20)
    busy_at(monkeypatch, lambda now: now >= since, pending=("DBInstanceClass",))
    rule = {"match": {"kind": "rds"}, "set": {"approve_above_usd_per_month": 20}}
    database = {**OWNED, "iops": 12_000}
    result = simulated(
        database, [step("9h", 1_000), step("3h", 20_000), step("12h", 1_000)] * 6,
        policy={"version": 1, "rules": [rule]},
    )  # fmt: skip
    causes = {d.answer.cause for d in result.decisions if isinstance(d.answer, Escalate)}
    assert not [cause for cause in causes if cause.startswith("kept_from")]
    assert "pending_changes" in causes
