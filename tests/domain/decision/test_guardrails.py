from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import cache

import pytest

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import Act, Escalate, decide
from headroom.domain.guardrails import (
    CLUSTER_GUARDRAILS,
    GUARDRAILS,
    Case,
    Guardrail,
    Relation,
    Verdict,
    judge,
)
from headroom.domain.guardrails import registry as guardrails
from headroom.domain.planning import Plan
from headroom.domain.policy import Mode, limits_for
from headroom.domain.resources import Configuration, ModificationState, VolumeType
from headroom.domain.state import QUIET_AFTER_ROLLBACK, KnownModification, RolledBack
from headroom.domain.workload import Binding
from tests.builders import (
    NOW,
    decision_input,
    gp2,
    gp3,
    instance,
    io,
    modification,
    policy,
    resource_state,
    starved_gp3,
    volume,
)


@cache
def allowed_case() -> Case:
    """A case that every guardrail allows."""
    made = decision_input()
    decision = decide(made)
    plan = next(j.plan for j in decision.judgements if j.allowed)
    return Case(
        plan=plan,
        observation=made.observation,
        demand=decision.demand,
        diagnosis=decision.diagnosis,
        resource_state=made.resource_state,
        policy=policy(),
        effective=decision.effective,
    )


def case(**changes: object) -> Case:
    return replace(allowed_case(), **changes)  # type: ignore[arg-type]


def with_plan(**changes: object) -> Case:
    base = case()
    return replace(base, plan=replace(base.plan, **changes))  # type: ignore[arg-type]


def with_limits(**limits: object) -> Case:
    rules = policy(**{"mode": Mode.AUTO, **limits})
    return case(policy=rules, effective=limits_for(rules, volume()))


def verdict(of: Case, guardrail: Guardrail) -> Verdict:
    return next(v for v in judge(of).verdicts if v.guardrail is guardrail)


def starts(*hours: float) -> tuple[KnownModification, ...]:
    return tuple(KnownModification(started_at=NOW - timedelta(hours=h), by="other") for h in hours)


def undone(ago: timedelta) -> RolledBack:
    at = NOW - ago
    return RolledBack(decision_id="d0", at=at, until=at + QUIET_AFTER_ROLLBACK)


@pytest.mark.parametrize(
    ("origin", "target", "blocked"),
    [
        (gp3(1_000, 40_000, 1_500), gp3(1_000, 30_000, 1_200), set()),
        (io(VolumeType.IO1, 1_000, 40_000), gp3(1_000, 40_000, 600), set()),
        (gp3(1_000, 40_000, 500), gp3(1_000, 40_001, 500), {Guardrail.MAX_IOPS}),
        (gp3(1_000, 40_000, 1_100), gp3(1_000, 30_000, 1_101), {Guardrail.MAX_THROUGHPUT}),
        (gp3(1_000, 40_000, 500), gp3(1_000, 40_000, 900), set()),
        (gp3(1_000, 10_000, 500), gp3(1_000, 16_001, 500), {Guardrail.MAX_IOPS}),
    ],
)
def test_a_ceiling_blocks_what_is_raised_above_it_and_not_what_stays_above_it(
    origin: Configuration, target: Configuration, blocked: set[Guardrail]
) -> None:
    judged = judge(with_plan(origin=origin, target=target, capability=capability(target)))
    ceilings = {Guardrail.MAX_IOPS, Guardrail.MAX_THROUGHPUT, Guardrail.LARGEST_STEP}
    assert {v.guardrail for v in judged.blocking} & ceilings == blocked


def test_a_plan_within_every_limit_is_allowed() -> None:
    assert judge(case()).allowed


def test_guardrails_about_the_resource_answer_without_any_plan() -> None:
    rules = dict(GUARDRAILS)
    no_plan = replace(case(), plan=None)  # type: ignore[arg-type]
    for name in guardrails.ABOUT_THE_RESOURCE:
        assert rules[name](no_plan) == rules[name](case())


def test_plans_judged_together_are_judged_as_each_alone() -> None:
    target = case().plan.target
    cases = (case(), *(with_plan(target=replace(target, iops=n)) for n in (3_000, 90_000)))
    assert guardrails.judge_all(cases) == tuple(map(judge, cases))


