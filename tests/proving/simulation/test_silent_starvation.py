"""No resource starves for hours without a word to its owner, whatever AWS or CloudWatch does."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from headroom.domain.decision import Act, Escalate, Reason
from headroom.domain.resources import VolumeType
from headroom.domain.state import Refusal, Step
from headroom.proving.awsrules import ModificationRefused, VolumeLifecycle
from headroom.proving.metrics import PublishedVolume
from headroom.proving.metrics.published import minute_number
from headroom.proving.simulation import Result, storage
from tests.proving.simulation.situations import RDS, START, simulated, step, targets

GP3 = {"type": "gp3", "size_gib": 400}
DATABASE = {**RDS, "storage_type": "gp3", "allocated_storage_gib": 800}
DAY = [step("9h", 800), step("4h", 9_000), step("11h", 800)]
DATABASES_DAY = [step("9h", 2_000), step("4h", 19_000), step("11h", 2_000)]


def messages(result: Result) -> list[tuple[float, str]]:
    """Hours from the start, and the causes."""
    return [
        ((decision.at - START) / timedelta(hours=1), decision.answer.cause)
        for decision in result.decisions
        if isinstance(decision.answer, Escalate)
    ]


def always_refused(
    monkeypatch: pytest.MonkeyPatch, code: str, *, minutes: int | None = None, since: int = 0
) -> None:
    """AWS refuses every change, if only for so many minutes after 09:00, or from an hour on."""
    modify = VolumeLifecycle.modify

    def refuse(self: VolumeLifecycle, now: Any, **asked: Any) -> Any:
        late = now >= START + timedelta(hours=since)
        early = minutes is None or now < START + timedelta(hours=9, minutes=minutes)
        if late and early:
            raise ModificationRefused(code, "not now")
        return modify(self, now, **asked)

    monkeypatch.setattr(VolumeLifecycle, "modify", refuse)
    monkeypatch.setitem(storage.REFUSALS, "RequestLimitExceeded", Refusal.THROTTLED)


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("IncorrectModificationState", "does not take one in the volume's present state"),
        ("RequestLimitExceeded", "throttles the calls"),
    ],
)
def test_changes_that_aws_refuses_for_an_hour_are_reported_once_in_the_episode(
    code: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    always_refused(monkeypatch, code)
    result = simulated(GP3, [*DAY[:2], step("2h", 800)])
    assert not result.changes
    (hour, cause), *others = messages(result)
    assert cause == "still_refused"
    assert 10 < hour <= 10.5, "the load came at 9"
    assert not others
    said = next(d.summary for d in result.decisions if isinstance(d.answer, Escalate))
    assert what in said
    assert "has refused every change since 2026-01-05 09:0" in said
    last = max(refusal.at for refusal in result.refusals)
    assert last > START + timedelta(hours=13), "it goes on trying"


def test_short_loads_that_come_again_and_again_are_no_less_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A quarter of an hour every 35 minutes: never an hour at the limit, and never a message."""
    always_refused(monkeypatch, "IncorrectModificationState")
    pulse = [step("20m", 800), step("15m", 4_500)]
    result = simulated(GP3, pulse * 14)
    (hour, cause), *others = messages(result)
    assert (cause, others) == ("still_refused", [])
    assert 3 <= hour <= 4


def test_a_throttled_call_is_repeated_less_and_less_often_unless_load_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of calls 15 minutes apart none got through a throttle of 52 minutes in each hour: nothing was ever raised."""

    def waits(resource: dict[str, Any], load: list[dict[str, Any]]) -> list[int]:
        calls = [refusal.at for refusal in simulated(resource, load).refusals]
        return [round((b - a) / timedelta(minutes=1)) for a, b in pairwise(calls)]

    always_refused(monkeypatch, "RequestLimitExceeded")
    saving = waits({"type": "gp2", "size_gib": 400}, [step("4h", 50)])
    assert saving[:3] == [2, 4, 8]
    assert {15} <= set(saving[3:]) <= {15, 16, 17, 20}
    pressed = waits(GP3, DAY[:2])
    assert pressed[:9] == [2] * 9


@pytest.mark.parametrize("minutes", [10, 55])
def test_a_refusal_that_clears_within_an_hour_is_no_message(
    minutes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    always_refused(monkeypatch, "IncorrectModificationState", minutes=minutes)
    result = simulated(GP3, DAY)
    assert result.refusals
    assert result.changes
    assert not messages(result)


@pytest.mark.parametrize("late_min", [30, 60])
@pytest.mark.parametrize("detection", ["fleet", "adaptive"])
@pytest.mark.parametrize(
    ("resource", "day"), [(GP3, DAY), (DATABASE, DATABASES_DAY)], ids=["volume", "database"]
)
def test_metrics_that_always_come_late_are_reported_once_an_hour_of_pressure_is_known(
    resource: dict[str, Any], day: list[dict[str, Any]], detection: str, late_min: int
) -> None:
    result = simulated(
        resource, day, history=[step("24h", 800)], detection=detection,
        aws={"metric_delay": f"{late_min}m"},
    )  # fmt: skip
    assert not any(isinstance(decision.answer, Act) for decision in result.decisions)
    (hour, cause), *others = messages(result)
    assert cause == "late_metrics"
    known = 10 + late_min / 60
    assert known <= hour <= known + 1
    assert not others


@pytest.mark.parametrize("stops_after_min", [100, 120, 140])
def test_an_instance_that_stops_has_no_late_metrics(
    stops_after_min: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a ceiling of its owner, who hears of that."""
    put, first = PublishedVolume.put, minute_number(START)
    since = first + 9 * 60 + stops_after_min

    def publish(self: PublishedVolume, minute: int, sums: Any) -> None:
        put(self, minute, sums if minute < since else {})

    monkeypatch.setattr(PublishedVolume, "put", publish)
    rules = {"version": 1, "defaults": {"max_iops": 3_000, "types": ["gp3"]}}
    result = simulated(GP3, DAY, detection="adaptive", policy=rules)
    assert [cause for _, cause in messages(result)] == ["max_iops"]
    blind = [d for d in result.decisions if d.answer.reason is Reason.NOT_ENOUGH_DATA]
    assert len(blind) <= 2


def test_a_raise_that_aws_does_not_let_be_given_back_is_reported_once_a_week(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    always_refused(monkeypatch, "IncorrectModificationState", since=24)
    result = simulated(GP3, [*DAY, step("94h", 800)])
    assert [target.iops for target in targets(result)] == [12_000]
    ((hour, cause),) = messages(result)
    assert cause == "still_refused_giving_back"
    assert hour < 5 * 24
    said = next(d.summary for d in result.decisions if isinstance(d.answer, Escalate))
    assert "it would give back $47.52 a month" in said


def test_who_bought_io2_for_its_latency_hears_that_it_brought_none() -> None:
    """The service time of this load is its own, and no faster type changes it."""
    slow = {"outstanding": 4, "service_ms": 1.5, "think_ms": 1, "io_kib": 16}
    limits = {"mode": "auto", "latency_objective_ms": 0.7, "one_way": "allow"}
    result = simulated(
        {"type": "gp3", "size_gib": 500}, [{"for": "8h", **slow}], history=[{"for": "72h", **slow}],
        policy={"version": 1, "defaults": limits},
    )  # fmt: skip
    assert [one.volume_type for one in targets(result)] == [VolumeType.IO2]
    (said,) = [r.summary for r in result.records if r.step is Step.INEFFECTIVE]
    assert said.endswith("without relief: operations take 1.50 ms, the owner's objective is 0.7")
