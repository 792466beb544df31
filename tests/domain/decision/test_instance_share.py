"""A volume is raised to what its instance leaves once the raises of others take what they were made for."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import Act, Decision, Escalate, Hold, decide
from headroom.domain.guardrails import Guardrail, Verdict, asks_too_much, more_than_left
from headroom.domain.planning import Plan
from headroom.domain.resources import Configuration, VolumeType
from headroom.domain.state import ConcurrencyState, InFlight
from headroom.domain.workload import Binding
from tests.builders import (
    NOW,
    activity,
    decision_input,
    gp2,
    gp3,
    instance,
    instance_activity,
    io,
    observation,
    policy,
    ref,
    resource_state,
    series,
    starved_gp3,
    volume,
)
from tests.domain.earlier import history

BESIDE = 3_000.0


def decided(
    promised: int, *, sustains: int = 18_750, known: bool = True, ahead: bool = False,
    pressed: int = 30, **limits: object,
) -> Decision:  # fmt: skip
    """About vol-1, starving at 3,000 IOPS, beside a volume that takes 3,000 and was raised by so many."""
    machine = instance(baseline_iops=sustains, maximum_iops=sustains, volumes=("vol-2",))
    seen = starved_gp3(
        instance=machine if known else replace(machine, limits=None),
        instance_activity=instance_activity(
            [1_500.0 + BESIDE] * 30 + [3_000.0 + BESIDE] * pressed, [20.0] * (30 + pressed)
        ),
    )
    if pressed != 30:
        load = activity(
            [1_500.0] * 30 + [3_000.0] * pressed, queue=[1.0] * 30 + [900.0] * pressed,
            iops_check=[0.0] * 30 + [1.0] * pressed,
        )  # fmt: skip
        seen = replace(seen, activity=load)
    beside = InFlight(
        resource=ref("vol-2").arn, decision_id="d2", since=NOW - timedelta(minutes=20), zone="a",
        adds_iops=promised, instance_iops=6_000, ahead=ahead,
    )  # fmt: skip
    stand = resource_state(concurrency=ConcurrencyState(in_flight=(beside,) if promised else ()))
    return decide(decision_input(seen, stand=stand, rules=policy(**limits) if limits else None))


def on_the_instance(decision: Decision) -> Verdict:
    (judged,) = [j for j in decision.judgements if j.plan == decision.plan]
    return next(v for v in judged.verdicts if v.guardrail is Guardrail.INSTANCE_LIMIT)


def target(decision: Decision) -> Configuration:
    assert decision.plan is not None
    return decision.plan.target


def test_a_plan_is_cut_to_what_another_raise_leaves() -> None:
    alone, beside = decided(0), decided(9_000)
    assert isinstance(alone.answer, Act)
    assert isinstance(beside.answer, Act)
    assert (target(alone).iops, target(beside).iops) == (12_000, 6_750)
    assert alone.diagnosis.promised is None
    assert beside.diagnosis.instance_iops_left == 6_750
    assert on_the_instance(beside).allows


def test_where_nothing_is_left_it_waits_and_says_how_much_others_may_take() -> None:
    held = decided(20_000)
    assert isinstance(held.answer, Hold)
    verdict = on_the_instance(held)
    assert (verdict.value, verdict.temporary, verdict.clears_at) == ("just promised", True, None)
    assert "of the 15,750 IOPS" in verdict.detail
    assert "may still take 15,750 and" in verdict.detail  # never more than there is
    assert target(decided(12_750)) == target(decided(12_700))  # hardly more is no reason to raise


@pytest.mark.parametrize(
    ("promised", "ahead", "raised_to"),
    [(9_000, False, 6_750), (11_000, False, 4_750), (12_000, False, None), (12_000, True, 3_750)],
)
def test_a_raise_of_less_than_half_waits_until_the_metrics_show_what_others_take(
    promised: int, ahead: bool, raised_to: int | None
) -> None:
    """Of 15,750 IOPS: AWS takes no other change for hours. Of a raise ahead of load they show it much later."""
    found = decided(promised, ahead=ahead)
    assert isinstance(found.answer, Hold if raised_to is None else Act)
    if raised_to is None:
        assert on_the_instance(found).value == "just promised"
    else:
        assert target(found).iops == raised_to


@pytest.mark.parametrize(
    ("sustains", "pressed", "waits"),
    [(18_750, 30, True), (200_000, 30, False), (18_750, 90, False)],
)
def test_a_raise_that_something_else_keeps_small_does_not_wait_nor_any_for_longer_than_an_hour(
    sustains: int, pressed: int, waits: bool
) -> None:
    """Here the owner's ceiling of 4,000 IOPS. Of 18,750 another volume may take 12,000."""
    answer = decided(12_000, sustains=sustains, pressed=pressed, max_iops=4_000).answer
    assert isinstance(answer, Hold if waits else Act)


