"""What the guardrails of giving back say, and when what they hold clears."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import Act, Decision, Escalate, Hold, Reason, decide
from headroom.domain.guardrails import Case, Guardrail, Verdict, judge
from headroom.domain.guardrails.giving_back import give_back_slot
from headroom.domain.ledger import after_decided
from headroom.domain.planning import CALM_MINUTES, Plan
from headroom.domain.policy import Limits, Mode
from headroom.domain.resources import Configuration, Database, Engine, Kind, VolumeType
from headroom.domain.state import WINDOW, KnownModification, LoadProfile, StoredState
from tests.builders import (
    NOW,
    activity,
    database_policy,
    decision_input,
    gp2,
    gp3,
    io,
    observation,
    policy,
    ref,
    resource_state,
    starved_gp3,
    volume,
)
from tests.domain.earlier import history, hour_at

LOW, HIGH = gp3(400, 3_000, 125), gp3(400, 12_000, 500)
OF_ANOTHER_TYPE = Configuration(
    volume_type=VolumeType.IO1, size_gib=400, iops=12_000, throughput_mibps=None
)
FOUR = (
    Guardrail.GIVE_BACK, Guardrail.GIVE_BACK_DATA, Guardrail.GIVE_BACK_STABILIZATION,
    Guardrail.GIVE_BACK_SLOT,
)  # fmt: skip


def idle(configuration: Configuration = HIGH, *, days: float = 5.2, starts: tuple[float, ...] = (),
         balance: float | None = None, **limits: object) -> Decision:  # fmt: skip
    """A volume that does next to nothing; `starts` are hours since its modifications."""
    seen = observation(
        activity([300.0] * 180, balance=balance), volume(configuration),
        history=history(lambda _: 300.0, days=days) if days else None,
    )  # fmt: skip
    known = tuple(
        KnownModification(started_at=NOW - timedelta(hours=h), by="other")
        for h in sorted(starts, reverse=True)
    )
    return decide(
        decision_input(seen, stand=resource_state(modifications=known), rules=policy(**limits))
    )


def said(decision: Decision, target: Configuration = LOW) -> dict[Guardrail, Verdict]:
    judged = next(j for j in decision.judgements if j.plan.target == target)
    return {v.guardrail: v for v in judged.verdicts}


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"max_iops": 8_000}, "and only a person can set more than max_iops (8,000) again: gp3"),
        (
            {"max_iops": 8_000, "max_throughput_mibps": 400},
            "can set more than max_iops (8,000) and max_throughput_mibps (400) again: gp3",
        ),
        ({}, "less is enough for the coming day: gp3"),
    ],
)
def test_what_headroom_can_not_raise_to_again_is_named_when_it_is_lowered(
    limits: dict[str, int], says: str
) -> None:
    decision = idle(days=9.0, **limits)
    assert isinstance(decision.answer, Act)
    assert says in decision.summary


def test_each_says_with_its_numbers_why_a_lowering_may_be() -> None:
    verdicts = said(idle())
    assert [verdicts[name].allows for name in FOUR] == [True] * 4
    assert verdicts[Guardrail.GIVE_BACK_DATA].value == pytest.approx(5.2, abs=1 / 24)
    assert verdicts[Guardrail.GIVE_BACK_STABILIZATION].value == 180
    assert verdicts[Guardrail.GIVE_BACK_SLOT].value == 2
    assert {verdicts[name].clears_at for name in FOUR} == {None}


def test_a_plan_that_lowers_nothing_is_let_through_by_all_of_them() -> None:
    """However little is known, whatever was touched, whoever used the slots."""
    decision = decide(decision_input(starved_gp3(), rules=policy(give_back=False)))
    for judged in decision.judgements:
        assert not judged.plan.lowers
        blocking = {v.guardrail for v in judged.blocking}
        assert not blocking & set(FOUR)


def test_what_a_burst_reaches_counts_as_performance_only_while_it_is_not_about_to_end() -> None:
    """gp2 of 200 GiB: 600 IOPS sustained, 3,000 in a burst; 128 MiB/s sustained, 250 in a burst."""
    calm = idle(gp2(200), balance=100.0, give_back=False)
    for judged in calm.judgements:
        assert judged.plan.gives_back(draining=False) == (
            judged.plan.capability.burst_mibps < 250 or judged.plan.capability.burst_iops < 3_000
        )
        assert not (judged.allowed and judged.plan.lowers)
    load = activity([2_500.0] * 60, balance=[60.0 - 0.2 * i for i in range(60)])
    draining = decide(
        decision_input(observation(load, volume(gp2(200))), rules=policy(give_back=False))
    )
    gp3_plans = [j for j in draining.judgements if not j.plan.gives_back(draining=True)]
    assert any(j.allowed for j in gp3_plans)


IO1, IO2 = VolumeType.IO1, VolumeType.IO2


@pytest.mark.parametrize(
    "origin", [io(IO1, 1_000, 20_000), io(IO2, 1_000, 40_000), gp3(1_000, 20_000, 1_000)]
)
def test_what_is_above_the_ceilings_is_lowered(origin: Configuration) -> None:
    """20,000 and 40,000 IOPS under `max_iops: 16000`, of which 2,600 are used."""
    earlier = history(lambda _: 2_600.0, days=14)
    seen = observation(activity([2_600.0] * 180), volume(origin), history=earlier)
    answer = decide(decision_input(seen, rules=policy())).answer
    assert isinstance(answer, Act)
    assert answer.plan.price_change_usd < -100
    assert capability(answer.plan.target).sustained_iops < 5_000


@pytest.mark.parametrize(
    ("used_mibps", "exempt"), [(50, True), (110, True), (120, True), (200, False)]
)
def test_more_iops_for_no_more_money_need_no_history_unless_the_load_uses_what_they_cost(
    used_mibps: float, exempt: bool
) -> None:
    """gp2 of 300 GiB has 250 MiB/s in a burst; plain gp3 of the same price has 125."""
    origin = replace(gp2(300), database=Database(engine=Engine.POSTGRESQL))
    target = replace(gp3(300), iops=None, throughput_mibps=None, database=origin.database)
    kib = used_mibps * 1024 / 900
    load = activity([900.0] * 60, queue=[50.0] * 60, io_kib=kib, balance=0.0)
    seen = observation(load, replace(volume(origin), ref=replace(ref("orders"), kind=Kind.RDS)))
    found = replace(
        decision_input(seen, rules=database_policy(mode=Mode.AUTO)), extra_target=target
    )
    verdicts = said(decide(found), target)
    assert verdicts[Guardrail.GIVE_BACK_DATA].allows is exempt


def test_a_volume_gives_up_no_throughput_before_its_load_is_known() -> None:
    """gp3 sells what gp2 of 400 GiB has in a burst for $5; half a day of 50 MiB/s proves nothing."""
    load = activity([900.0] * 60, queue=[50.0] * 60, io_kib=16.0, balance=0.0)
    seen = observation(load, volume(gp2(400)))
    found = decision_input(seen, rules=policy(mode=Mode.AUTO))
    blocked, kept = (
        said(decide(replace(found, extra_target=target)), target)[Guardrail.GIVE_BACK_DATA]
        for target in (gp3(400), gp3(400, 3_000, 250))
    )
    assert (blocked.allows, kept.allows) == (False, True)


@pytest.mark.parametrize(
    ("starts", "reserve", "left", "clears_with"),
    [
        ((), 1, 2, None),
        ((3,), 1, 1, None),
        ((3, 9), 1, 0, 9),
        ((3, 9, 20), 1, -1, 9),  # the oldest alone would still leave none
        ((3, 9, 20, 22), 1, -2, 9),
        ((3, 9, 20), 0, 0, 20),
        ((3, 9, 26), 1, 0, 9),  # a day old: it counts no more
        ((3,), 2, 0, 3),
    ],
)
def test_a_slot_for_the_next_raise_clears_when_enough_of_the_oldest_are_a_day_old(
    starts: tuple[float, ...], reserve: int, left: int, clears_with: float | None
) -> None:
    verdict = said(idle(starts=starts, slots_reserve=reserve))[Guardrail.GIVE_BACK_SLOT]
    assert verdict.value == left
    assert verdict.allows == (left >= 1)
    if clears_with is None:
        assert verdict.clears_at is None
        return
    assert verdict.clears_at == NOW - timedelta(hours=clears_with) + WINDOW
    later = [s for s in starts if s < clears_with]
    assert said(idle(starts=tuple(later), slots_reserve=reserve))[Guardrail.GIVE_BACK_SLOT].allows


@pytest.mark.parametrize(
    ("starts", "busy", "days", "may"),
    [
        ((6, 20), 18, 7, True),  # one is free from 16:00 on
        ((6, 20), 11, 7, True),
        ((6, 20), 12, 7, False),  # load comes in this very hour
        ((6, 20), 16, 7, False),  # and in that in which it is free again
        ((6, 20), 18, 6, False),  # too little was measured
        ((6, 11), 3, 7, False),  # load that was never seen may lose more than is saved by then
        ((6, 11), 3, 30, True),
        ((0.2, 1), 3, 60, False),  # every hour of the day is before it
        ((6, 9, 20), 18, 7, False),  # none but the last may be used
    ],
)
def test_the_last_slot_may_be_used_where_no_load_comes_before_the_next_is_free(
    starts: tuple[float, ...], busy: int, days: int, may: bool
) -> None:
    first = NOW - timedelta(days=days)
    hours = [(first + timedelta(hours=h)).hour for h in range(24 * days)]
    loads = [hour_at(9_000.0 if hour == busy else 300.0) for hour in hours]
    profile = LoadProfile(start=first, hours=tuple(loads))
    decision = idle(starts=starts)
    judged = next(j for j in decision.judgements if j.plan.target == LOW)
    assert give_back_slot(case_of(decision, judged.plan)).allows is False
    seen = replace(decision, resource_state=replace(decision.resource_state, profile=profile))
    assert give_back_slot(case_of(seen, judged.plan)).allows is may


def case_of(decision: Decision, plan: Plan) -> Case:
    assert decision.demand is not None
    assert decision.diagnosis is not None
    return Case(
        plan=plan, observation=decision.observation, demand=decision.demand,
        diagnosis=decision.diagnosis, resource_state=decision.resource_state, policy=policy(),
        effective=decision.effective, known_days=5.0,
    )  # fmt: skip


def test_with_three_slots_kept_for_people_nothing_is_ever_lowered() -> None:
    verdict = said(idle(slots_reserve=3))[Guardrail.GIVE_BACK_SLOT]
    assert not verdict.allows
    assert not verdict.temporary
    assert verdict.clears_at is None


@pytest.mark.parametrize(("days", "least"), [(0.3, 1.0), (5.2, 7.0), (1.0, 1.0), (5.2, 0.0)])
def test_missing_days_say_when_they_will_have_been_measured(days: float, least: float) -> None:
    verdict = said(idle(days=days, give_back_after_days=least))[Guardrail.GIVE_BACK_DATA]
    assert verdict.allows == (days >= least)
    if verdict.allows:
        assert verdict.clears_at is None
    else:
        assert verdict.clears_at is not None
        missing = verdict.clears_at - NOW
        assert missing == pytest.approx(timedelta(days=least - days), abs=timedelta(hours=1))


@pytest.mark.parametrize(
    ("worth", "said", "kind", "least"),
    [
        (0.1, None, Kind.EBS, 1.0), (0.011, None, Kind.EBS, 1.0), (0.01, None, Kind.EBS, 0.25),
        (0.0, None, Kind.EBS, 0.25), (0.01, None, Kind.RDS, 1.0), (0.01, 1.0, Kind.EBS, 1.0),
        (0.01, 7.0, Kind.EBS, 7.0), (1.0, 0.0, Kind.EBS, 0.0), (0.01, 0.1, Kind.RDS, 0.1),
    ],
)  # fmt: skip
def test_a_volume_whose_minute_is_worth_a_cent_waits_for_six_hours_where_nothing_is_said(
    worth: float, said: float | None, kind: Kind, least: float
) -> None:
    limits = Limits(relief_value_usd_per_minute=worth, give_back_after_days=said)
    assert limits.least_days(kind) == least


@pytest.mark.parametrize(
    ("days", "worth", "gives_back"),
    [(0.2, 0.01, False), (0.26, 0.01, True), (0.26, 0.1, False), (1.0, 0.1, True)],
)
def test_six_measured_hours_are_enough_at_a_cent_a_minute(
    days: float, worth: float, gives_back: bool
) -> None:
    decided = idle(days=days, give_back_after_days=None, relief_value_usd_per_minute=worth)
    assert said(decided)[Guardrail.GIVE_BACK_DATA].allows is gives_back


@pytest.mark.parametrize(
    ("origin", "enough"),
    [(LOW, False), (OF_ANOTHER_TYPE, True)],
)
def test_what_was_raised_is_kept_for_the_day_at_a_cent_a_minute_too(
    origin: Configuration, enough: bool
) -> None:
    """Short spikes every hour: raised for, given back after six hours, and raised for again."""
    ours = KnownModification(
        started_at=NOW - timedelta(hours=8), by="headroom", origin=origin, target=HIGH
    )
    seen = observation(
        activity([300.0] * 180), volume(HIGH), history=history(lambda _: 300.0, days=0.5)
    )
    stand = resource_state(modifications=(ours,))
    decided = decide(
        decision_input(seen, stand=stand, rules=policy(relief_value_usd_per_minute=0.01))
    )
    assert said(decided)[Guardrail.GIVE_BACK_DATA].allows is enough


def test_days_count_only_as_far_as_they_were_measured() -> None:
    seen = observation(activity([300.0] * 180), volume(HIGH))
    half = history(lambda at: 300.0 if at.hour < 12 else None, days=4)
    verdict = said(decide(decision_input(replace(seen, history=half))))[Guardrail.GIVE_BACK_DATA]
    assert verdict.value == pytest.approx(2.0, abs=0.01)


@pytest.mark.parametrize(
    ("decision", "reason", "words"),
    [
        (idle(), Reason.SCALING_DOWN, "less is enough for the coming day: gp3 400 GiB 12000 IOPS"),
        (
            idle(gp2(1_000), days=0),
            Reason.CHEAPER_EQUIVALENT,
            "another type does the same for less",
        ),
    ],
)
def test_the_summary_says_why_something_is_changed_that_nothing_presses(
    decision: Decision, reason: Reason, words: str
) -> None:
    assert decision.answer.reason is reason
    assert words in decision.summary


@pytest.mark.parametrize("clear", [0, 29, 30, 31])
def test_a_lowering_is_judged_by_how_long_no_limit_was_touched(clear: int) -> None:
    """The planner has none of them ready so soon; the guardrail would hold it all the same."""
    decision = idle()
    (plan,) = (j.plan for j in decision.judgements if j.plan.target == LOW)
    case = Case(
        plan=plan, observation=decision.observation,
        demand=replace(decision.demand, clear_minutes=clear), diagnosis=decision.diagnosis,
        resource_state=decision.resource_state, policy=policy(), effective=decision.effective, known_days=5.0,
    )  # fmt: skip
    calm = next(v for v in judge(case).verdicts if v.guardrail is Guardrail.GIVE_BACK_STABILIZATION)
    assert (calm.value, calm.limit) == (clear, CALM_MINUTES)
    assert calm.allows == (clear >= CALM_MINUTES)


@pytest.mark.parametrize(
    ("forbids", "says"),
    [
        ({"multi_attach": True}, "multi_attach: "),
        ({"managed_by": "eks.amazonaws.com"}, "managed_elsewhere: eks.amazonaws.com"),
        ({}, None),
    ],
)
def test_what_may_never_be_given_back_is_reported_with_its_price_and_once(
    forbids: dict[str, object], says: str | None
) -> None:
    seen = observation(activity([300.0] * 180), volume(HIGH, **forbids))
    seen = replace(seen, history=history(lambda _: 300.0, days=5.2))
    state = resource_state(
        enrolment_usd=Decimal(32), resource_increase_usd=Decimal(60),
        account_increase_usd=Decimal(60), last_act_at=NOW - timedelta(days=2),
    )  # fmt: skip
    first = decide(decision_input(seen, stand=state))
    if says is None:
        assert isinstance(first.answer, Act)
        return
    assert isinstance(first.answer, Escalate), first.summary
    assert first.answer.cause == "kept_from_giving_back (forbidden)"
    assert "would now give back what costs $60.00 a month" in first.answer.remedy
    assert says in first.answer.remedy
    after = after_decided(StoredState(), first, None)
    told = replace(state, escalated_causes=after.escalated_causes)
    again = decide(decision_input(replace(seen, at=NOW), stand=told))
    assert isinstance(again.answer, Hold)
    assert after_decided(after, again, None).escalated_causes == after.escalated_causes
    lately = replace(state, last_act_at=NOW - timedelta(hours=20))
    assert isinstance(decide(decision_input(seen, stand=lately)).answer, Hold)