def test_every_guardrail_there_is_answers_on_every_plan() -> None:
    assert [v.guardrail for v in judge(case()).verdicts] == [g for g, _ in GUARDRAILS]
    assert {g for g, _ in (*GUARDRAILS, *CLUSTER_GUARDRAILS)} == set(Guardrail)


@pytest.mark.parametrize(
    ("blocked", "guardrail"),
    [
        (case(effective=limits_for(policy(), volume(tags=(("headroom", "on"),)))), Guardrail.POLICY),
        (case(resource_state=resource_state(paused_until=NOW + timedelta(hours=1))), Guardrail.PAUSE),
        (case(effective=limits_for(policy(), volume(tags=()))), Guardrail.MODE),
        (case(effective=limits_for(policy(), volume(tags=(("headroom", "approve"),)))), None),
        (case(resource_state=resource_state(rolled_back=undone(ago=timedelta(hours=23)))),
         Guardrail.ROLLED_BACK),
        (case(resource_state=resource_state(rolled_back=undone(ago=timedelta(hours=24)))), None),
        (case(approved_usd=Decimal("0.01")), Guardrail.APPROVAL),
        (with_limits(types=(VolumeType.IO2,)), None),
        (with_plan(target=gp2(400)), Guardrail.TYPES),
        (with_plan(target=gp3(100, 3000, 900)), Guardrail.VALID),
        (with_plan(target=gp3(99, 6000, 250)), Guardrail.NEVER_SHRINK),
        (with_plan(target=gp3(101, 6000, 250)), Guardrail.GROWTH),
        (with_limits(max_iops=4000), Guardrail.MAX_IOPS),
        (replace(with_plan(target=gp3(100, 6000, 250)),
                 effective=with_limits(max_throughput_mibps=125).effective),
         Guardrail.MAX_THROUGHPUT),
        (with_limits(largest_step=1.1), Guardrail.LARGEST_STEP),
        (with_limits(price_increase_usd=Decimal("0.01")), Guardrail.PRICE_PER_RESOURCE),
        (case(policy=replace(policy(), account_increase_usd=Decimal("0.01"))),
         Guardrail.PRICE_PER_ACCOUNT),
        (case(resource_state=resource_state(account_increase_usd=Decimal("1999.99"))),
         Guardrail.PRICE_PER_ACCOUNT),
        (case(resource_state=resource_state(modifications=starts(1, 2, 3))), Guardrail.SLOTS),
        (with_limits(slots_reserve=4), Guardrail.SLOTS),
        (with_limits(cooldown_minutes=60), None),
        (replace(with_limits(cooldown_minutes=60),
                 resource_state=resource_state(last_act_at=NOW - timedelta(minutes=59))), Guardrail.COOLDOWN),
        (case(resource_state=resource_state(failures_in_a_row=5, last_refusal_at=NOW)), Guardrail.FAILURES),
        (with_plan(value_usd_per_day=-0.01), Guardrail.COST_BENEFIT),
    ],
)  # fmt: skip
def test_each_limit_blocks_by_itself(blocked: Case, guardrail: Guardrail | None) -> None:
    blocking = {v.guardrail for v in judge(blocked).blocking}
    assert (guardrail in blocking) if guardrail else not blocking


@pytest.mark.parametrize(
    ("changes", "guardrail"),
    [
        ({"managed_by": "eks.amazonaws.com"}, Guardrail.MANAGED_ELSEWHERE),
        ({"on_outpost": True}, Guardrail.MANAGED_ELSEWHERE),
        ({"multi_attach": True}, Guardrail.MULTI_ATTACH),
        ({"instance_ids": ("i-1", "i-2")}, Guardrail.MULTI_ATTACH),
    ],
)
def test_a_volume_that_is_not_only_ours_is_left_alone(
    changes: dict[str, object], guardrail: Guardrail
) -> None:
    base = case()
    other = replace(base, observation=replace(base.observation, volume=volume(**changes)))
    assert guardrail in {v.guardrail for v in judge(other).blocking}