def test_an_instance_without_known_limits_promises_nothing() -> None:
    unknown, before = decided(9_000, known=False), decided(0, known=False)
    assert unknown.diagnosis == before.diagnosis
    assert type(unknown.answer) is type(before.answer)
    assert unknown.plan == before.plan


def plan(origin: Configuration, to: Configuration, usd: int = 10) -> Plan:
    base = decided(0).plan
    assert base is not None
    return replace(
        base, origin=origin, target=to, capability=capability(to), price_change_usd=Decimal(usd)
    )


@pytest.mark.parametrize(
    ("origin", "to", "usd", "left", "too_much"),
    [
        (gp3(), gp3(iops=12_000), 10, 11_999, True),
        (gp3(), gp3(iops=12_000), 10, 11_999.5, False),  # AWS takes whole numbers
        (gp3(), gp3(iops=12_000), 10, None, False),
        (gp3(iops=6_000), gp3(iops=5_000), -5, 0, False),
        (gp2(400), gp3(400), -8, 2_000, False),  # 3,000 is the least of gp3
        (gp2(400), gp3(400), 8, 2_000, False),  # and part of it serves
        (gp2(400), gp3(400), 8, 1_200, True),
        (gp2(400), gp3(400, 4_000), -3, 2_000, True),
        (io(VolumeType.IO1, 400, 500), gp3(400), -20, 400, False),
        (gp3(mibps=125), gp3(iops=4_000, mibps=1_000), 30, 3_000, False),  # 4 IOPS for each MiB/s
    ],
)
def test_what_a_smaller_target_serves_as_well_is_too_much(
    origin: Configuration, to: Configuration, usd: int, left: float | None, too_much: bool
) -> None:
    assert asks_too_much(plan(origin, to, usd), observation(), (left, 2_000.0)) is too_much


@pytest.mark.parametrize(
    ("promised", "sustains", "smaller_is_enough"),
    [
        (0, 18_750, False),
        (0, 14_000, False),  # 11,000 are left: the others' load varies
        (0, 13_000, True),
        (9_000, 18_750, True),
        (15_000, 18_750, False),  # nothing useful is left: it waits
    ],
)
def test_a_target_fixed_earlier_is_compared_with_what_is_left_now(
    promised: int, sustains: int, smaller_is_enough: bool
) -> None:
    seen = decided(promised, sustains=sustains)
    why = more_than_left(plan(gp3(), gp3(iops=12_000)), seen.observation, seen.diagnosis)
    assert (why is not None) is smaller_is_enough
    if promised and why:
        assert "leaves it 6,750 IOPS" in why
    cheaper = plan(gp3(), gp3(iops=12_000), usd=0)
    assert more_than_left(cheaper, seen.observation, seen.diagnosis) is None


@pytest.mark.parametrize(
    ("check", "late", "acts"),
    [(0.0, 0, True), (0.0, 2, False), (1.0, 0, False), (None, 0, False)],
)
def test_more_than_the_instance_can_give_is_not_what_its_volumes_take_where_its_check_is_0(
    check: float | None, late: int, acts: bool
) -> None:
    """Metrics of a volume that several instances share are those of all of them. Checks may come later."""
    machine = instance(baseline_iops=20_000, maximum_iops=20_000, volumes=("vol-shared",))
    beside = instance_activity([23_000.0] * 60, [300.0] * 60, iops_check=check or 0.0)
    if check is None:
        silent = series([None] * 60)
        beside = replace(beside, iops_exceeded=silent, throughput_exceeded=silent)
    if late:
        known = series([0.0] * (60 - late) + [None] * late)
        beside = replace(beside, iops_exceeded=known, throughput_exceeded=known)
    answer = decide(decision_input(starved_gp3(instance=machine, instance_activity=beside))).answer
    assert isinstance(answer, Act) is acts


