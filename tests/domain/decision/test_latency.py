"""Operations that are slow below every limit: named, the owner notified, and nothing else stopped by it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from headroom.domain.decision import (
    Act,
    Decision,
    Escalate,
    FailedAtAws,
    Hold,
    Ineffective,
    Pending,
    Reason,
    Relieved,
    Untested,
    assess_latency,
    decide,
)
from headroom.domain.decision.decision_input import analyze
from headroom.domain.policy import KnownEvent, Mode, OneWay, parse_schedule
from headroom.domain.resources import Configuration, ModificationState, Observation, VolumeType
from headroom.domain.workload import Binding
from tests.builders import (
    NOW,
    activity,
    decision_input,
    gp2,
    gp3,
    modification,
    observation,
    policy,
    resource_state,
    series,
    volume,
)
from tests.domain.earlier import history

CALM = [300.0] * 150
SLOW_MS = [1.0] * 150 + [40.0] * 30


def slow(
    configuration: Configuration | None = None, *, iops: float = 300.0,
    latency_ms: float | list[float] | None = None, stalled: bool = False, days: float = 10.0,
) -> Observation:  # fmt: skip
    """Hours at 1 ms, then half an hour of 40 ms, both at 300 IOPS."""
    load = activity(
        [*CALM, *[iops] * 30], queue=[0.3] * 150 + [12.0] * 30,
        latency_ms=SLOW_MS if latency_ms is None else latency_ms,
    )  # fmt: skip
    if stalled:
        load = replace(load, stalled=series([0.0] * 170 + [1.0] * 10, end=NOW, period_s=60))
    return observation(
        load, volume(configuration or gp3(400)), history=history(lambda _: 300.0, days=days)
    )


def month_end(at: str) -> KnownEvent:
    return KnownEvent(
        name="month end", schedule=parse_schedule(f"daily {at} UTC"), minutes=300, iops=12_000
    )


def decided(seen: Observation, **limits: Any) -> Decision:
    return decide(decision_input(seen, rules=policy(mode=Mode.AUTO, **limits), trigger="sweep"))


def test_the_owner_is_notified_once_of_slow_operations_below_every_limit() -> None:
    first = decided(slow())
    assert first.diagnosis.binding is Binding.LATENCY
    assert isinstance(first.answer, Escalate)
    assert first.answer.reason is Reason.HIGH_LATENCY
    notified = resource_state(escalated_causes=(first.answer.cause,))
    again = decide(decision_input(slow(), stand=notified, rules=policy(mode=Mode.AUTO)))
    assert isinstance(again.answer, Hold)


@pytest.mark.parametrize(("usual_ms", "slow_ms", "named"), [(1.0, 40.0, True), (20.0, 40.0, False)])
def test_what_has_been_slow_for_hours_is_not_usual_yet(
    usual_ms: float, slow_ms: float, named: bool
) -> None:
    earlier = history(lambda _: 300.0, days=10.0, latency_ms=lambda _: usual_ms)
    decision = decided(replace(slow(latency_ms=slow_ms), history=earlier))
    assert (decision.diagnosis.binding is Binding.LATENCY) is named


@pytest.mark.parametrize("published", [True, False])
def test_bursts_are_ruled_out_only_where_something_publishes_whether_a_limit_was_reached(
    published: bool,
) -> None:
    seen = slow()
    check = series([0.0 if published else None] * 180, end=NOW, period_s=60)
    load = replace(seen.activity, iops_exceeded=check, throughput_exceeded=check)
    decision = decided(replace(seen, activity=load))
    assert isinstance(decision.answer, Escalate)
    assert decision.answer.reason is Reason.HIGH_LATENCY
    assert ("more IOPS or throughput would change nothing" in decision.answer.remedy) == published
    assert ("bursts inside a minute" in decision.answer.remedy) != published


@pytest.mark.parametrize(
    ("what", "load"),
    [
        ("many operations", {"iops": 2_000.0}),
        ("an even latency", {"latency_ms": 9.0}),
        ("nothing measured", {"latency_ms": [1.0] * 150 + [None] * 30}),
    ],
)
def test_what_a_load_explains_by_itself_is_no_diagnosis(what: str, load: dict[str, Any]) -> None:
    assert decided(slow(**load)).diagnosis.binding is Binding.NOTHING, what


def test_a_batch_of_large_operations_takes_its_time() -> None:
    small, large = activity(CALM), activity([60.0] * 30, io_kib=512, latency_ms=40.0, queue=3.0)
    joined = {
        name: replace(
            getattr(small, name), values=getattr(small, name).values + getattr(large, name).values
        )
        for name in (
            "read_iops", "write_iops", "read_mibps", "write_mibps", "queue_length", "latency_ms",
            "burst_balance_percent", "iops_exceeded", "throughput_exceeded",
        )
    }  # fmt: skip
    begin = large.read_iops.end - 180 * (large.read_iops.end - large.read_iops.start) / 30
    moved = {name: replace(one, start=begin) for name, one in joined.items()}
    seen = observation(
        replace(small, **moved), volume(gp3(400)), history=history(lambda _: 300.0, days=10)
    )
    assert decided(seen).diagnosis.binding is Binding.NOTHING


def test_slow_operations_keep_no_saving_and_no_foreseen_load_from_being_seen_to() -> None:
    cheaper = decided(slow(gp2(50)))
    assert cheaper.diagnosis.binding is Binding.LATENCY
    assert isinstance(cheaper.answer, Act)
    assert cheaper.answer.reason is Reason.CHEAPER_EQUIVALENT
    due, raised = (
        decide(decision_input(slow(), rules=replace(policy(mode=Mode.AUTO), known_events=(event,))))
        for event in (month_end("13:00"), month_end("12:30"))
    )
    assert due.next_change_at is not None
    assert NOW < due.next_change_at <= NOW + timedelta(hours=1)
    assert raised.diagnosis.binding is Binding.LATENCY
    assert isinstance(raised.answer, Act)
    assert raised.answer.plan.capability.sustained_iops >= 12_000


def test_a_raise_for_a_known_event_names_it_and_buys_the_throughput_it_takes() -> None:
    seen = observation(
        activity([300.0] * 60), volume(gp3(400)), history=history(lambda _: 300.0, days=3.0)
    )
    rules = replace(policy(mode=Mode.AUTO), known_events=(month_end("12:30"),))
    raised = decide(decision_input(seen, rules=rules, trigger="sweep"))
    assert isinstance(raised.answer, Act)
    assert raised.answer.plan.target.iops == 12_000
    size = 16 / 1024  # MiB per operation, of the three days
    assert 12_000 * size <= raised.answer.plan.capability.sustained_mibps <= 14_000 * size
    assert "the known event month end is due at 2026-01-05 12:30 UTC: gp3" in raised.summary


@pytest.mark.parametrize(
    ("at", "most", "counts"),
    [
        ("02:00", 12_000.0, False),
        ("02:00", 15_000.0, True),  # more than announced
        ("14:00", 12_000.0, True),  # at another time
    ],
)
def test_load_that_a_known_event_explains_teaches_no_rhythm(
    at: str, most: float, counts: bool
) -> None:
    def load(now: datetime) -> float:
        return most if 2 <= now.hour < 7 else 300.0

    seen = observation(
        activity([300.0] * 60), volume(gp3(400, 16_000, 500)), history=history(load, days=5.0)
    )
    rules = replace(policy(mode=Mode.AUTO), known_events=(month_end(at),))
    analysis = analyze(decision_input(seen, rules=rules))
    assert analysis.situation is not None
    assert bool(analysis.situation.past.busy) is counts


def slow_for_days(ms: float = 40.0, *, days: float = 10.0, hours: int = 24) -> Observation:
    """As slow in the latest hours of each earlier day as now."""
    earlier = history(
        lambda _: 300.0, days=days,
        latency_ms=lambda at: ms if (NOW - at) % timedelta(days=1) <= timedelta(hours=hours) else 0.4,
    )  # fmt: skip
    return replace(slow(), history=earlier)


def test_a_faster_type_is_proposed_only_for_the_owners_objective_and_by_a_person() -> None:
    objective = {"latency_objective_ms": 5.0, "price_increase_usd": 1_000}
    asked = decided(slow_for_days(), **objective)
    assert isinstance(asked.answer, Act)
    assert asked.answer.plan.target.volume_type is VolumeType.IO2
    assert asked.answer.approval is not None
    for limits in ({}, {**objective, "one_way": OneWay.NEVER}):
        answer = decided(slow_for_days(), **limits).answer
        assert not isinstance(answer, Act)
    fast = decided(slow_for_days(), latency_objective_ms=50.0)
    assert fast.diagnosis.binding is Binding.NOTHING


@pytest.mark.parametrize(
    ("seen", "bought"),
    [
        (slow_for_days(), True),
        (slow_for_days(hours=2), True),
        (slow_for_days(days=2.0), False),  # first reads of a new volume end
        (slow(), False),  # an incident after ten days
    ],
    ids=["always", "two hours a day", "not three days yet", "today"],
)
def test_io2_stays_for_good_so_it_is_bought_for_what_was_slow_on_three_days(
    seen: Observation, bought: bool
) -> None:
    limits = {"latency_objective_ms": 5.0, "price_increase_usd": 1_000, "one_way": OneWay.ALLOW}
    answer = decided(seen, **limits).answer
    assert isinstance(answer, Act) is bought
    if isinstance(answer, Escalate):
        assert "an hour of each of three days" in answer.remedy


def test_what_keeps_headroom_from_the_faster_type_is_said() -> None:
    dear = decided(slow_for_days(), latency_objective_ms=5.0, price_increase_usd=50)
    assert isinstance(dear.answer, Escalate)
    assert dear.answer.cause == "price_per_resource"
    assert "to allow io2 400 GiB 3000 IOPS" in dear.answer.remedy
    busy = replace(
        slow_for_days(), modification=modification(gp3(400), state=ModificationState.OPTIMIZING)
    )
    waits = decided(busy, latency_objective_ms=5.0, price_increase_usd=1_000)
    assert isinstance(waits.answer, Hold)
    assert waits.answer.reason is Reason.BLOCKED_TEMPORARILY


IO2 = Configuration(volume_type=VolumeType.IO2, size_gib=400, iops=3_000, throughput_mibps=None)


@pytest.mark.parametrize(
    ("owner", "days", "kept"),
    [(gp3(400), 14.0, True), (gp3(400), 36.0, False), (IO2, 14.0, False)],
    ids=["was gp3", "was gp3 a month ago", "io2"],
)
def test_what_gp3_includes_stays_on_io2_that_was_another_type(
    owner: Configuration, days: float, kept: bool
) -> None:
    """No raise leads back to gp3, which has it for nothing; what the owner bought as io2 is given back."""
    calm = observation(
        activity([100.0] * 60), volume(IO2), history=history(lambda _: 100.0, days=days)
    )
    stand = resource_state(owner_configuration=owner)
    decision = decide(decision_input(calm, stand=stand, rules=policy(mode=Mode.AUTO)))
    assert isinstance(decision.answer, Act) is not kept


@pytest.mark.parametrize(
    ("configuration", "objective_ms", "promised"),
    [(gp3(400), 5.0, True), (gp3(400), 0.4, False), (replace(IO2, iops=400), 5.0, False)],
)
def test_a_faster_type_is_promised_only_where_there_is_one(
    configuration: Configuration, objective_ms: float, promised: bool
) -> None:
    answer = decided(slow(configuration), latency_objective_ms=objective_ms).answer
    assert isinstance(answer, Escalate)
    assert ("is proposed once" in answer.remedy) is promised
    assert ("knows no faster type" in answer.remedy) is not promised


def test_io2_is_not_bought_for_less_than_what_it_is_designed_for() -> None:
    """It averages just below half a millisecond: nothing faster is for sale, and io2 stays for good."""
    limits = {"price_increase_usd": 1_000, "one_way": OneWay.ALLOW}
    assert isinstance(decided(slow_for_days(), latency_objective_ms=0.5, **limits).answer, Act)
    impossible = decided(slow_for_days(), latency_objective_ms=0.4, **limits)
    assert isinstance(impossible.answer, Escalate)
    assert "Headroom knows no faster type" in impossible.answer.remedy


def test_nothing_is_bought_for_a_volume_that_completes_no_io() -> None:
    stalled_for_days = replace(slow_for_days(), activity=slow(stalled=True).activity)
    stalled = decided(stalled_for_days, latency_objective_ms=5.0, one_way=OneWay.ALLOW)
    assert stalled.diagnosis.binding is Binding.LATENCY
    assert "stalled" in stalled.diagnosis.explanation
    assert isinstance(stalled.answer, Escalate)
    assert all(j.plan.target.volume_type is not VolumeType.IO2 for j in stalled.judgements)


APPLIED = NOW - timedelta(hours=2)


@pytest.mark.parametrize(
    ("load", "state", "found"),
    [
        ({"latency_ms": 4.0}, "completed", Relieved),
        ({"latency_ms": 9.0}, "completed", Ineffective),
        ({"latency_ms": [9.0] * 100 + [4.0] * 80}, "completed", Relieved),  # before it was made
        ({"latency_ms": 9.0}, "optimizing", Pending),
        ({"latency_ms": 9.0}, "failed", FailedAtAws),
        ({"latency_ms": 9.0, "iops": 5.0}, "completed", Untested),  # too little to tell
        ({"latency_ms": 9.0, "iops_check": 1.0}, "completed", Untested),  # it is at its limit
    ],
)
def test_a_type_that_was_bought_for_its_latency_is_judged_by_it(
    load: dict[str, Any], state: str, found: type
) -> None:
    objective = {"latency_objective_ms": 5.0, "price_increase_usd": 1_000}
    answer = decided(slow_for_days(), **objective).answer
    assert isinstance(answer, Act)
    assert answer.reason is Reason.HIGH_LATENCY
    made = modification(
        answer.plan.target, origin=answer.plan.origin, state=ModificationState(state),
        started_at=APPLIED, ended_at=NOW - timedelta(minutes=70),
    )  # fmt: skip
    rate = load.get("iops", 300.0)
    seen = observation(
        activity([rate] * 180, queue=1.0, **{k: v for k, v in load.items() if k != "iops"}),
        volume(answer.plan.target), modification=made,
    )  # fmt: skip
    said = assess_latency(seen, answer.plan, APPLIED, 5.0)
    assert isinstance(said, found)
    if isinstance(said, Ineffective):
        assert said.cause == "operations take 9.00 ms, the owner's objective is 5"