@pytest.mark.parametrize("state", [ModificationState.MODIFYING, ModificationState.OPTIMIZING])
def test_a_change_in_flight_blocks(state: ModificationState) -> None:
    base = case()
    busy = replace(base.observation, modification=modification(gp3(), state=state))
    assert not verdict(replace(base, observation=busy), Guardrail.IN_FLIGHT).allows


@pytest.mark.parametrize(
    ("hours", "reserve", "clears_in_hours"),
    [((20, 15, 10, 5), 1, 9), ((20, 15, 10), 1, 4), ((20, 15, 10, 5), 0, 4), ((3, 2), 2, 21)],
)
def test_slots_clear_when_used_plus_reserve_leaves_room(
    hours: tuple[float, ...], reserve: int, clears_in_hours: float
) -> None:
    held = replace(
        with_limits(slots_reserve=reserve),
        resource_state=resource_state(modifications=starts(*hours)),
    )
    result = verdict(held, Guardrail.SLOTS)
    assert not result.allows
    assert result.clears_at == NOW + timedelta(hours=clears_in_hours)
    later = replace(held, observation=replace(held.observation, at=result.clears_at))
    assert verdict(later, Guardrail.SLOTS).allows


def test_modifications_older_than_a_day_use_no_slot() -> None:
    assert verdict(
        case(resource_state=resource_state(modifications=starts(25, 30, 40, 24))), Guardrail.SLOTS
    ).allows


def test_data_never_moves_to_a_less_durable_type() -> None:
    starved = starved_gp3(vol=volume(io(VolumeType.IO2, 100, 3000)))
    decision = decide(decision_input(starved, rules=policy(relief_value_usd_per_minute=1.0)))
    to_gp3 = [j for j in decision.judgements if j.plan.target.volume_type is VolumeType.GP3]
    assert to_gp3
    assert all(Guardrail.DURABILITY in {v.guardrail for v in j.blocking} for j in to_gp3)
    assert isinstance(decision.answer, Act)
    assert decision.answer.plan.target.volume_type is VolumeType.IO2


def test_a_rule_that_raises_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Case) -> Verdict:
        raise ZeroDivisionError("no limit")

    sound = case()
    monkeypatch.setattr(guardrails, "GUARDRAILS", ((Guardrail.MAX_IOPS, broken),))
    result = judge(sound)
    assert not result.allowed
    assert result.verdicts[0].relation is Relation.FAILED
    assert "ZeroDivisionError" in result.verdicts[0].detail


def test_numbers_that_cannot_be_compared_block() -> None:
    result = verdict(with_limits(max_iops="many"), Guardrail.MAX_IOPS)
    assert result.relation is Relation.FAILED
    assert not result.allows


def test_giving_money_back_is_never_blocked_by_money() -> None:
    over = resource_state(
        enrolment_usd=Decimal(100),
        resource_increase_usd=Decimal(50),
        account_increase_usd=Decimal(9999),
    )
    base = case(resource_state=over)
    cheaper: Plan = replace(base.plan, monthly_usd=Decimal(90), price_change_usd=Decimal(-60))
    result = judge(replace(base, plan=cheaper))
    assert Guardrail.PRICE_PER_ACCOUNT not in {v.guardrail for v in result.blocking}


@pytest.mark.parametrize(
    ("in_force", "then", "allows"),
    [(200, 150, True), (200, 200, True), (200, 201, False), (0, 101, False), (0, 100, True)],
)
def test_a_limit_that_was_lowered_since_takes_no_way_down_away(
    in_force: int, then: int, allows: bool
) -> None:
    """What is in force may come down in steps, each above the new limit; never up again."""
    over = resource_state(enrolment_usd=Decimal(100), resource_increase_usd=Decimal(in_force))
    base = replace(with_limits(price_increase_usd=Decimal(100)), resource_state=over)
    plan = replace(base.plan, monthly_usd=Decimal(100 + then))
    assert verdict(replace(base, plan=plan), Guardrail.PRICE_PER_RESOURCE).allows is allows