@pytest.mark.parametrize(
    ("beside", "left"),
    [
        ([20_000.0] * 60, 3_600),  # of a volume that several instances share
        ([20_000.0] * 52 + [3_500.0] * 8, 3_100),  # a larger instance, until 8 minutes ago
        ([3_500.0] * 52 + [20_000.0] * 8, 3_100),  # a volume that moved here, 8 minutes ago
        ([3_500.0] * 60, 3_100),
    ],
)
def test_what_was_not_taken_here_never_makes_the_instance_larger_than_it_is(
    beside: list[float], left: int
) -> None:
    """It once left no limit at all: volumes were raised to four times what their instance sustains."""
    machine = instance(baseline_iops=3_600, maximum_iops=3_600, volumes=("vol-b",))
    totals = [max(at, 3_000.0) for at in beside]
    decision = decide(
        decision_input(
            observation(
                activity([3_000.0] * 60, queue=[900.0] * 60, iops_check=[1.0] * 60),
                instance=machine, instance_activity=instance_activity(totals, [60.0] * 60),
            )
        )
    )  # fmt: skip
    assert decision.diagnosis.instance_iops_left == left
    if isinstance(decision.answer, Act):
        assert capability(decision.answer.plan.target).sustained_iops <= left


@pytest.mark.parametrize(
    ("iops", "wait_ms", "held"),
    [(20.0, 1.0, False), (20.0, 3.0, False), (3_900.0, 1.0, True), (800.0, 9.0, True)],
)
def test_an_instance_that_others_use_up_is_no_limit_of_a_volume_that_takes_less_than_its_share(
    iops: float, wait_ms: float, held: bool
) -> None:
    """Else nothing that was added to it is given back, and a message says to use a larger instance.

    Operations that usually take 1 ms and now 9 are known to wait.
    """
    machine = instance(
        baseline_iops=12_000, maximum_iops=12_000, volumes=("vol-2", "vol-3", "vol-4")
    )
    seen = observation(
        activity([iops] * 180, iops_check=0.0, queue=iops * wait_ms / 1_000),
        volume(gp3(iops=6_000)), instance=machine, history=history(lambda _: 800.0, days=7),
        instance_activity=instance_activity([12_000.0] * 180, [190.0] * 180, iops_check=1.0),
    )  # fmt: skip
    stand = resource_state(resource_increase_usd=Decimal(15), account_increase_usd=Decimal(15))
    decision = decide(decision_input(seen, stand=stand))
    assert (decision.diagnosis.binding is Binding.INSTANCE_IOPS) is held
    if held:
        assert isinstance(decision.answer, Escalate)
        assert "what Headroom added costs $15.00 a month" in decision.answer.remedy


@pytest.mark.parametrize(
    ("others", "balance", "said"),
    [
        (("vol-2",), 55.0, "with half of its EBS balance kept for its other volumes, the instance gives"),
        ((), 6.0, "the instance gives, with its bursts,"),
    ],
)  # fmt: skip
def test_what_an_instance_gives_is_said_with_what_is_kept_of_it(
    others: tuple[str, ...], balance: float, said: str
) -> None:
    machine = instance(baseline_iops=2_000, maximum_iops=18_750, volumes=others)
    load = instance_activity([1_500.0] * 30 + [3_000.0] * 30, [20.0] * 60)
    full, left = (series([share] * 3, period_s=300) for share in (100.0, balance))
    activity_ = replace(load, io_balance_percent=left, byte_balance_percent=full)
    diagnosis = decide(
        decision_input(starved_gp3(instance=machine, instance_activity=activity_))
    ).diagnosis
    assert diagnosis.binding is Binding.INSTANCE_IOPS
    assert diagnosis.explanation.startswith(said)
