"""What raises of an instance's volumes may still take of it: all of it, until its metrics show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from headroom.domain.resources import Observation
from headroom.domain.state import (
    ConcurrencyState,
    InFlight,
    Landed,
    Promised,
    after_change_started,
    promised_beside,
)
from tests.builders import NOW, activity, instance, instance_activity, observation, ref, volume

OWN = 1_000.0
MINUTES = 180


def raised(
    name: str = "vol-2", *, minutes: float = 60, adds: int = 9_000, before: int | None = 4_000
) -> InFlight:
    """A raise so long ago; `before` is what the instance's volumes took then."""
    return InFlight(
        resource=ref(name).arn, decision_id=name, since=NOW - timedelta(minutes=minutes), zone="a",
        adds_iops=adds, instance_iops=before,
    )  # fmt: skip


def seen(beside: Sequence[float], own: Sequence[float] = (OWN,) * MINUTES) -> Observation:
    """vol-1 on an instance with three more, which took so much together in the last minutes."""
    total = [mine + others for mine, others in zip(own[-len(beside) :], beside, strict=True)]
    return observation(
        activity(own), instance=instance(volumes=("vol-2", "vol-3", "vol-4")),
        instance_activity=instance_activity(total, [0.0] * len(total)),
    )  # fmt: skip


def promised(
    looks: Observation, *open_: InFlight, landed: InFlight | None = None, until: datetime = NOW
) -> Promised | None:
    ended = () if landed is None else (Landed(change=landed, until=until),)
    return promised_beside((looks,), ConcurrencyState(in_flight=open_, landed=ended))


def iops(*args: object, **more: object) -> float:
    found = promised(*args, **more)  # type: ignore[arg-type]
    return 0.0 if found is None else found.iops


@pytest.mark.parametrize("hours", [0.1, 1.5, 5, 40])
def test_a_raise_that_nothing_shows_counts_for_as_long_as_it_is_under_way(hours: float) -> None:
    assert iops(seen([3_000.0] * MINUTES), raised(minutes=hours * 60)) == 9_000
    found = promised(seen([3_000.0] * MINUTES), raised())
    assert found is not None
    assert (found.mibps, found.until) == (0, None)


@pytest.mark.parametrize(("now", "left"), [(5_000, 7_000), (11_900, 100), (12_000, 0), (15_000, 0)])
def test_only_what_the_metrics_do_not_show_yet_counts(now: float, left: float) -> None:
    assert iops(seen([3_000.0] * 165 + [now] * 15), raised()) == left
    # Long after: the hours of minutes do not reach back to it.
    assert iops(seen([now] * MINUTES), raised(minutes=300, before=3_000)) == left


def test_its_own_growth_and_less_load_of_others_show_nothing() -> None:
    grown = seen([3_000.0] * MINUTES, [OWN] * 150 + [6_000.0] * 30)
    assert iops(grown, raised()) == 9_000
    assert iops(seen([3_000.0] * 150 + [0.0] * 30), raised()) == 9_000


def test_what_an_earlier_raise_took_is_not_taken_for_a_later_one() -> None:
    looks = seen([3_000.0] * 100 + [12_000.0] * 80)
    first, second = raised(minutes=120), raised("vol-3", minutes=30, adds=2_000, before=13_000)
    assert iops(looks, first) == 0
    assert iops(looks, first, second) == 2_000
    assert iops(seen([3_000.0] * MINUTES), first, second) == 11_000


@pytest.mark.parametrize("unknown", ["load before", "load now", "instance"])
def test_what_is_not_known_shows_nothing(unknown: str) -> None:
    looks = seen([12_000.0] * MINUTES)
    one = raised(before=None if unknown == "load before" else 4_000)
    if unknown == "load now":
        looks = replace(looks, instance_activity=None)
    if unknown == "instance":
        looks = replace(looks, instance=None)
    assert iops(looks, one) == (0 if unknown == "instance" else 9_000)


@pytest.mark.parametrize(
    ("name", "looks"),
    [("vol-1", "its own"), ("vol-9", "of another instance"), ("vol-2", "of its set")],
)
def test_only_raises_beside_it_count(name: str, looks: str) -> None:
    one = seen([3_000.0] * MINUTES)
    member = replace(one, volume=volume(ref=ref("vol-2")))
    members = (one, member) if looks == "of its set" else (one,)
    assert promised_beside(members, ConcurrencyState(in_flight=(raised(name),))) is None


def test_a_raise_that_landed_counts_until_its_load_was_there_once() -> None:
    until = NOW + timedelta(hours=1)
    awaited = promised(seen([3_000.0] * MINUTES), landed=raised(minutes=170), until=until)
    assert awaited is not None
    assert (awaited.iops, awaited.until) == (9_000, until)
    came_and_went = seen([3_000.0] * 60 + [12_000.0] * 60 + [3_000.0] * 60)
    assert iops(came_and_went, landed=raised(minutes=170), until=until) == 0
    assert iops(came_and_went, raised(minutes=170)) == 9_000  # under way: others may have had it
    assert iops(seen([3_000.0] * MINUTES), landed=raised(), until=NOW) == 0


def test_the_next_change_of_a_volume_replaces_its_raise() -> None:
    held = ConcurrencyState(landed=(Landed(change=raised(), until=NOW + timedelta(hours=1)),))
    lowered = replace(raised(minutes=0), adds_iops=0)
    assert after_change_started(held, lowered).landed == ()
    assert after_change_started(held, replace(lowered, resource="other")).landed == held.landed