@pytest.mark.parametrize("in_force", [0, 20, 100], ids=["not counted", "at old prices", "far less"])
@pytest.mark.parametrize("guardrail", [Guardrail.PRICE_PER_RESOURCE, Guardrail.PRICE_PER_ACCOUNT])
@pytest.mark.parametrize(("change", "allows"), [(-1, True), (0, True), (1, False)])
def test_what_is_in_force_is_judged_by_the_prices_of_the_plan(
    guardrail: Guardrail, in_force: int, change: int, allows: bool
) -> None:
    """The owner's part costs $100 now, and the volume $122: $22 are in force, whatever they were once."""
    over = resource_state(
        enrolment_usd=Decimal(100), owner_configuration=gp3(), resource_increase_usd=Decimal(in_force),
        account_increase_usd=Decimal(2000 + in_force),
    )  # fmt: skip
    base = replace(with_limits(price_increase_usd=Decimal(20)), resource_state=over)
    plan = replace(base.plan, monthly_usd=Decimal(122 + change), price_change_usd=Decimal(change))
    assert verdict(replace(base, plan=plan), guardrail).allows is allows


def test_the_instance_as_the_limit_blocks_every_plan() -> None:
    base = case()
    bound = replace(base, diagnosis=replace(base.diagnosis, binding=Binding.INSTANCE_IOPS))
    assert Guardrail.INSTANCE_LIMIT in {v.guardrail for v in judge(bound).blocking}


@pytest.mark.parametrize(
    ("origin", "target", "maximum", "allows"),
    [
        (gp2(400), io(VolumeType.IO2, 400, 900), 40_000, False),  # fewer than its 1,200
        (gp2(400), io(VolumeType.IO2, 400, 3_600), 3_000, True),  # 3,000 of them are served
        (gp3(400, 6_000, 250), gp3(400, 12_000, 250), 6_000, False),
        (gp3(400, 6_000, 250), gp3(400, 12_000, 250), 6_001, True),
        (gp3(400, 6_000, 250), gp3(400, 12_000, 500), 6_000, True),  # twice the MiB/s
    ],
)
def test_money_buys_what_the_instance_can_give(
    origin: Configuration, target: Configuration, maximum: int, allows: bool
) -> None:
    """Whatever binds now: while credits run out, a full instance is not named as the limit."""
    machine = instance(baseline_iops=3_000, maximum_iops=maximum)
    base = with_plan(origin=origin, target=target, capability=capability(target))
    found = replace(
        base,
        observation=replace(base.observation, instance=machine),
        diagnosis=replace(base.diagnosis, binding=Binding.BURST_CREDITS),
    )
    assert verdict(found, Guardrail.INSTANCE_LIMIT).allows is allows
    objective = replace(found.diagnosis, binding=Binding.LATENCY, slower_than_objective=True)
    assert verdict(replace(found, diagnosis=objective), Guardrail.INSTANCE_LIMIT).allows
    cheaper = replace(found.plan, price_change_usd=Decimal(-1))
    assert verdict(replace(found, plan=cheaper), Guardrail.INSTANCE_LIMIT).allows


@pytest.mark.parametrize(("step", "allows"), [(4.0, True), (2.0, False)])
def test_what_two_steps_could_not_restore_is_not_lowered(step: float, allows: bool) -> None:
    """Beside the planner, which does not propose it either: from 15,000 to 3,000 IOPS is five times."""
    high, low = gp3(400, 15_000, 250), gp3(400)
    plan = replace(case().plan, origin=high, target=low, capability=capability(low))
    rules = policy(mode=Mode.AUTO, largest_step=step)
    base = case(plan=plan, policy=rules, effective=limits_for(rules, volume(high)))
    assert verdict(base, Guardrail.GIVE_BACK_REVERSIBLE).allows is allows


def test_what_a_full_account_budget_must_become_is_said_to_be_for_one_change() -> None:
    full = resource_state(account_increase_usd=Decimal(500))
    rules = replace(policy(price_increase_usd=Decimal(500)), account_increase_usd=Decimal(500))
    decision = decide(decision_input(rules=rules, stand=full))
    assert isinstance(decision.answer, Escalate), decision.summary
    assert (
        "from 500 to 518.01 or more for this change alone in the policy" in decision.answer.remedy
    )
