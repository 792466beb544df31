from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.catalog import catalogue_prices, why_invalid
from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import Act, Escalate, Hold, Reason, decide, next_reconcile_at
from headroom.domain.decision.next_reconcile import THIN_DATA, queue_entry_of
from headroom.domain.guardrails import Guardrail
from headroom.domain.policy import Mode, OneWay, PolicyUnreadable, parse_window
from headroom.domain.resources import Configuration, ModificationState, Observation, VolumeType
from headroom.domain.state import HOUR, KnownModification, ResourceState, Signature
from headroom.domain.workload import Binding, LoadShape
from tests.builders import (
    NOW,
    activity,
    decision_input,
    gp2,
    gp3,
    instance,
    instance_activity,
    io,
    modification,
    observation,
    policy,
    resource_state,
    series,
    starved_gp3,
    volume,
)
from tests.domain.earlier import CALM_HOUR, by_hour, history, hour_at


def draining_gp2(*, minutes_in: int = 40, **changes: object) -> Observation:
    """400 GiB of gp2 at 2,500 IOPS: 1,300 credits a second more than it earns."""
    start = 100 - minutes_in * 60 * 1300 / 54_000
    load = activity(
        [200.0] * 30 + [2500.0] * minutes_in,
        balance=[100.0] * 30 + [100 - i * 60 * 1300 / 54_000 for i in range(1, minutes_in + 1)],
    )
    assert start > 0
    return observation(load, volume(gp2(400)), **changes)


def test_a_starved_gp3_volume_gets_more_iops_within_the_largest_step() -> None:
    decision = decide(decision_input())
    assert isinstance(decision.answer, Act)
    assert decision.diagnosis.binding is Binding.VOLUME_IOPS
    target = decision.answer.plan.target
    assert target.volume_type is VolumeType.GP3
    assert 4500 <= (target.iops or 0) <= 12_000


def test_a_draining_gp2_volume_is_remedied_before_its_credits_run_out() -> None:
    decision = decide(decision_input(draining_gp2()))
    assert isinstance(decision.answer, Act)
    assert decision.answer.reason is Reason.DEPLETION_FORESEEN
    assert decision.demand.pressed_minutes == 0
    assert decision.answer.plan.target == gp3(400, 3000, 250)


def test_every_price_and_every_refused_plan_stand_in_the_record() -> None:
    rules = policy(types=(VolumeType.GP2,), growth=True)
    decision = decide(decision_input(draining_gp2(), rules=rules))
    assert isinstance(decision.answer, Escalate)
    (grown,) = (j for j in decision.judgements if j.plan.target.volume_type is VolumeType.GP2)
    assert grown.plan.capability.sustained_iops >= 2500
    assert not grown.plan.reversible
    # One episode is no reason for what is never given back: it is worth less than its price for good.
    assert [v.guardrail for v in grown.blocking] == [Guardrail.COST_BENEFIT]
    refused = [j for j in decision.judgements if j.plan.target.volume_type is VolumeType.GP3]
    assert refused
    assert refused[0].blocking[0].guardrail is Guardrail.TYPES
    assert refused[0].plan.monthly_usd == Decimal("37.00")


def test_a_nightly_burst_that_ends_with_credits_to_spare_is_left_alone() -> None:
    night = ([200.0] * 12 * 20 + [2500.0] * 6 + [200.0] * 42) * 7
    seen = draining_gp2(minutes_in=15)
    past = activity(night, end=NOW - timedelta(minutes=15), period_s=300)
    seen = replace(seen, history=past)
    decision = decide(decision_input(seen, rules=policy(types=(VolumeType.GP2,), growth=True)))
    assert isinstance(decision.answer, Hold)
    assert decision.answer.reason is Reason.NO_PRESSURE
    cheaper = decide(decision_input(seen))
    assert isinstance(cheaper.answer, Act)
    assert cheaper.answer.plan.price_change_usd < 0


@pytest.mark.parametrize(
    ("maximum_iops", "said"),
    [
        (3_000, "a faster volume would change nothing"),
        (18_750, "beyond the instance's own bursts"),
    ],
)
def test_no_money_is_spent_when_the_instance_is_the_limit(maximum_iops: int, said: str) -> None:
    seen = starved_gp3(instance=instance(baseline_iops=3000, maximum_iops=maximum_iops))
    decision = decide(decision_input(seen))
    assert isinstance(decision.answer, Escalate)
    assert decision.answer.reason is Reason.INSTANCE_LIMITED
    assert "larger instance" in decision.answer.remedy
    assert decision.answer.remedy.endswith(said)


@pytest.mark.parametrize(
    ("io_kib", "mibps_binds", "limits", "binding", "says"),
    [
        (16, True, {"baseline_iops": 7_500}, Binding.INSTANCE_IOPS, "117 MiB/s of such operations"),
        (
            32,
            False,
            {"baseline_mibps": 81.0},
            Binding.INSTANCE_THROUGHPUT,
            "2592 such operations/s",
        ),
        (16, True, {"baseline_iops": 9_000}, Binding.VOLUME_THROUGHPUT, ""),
        (32, False, {"baseline_mibps": 110.0}, Binding.VOLUME_IOPS, ""),
    ],
)
def test_an_instance_counts_its_operations_and_its_throughput_at_the_size_of_the_load(
    io_kib: int, mibps_binds: bool, limits: dict[str, float], binding: Binding, says: str
) -> None:
    """A burst of the instance touches the volume's limit, although the instance sustains less of that load."""
    rate, check = (8_000.0, [1.0] * 60) if mibps_binds else (3_000.0, [0.0] * 60)
    load = activity(
        [rate] * 60, io_kib=io_kib, queue=[60.0] * 60, latency_ms=[60.0] * 60, mibps_check=check,
        iops_check=[1.0 - one for one in check],
    )  # fmt: skip
    on = volume(gp3(200, 12_000 if mibps_binds else 3_000, 125))
    seen = observation(load, on, instance=instance(**{"baseline_iops": 40_000, **limits}))
    diagnosis = decide(decision_input(seen)).diagnosis
    assert diagnosis.binding is binding
    assert says in diagnosis.explanation


def test_a_volume_is_raised_by_the_little_that_its_instance_has_more() -> None:
    seen = starved_gp3(instance=instance(baseline_iops=3_300, maximum_iops=3_300))
    decision = decide(decision_input(seen))
    assert decision.diagnosis.binding is Binding.VOLUME_IOPS
    assert isinstance(decision.answer, Act)
    assert 3_240 <= (decision.answer.plan.target.iops or 0) <= 3_300


def test_what_other_volumes_take_counts_against_the_instance() -> None:
    others = instance_activity([11_500.0] * 60, [120.0] * 60)
    seen = starved_gp3(
        instance_activity=others, instance=instance(baseline_iops=11_600, volumes=("vol-2",))
    )
    decision = decide(decision_input(seen))
    assert decision.diagnosis.binding is Binding.INSTANCE_IOPS


def test_the_instances_own_check_is_believed_when_the_volumes_is_clear() -> None:
    load = activity([2000.0] * 60)
    checked = instance_activity([2000.0] * 60, [30.0] * 60, mibps_check=1)
    decision = decide(decision_input(observation(load, instance_activity=checked)))
    assert decision.diagnosis.binding is Binding.INSTANCE_THROUGHPUT
    assert isinstance(decision.answer, Escalate)


def test_a_plan_never_buys_more_than_the_instance_can_take() -> None:
    decision = decide(decision_input(starved_gp3(instance=instance(baseline_iops=5000))))
    assert isinstance(decision.answer, Act)
    assert (decision.answer.plan.target.iops or 0) <= 5500


def test_a_throughput_limit_raises_throughput_and_iops_only_as_far_as_coupled() -> None:
    load = activity(
        [500.0] * 60, io_kib=256, queue=[1.0] * 30 + [60.0 + 20 * i for i in range(30)],
        latency_ms=[1.0] * 30 + [60.0 + 20 * i for i in range(30)],
        mibps_check=[0.0] * 30 + [1.0] * 30,
    )  # fmt: skip
    decision = decide(decision_input(observation(load)))
    assert decision.diagnosis.binding is Binding.VOLUME_THROUGHPUT
    assert isinstance(decision.answer, Act)
    target = decision.answer.plan.target
    assert (target.throughput_mibps or 0) > 125
    assert target.iops == max(3000, 4 * (target.throughput_mibps or 0))


@pytest.mark.parametrize("tags", [(), (("headroom", "observe"),)])
def test_a_volume_nobody_enrolled_is_held_with_the_plan_it_would_have_taken(
    tags: tuple[tuple[str, str], ...],
) -> None:
    decision = decide(decision_input(starved_gp3(vol=volume(tags=tags))))
    assert isinstance(decision.answer, Hold)
    assert decision.answer.reason is Reason.OBSERVE_ONLY
    would = decision.answer.proposed_plan
    assert would is not None
    assert would == decide(decision_input()).answer.plan  # type: ignore[union-attr]


def test_a_tag_nobody_understands_never_acts() -> None:
    decision = decide(decision_input(starved_gp3(vol=volume(tags=(("headroom", "yes please"),)))))
    assert not isinstance(decision.answer, Act)


def test_an_unreadable_policy_never_acts_even_on_an_enrolled_volume() -> None:
    decision = decide(decision_input(rules=PolicyUnreadable(reason="parameter is gone")))
    assert isinstance(decision.answer, Hold)
    assert decision.answer.reason is Reason.POLICY_UNREADABLE


def test_without_a_price_nothing_is_bought() -> None:
    decision = decide(replace(decision_input(), prices=None))
    assert isinstance(decision.answer, Escalate)
    assert decision.answer.reason is Reason.PRICE_UNKNOWN


def test_missing_metrics_are_not_zero_and_not_pressure() -> None:
    decision = decide(decision_input(observation(activity([None] * 180))))
    assert isinstance(decision.answer, Hold)
    assert decision.answer.reason is Reason.NOT_ENOUGH_DATA


def at_its_limit(minutes: int, *, silent: int = 0, mode: Mode = Mode.AUTO) -> Observation:
    """A gp3 volume at its 3,000 IOPS, of which nothing was measured in the last `silent` minutes."""
    load = activity(
        [1500.0] * 30 + [3000.0] * minutes + [None] * silent,
        queue=[1.0] * 30 + [900.0 + 3 * i for i in range(minutes + silent)],
        iops_check=[0.0] * 30 + [1.0] * (minutes + silent),
    )
    return observation(load, volume(tags=(("headroom", mode.value),)))


def test_late_metrics_after_an_hour_at_a_limit_are_reported_once_and_change_nothing() -> None:
    late = decide(decision_input(at_its_limit(60, silent=16)))
    assert isinstance(late.answer, Escalate)
    assert (late.answer.reason, late.answer.cause) == (Reason.NOT_ENOUGH_DATA, "late_metrics")
    assert "for 60 measured minutes" in late.answer.remedy
    assert next_reconcile_at(late) == NOW + THIN_DATA, "they may come any minute"


BLIND = Signature(answer="hold", binding="unknown", plan="", blocking=())
"""The last look found nothing recent either."""


@pytest.mark.parametrize(
    ("silent", "pressed", "last", "notified", "again"),
    [
        (30, 60, BLIND, True, THIN_DATA), (70, 60, BLIND, True, THIN_DATA),
        (30, 59, BLIND, False, HOUR), (30, 60, None, False, HOUR),
        (30, 60, replace(BLIND, binding="volume_iops"), False, HOUR),
        (80, 60, BLIND, False, None),  # an hour after a look that found nothing: it has stopped
        (80, 10, BLIND, False, None),
    ],
)  # fmt: skip
def test_metrics_that_always_come_late_are_looked_at_each_hour_until_an_hour_of_pressure_is_known(
    silent: int, pressed: int, last: Signature | None, notified: bool, again: timedelta | None
) -> None:
    stand = resource_state(last_signature=last)
    decision = decide(
        decision_input(at_its_limit(pressed, silent=silent), stand=stand, trigger="due")
    )
    assert decision.answer.reason is Reason.NOT_ENOUGH_DATA
    assert isinstance(decision.answer, Escalate) is notified
    assert next_reconcile_at(decision) == (None if again is None else NOW + again)


def refused(minutes: int, **more: object) -> ResourceState:
    """AWS refused every change for so many minutes, the last one ten minutes ago."""
    last = NOW - timedelta(minutes=10)
    since = last - timedelta(minutes=minutes)
    known: dict[str, object] = {"escalated_causes": ("refused:in_flight",), **more}
    return resource_state(refused_since=since, last_refusal_at=last, **known)


@pytest.mark.parametrize(
    ("pressed", "stand", "notified"),
    [
        (60, refused(60), True), (59, refused(60), False), (60, refused(59), False),
        (60, refused(60, escalated_causes=("still_refused",)), False),
        (60, refused(60, retry_not_before=NOW + timedelta(minutes=5)), True),
    ],
)  # fmt: skip
def test_a_raise_that_aws_refuses_for_an_hour_of_pressure_is_reported_and_then_tried_again(
    pressed: int, stand: ResourceState, notified: bool
) -> None:
    decision = decide(decision_input(at_its_limit(pressed), stand=stand))
    if not notified:
        assert isinstance(decision.answer, Act)
        return
    assert isinstance(decision.answer, Escalate)
    assert (decision.answer.cause, decision.answer.reason) == (
        "still_refused", Reason.BLOCKED_TEMPORARILY,
    )  # fmt: skip
    assert "does not take one in the volume's present state" in decision.summary
    assert "throttles" not in decision.summary
    assert next_reconcile_at(decision) == NOW + timedelta(minutes=1)


@pytest.mark.parametrize(("silent", "held_for"), [(15, 16), (29, 30), (60, 61)])
def test_metrics_that_are_late_are_not_decided_on_and_the_summary_says_how_late(
    silent: int, held_for: int
) -> None:
    """CloudWatch is late by 15 minutes: the newest minute ended then, and began 16 minutes ago."""
    decision = decide(decision_input(at_its_limit(30, silent=silent)))
    assert isinstance(decision.answer, Hold)
    assert decision.answer.reason is Reason.NOT_ENOUGH_DATA
    assert decision.diagnosis.explanation == (
        f"the metrics are late or have stopped: the newest are of {held_for} minutes ago, and nothing is "
        "decided on those older than 15; see whether CloudWatch is late and whether the instance runs"
    )
    assert decision.diagnosis.explanation in decision.summary


@pytest.mark.parametrize(
    ("silent_days", "costs", "known", "escalates"),
    [
        (7, "15.49", (), True), (13, "15.49", (), True), (6.9, "15.49", (), False),
        (7, "0", (), False), (7, "15.49", ("long_unmeasured",), False), (None, "15.49", (), False),
    ],
)  # fmt: skip
def test_an_increase_that_stands_through_a_week_of_silence_is_reported_once_with_its_price(
    silent_days: float | None, costs: str, known: tuple[str, ...], escalates: bool
) -> None:
    past = None
    if silent_days is not None:
        since = NOW - timedelta(days=silent_days)
        past = history(lambda at: 500.0 if at < since else None, days=14)
    silent = observation(activity([None] * 180), volume(tags=(("headroom", "auto"),)), history=past)
    stand = resource_state(resource_increase_usd=Decimal(costs), escalated_causes=known)
    answer = decide(decision_input(silent, stand=stand)).answer
    assert answer.reason is Reason.NOT_ENOUGH_DATA
    assert isinstance(answer, Escalate) is escalates
    if isinstance(answer, Escalate):
        assert answer.remedy.startswith("nothing was measured for 7 days")
        assert "what Headroom added costs $15.49 a month" in answer.remedy
        detached = replace(silent, volume=replace(silent.volume, instance_ids=()))
        there = decide(decision_input(detached, stand=stand)).answer
        assert isinstance(there, Escalate)
        assert there.remedy.startswith("it is attached to no instance; nothing was measured")


def test_metrics_of_fourteen_minutes_ago_are_still_decided_on() -> None:
    assert isinstance(decide(decision_input(at_its_limit(30, silent=13))).answer, Act)


@pytest.mark.parametrize(("silent_hours", "again"), [(58, True), (70, True), (75, False)])
def test_a_volume_that_had_load_is_reconciled_each_hour_over_a_weekend_off(
    silent_hours: int, again: bool
) -> None:
    busy = hour_at(9_000)._replace(touched_minutes=20)
    profile = by_hour(
        [CALM_HOUR] * 24 + [busy] + [None] * silent_hours, NOW - (25 + silent_hours) * HOUR
    ).profile
    seen = decide(
        decision_input(
            observation(activity([None] * 180), volume(tags=(("headroom", "auto"),))),
            stand=resource_state(profile=profile),
            trigger="due",
        )
    )
    assert isinstance(seen.answer, Hold)
    assert next_reconcile_at(seen) == (NOW + HOUR if again else None)


@pytest.mark.parametrize(
    ("seen", "known"),
    [
        (at_its_limit(60, silent=16), ("late_metrics",)),
        (at_its_limit(60, silent=16, mode=Mode.OBSERVE), ()),
        (at_its_limit(59, silent=16), ()),
        (at_its_limit(60, silent=30), ()),  # a stopped instance publishes nothing
    ],
)
def test_nobody_is_notified_of_missing_metrics_otherwise(
    seen: Observation, known: tuple[str, ...]
) -> None:
    answer = decide(decision_input(seen, stand=resource_state(escalated_causes=known))).answer
    assert isinstance(answer, Hold)
    assert answer.reason is Reason.NOT_ENOUGH_DATA


@pytest.mark.parametrize(("minutes", "notified"), [(119, False), (120, True)])
def test_two_hours_of_pressure_that_nothing_is_worth_ending_are_reported(
    minutes: int, notified: bool
) -> None:
    thrift = policy(relief_value_usd_per_minute=0.0001)
    answer = decide(decision_input(at_its_limit(minutes), rules=thrift)).answer
    assert answer.reason is Reason.NOT_COST_EFFECTIVE
    assert isinstance(answer, Escalate) is notified
    if isinstance(answer, Escalate):
        assert answer.cause == Guardrail.COST_BENEFIT
        assert "not even gp3" in answer.remedy


def test_held_on_slots_until_used_plus_reserve_leaves_room() -> None:
    starts = [NOW - timedelta(hours=h) for h in (20, 15, 10, 5)]
    known = tuple(KnownModification(started_at=s, by="other") for s in starts)
    decision = decide(decision_input(stand=resource_state(modifications=known)))
    assert isinstance(decision.answer, Hold)
    assert decision.answer.until == starts[1] + timedelta(hours=24)


def test_the_summary_of_a_hold_names_what_blocks_its_plan() -> None:
    starts = [NOW - timedelta(hours=h) for h in (20, 15, 10, 5)]
    known = tuple(KnownModification(started_at=s, by="other") for s in starts)
    decision = decide(decision_input(stand=resource_state(modifications=known)))
    assert decision.plan is not None
    assert decision.summary.endswith(f"; would take {decision.plan.target}, blocked by slots")
    thrift = policy(relief_value_usd_per_minute=0.0001)
    notified = resource_state(escalated_causes=("closed_loop",))
    cheap = decide(decision_input(starved_gp3(), rules=thrift, stand=notified))
    assert isinstance(cheap.answer, Hold)
    assert cheap.plan is not None
    loss = f"worth ${-cheap.plan.value_usd_per_day:.2f} a day less than it costs"
    assert cheap.summary.endswith(
        f"; would take {cheap.plan.target}, blocked by cost_benefit ({loss})"
    )


def test_what_a_refusal_taught_holds_until_the_instant_it_named() -> None:
    until = NOW + timedelta(hours=7)
    taught = resource_state(slots_full_until=until, last_refusal_at=NOW - timedelta(minutes=5))
    decision = decide(decision_input(stand=taught))
    assert isinstance(decision.answer, Hold)
    assert decision.answer.until == until


def test_nothing_is_decided_over_a_change_in_flight() -> None:
    busy = modification(gp3(100, 3000, 125), state=ModificationState.OPTIMIZING)
    decision = decide(decision_input(starved_gp3(modification=busy)))
    assert isinstance(decision.answer, Hold)
    assert decision.answer.reason is Reason.BLOCKED_TEMPORARILY


def test_a_closed_loop_at_its_ceiling_escalates_once_and_says_it_has_no_natural_demand() -> None:
    load = activity([3000.0] * 60, io_kib=4, queue=256.0, iops_check=1)
    rules = policy(max_iops=3000, max_throughput_mibps=125, types=(VolumeType.GP3,))
    decision = decide(decision_input(observation(load), rules=rules))
    assert decision.demand.shape is LoadShape.CLOSED_LOOP
    assert isinstance(decision.answer, Escalate)
    assert "no natural demand" in decision.answer.remedy
    shared = replace(decision.observation.volume, multi_attach=True)
    kept_out = decide(decision_input(observation(load, shared)))  # which no ceiling has to do with
    assert isinstance(kept_out.answer, Escalate)
    assert kept_out.answer.cause == "multi_attach"
    assert "natural demand" not in kept_out.answer.remedy
    again = decide(
        decision_input(
            observation(load), rules=rules,
            stand=resource_state(escalated_causes=(decision.answer.cause,)),
        )
    )  # fmt: skip
    assert isinstance(again.answer, Hold)


@pytest.mark.parametrize(("minutes", "notified"), [(119, False), (120, True), (170, True)])
def test_two_hours_of_pressure_that_nothing_is_worth_ending_are_reported_once(
    minutes: int, notified: bool
) -> None:
    waiting = [100.0 * 1.5 ** min(i, 30) + 900 * i for i in range(minutes)]
    calm = 180 - minutes
    load = activity(
        [500.0] * calm + [3000.0] * minutes, queue=[1.0] * calm + waiting,
        iops_check=[0.0] * calm + [1.0] * minutes,
    )  # fmt: skip
    rules = policy(relief_value_usd_per_minute=0.00001)
    decision = decide(decision_input(observation(load), rules=rules))
    assert decision.answer.reason is Reason.NOT_COST_EFFECTIVE
    assert isinstance(decision.answer, Escalate if notified else Hold)
    if isinstance(decision.answer, Escalate):
        assert "raise relief_value_usd_per_minute" in decision.answer.remedy
        known = resource_state(escalated_causes=(decision.answer.cause,))
        again = decide(decision_input(observation(load), rules=rules, stand=known))
        assert isinstance(again.answer, Hold)


def test_the_explanation_says_what_is_served_since_the_credits_ended() -> None:
    load = activity(
        [3_000.0] * 20 + [1_200.0] * 5, balance=[20.0 - i for i in range(20)] + [0.0] * 5,
        iops_check=1, queue=[64.0] * 25,
    )  # fmt: skip
    decision = decide(decision_input(observation(load, volume(gp2(400)))))
    assert decision.diagnosis.explanation == "credits are gone: 1200 IOPS served, baseline 1200"


@pytest.mark.parametrize(
    ("served", "more"), [(2_950.0, ""), (1_500.0, ", which bursts inside minutes reach")]
)
def test_the_explanation_says_where_only_bursts_reach_the_limit(served: float, more: str) -> None:
    decision = decide(decision_input(observation(activity([served] * 60, iops_check=1))))
    limit = f"{served:.0f} IOPS served at a limit of 3000"
    assert decision.diagnosis.explanation == limit + more


@pytest.mark.parametrize(
    ("since", "told"),
    [
        ([3_000.0, 900.0, *[400.0] * 5] * 12, "3000 IOPS served at a limit of 3000"),
        ([400.0] * 4, "7000 IOPS served at an earlier limit of 7000"),
    ],
    ids=["pressed since the change", "only before it"],
)
def test_the_explanation_compares_what_was_served_with_the_limit_of_that_time(
    since: list[float], told: str
) -> None:
    """The volume was lowered from 7,000 IOPS, which were in use up to the change."""
    values = [7_000.0] * (180 - len(since)) + since
    landed = NOW - timedelta(minutes=len(since))
    lowered = modification(
        gp3(), origin=gp3(100, 7_000), started_at=landed - timedelta(minutes=5), ended_at=landed
    )
    load = activity(values, iops_check=[1.0 if v in (3_000, 7_000) else 0.0 for v in values])
    decision = decide(decision_input(observation(load, modification=lowered)))
    assert decision.diagnosis.explanation.endswith(told)


def test_a_ceiling_caps_the_plan_and_names_the_one_it_came_from() -> None:
    decision = decide(decision_input(rules=policy(max_iops=5000)))
    assert isinstance(decision.answer, Act)
    plan = decision.answer.plan
    assert (plan.target.iops or 0) <= 5000
    assert any(j.plan.capped_from is not None for j in decision.judgements)


def test_the_price_limit_counts_from_enrolment_not_from_the_last_change() -> None:
    already = resource_state(enrolment_usd=Decimal(0), resource_increase_usd=Decimal(8))
    decision = decide(decision_input(stand=already, rules=policy(price_increase_usd=Decimal(10))))
    assert not isinstance(decision.answer, Act) or decision.answer.plan.monthly_usd <= 10


def test_a_single_blip_is_not_worth_a_change() -> None:
    load = activity([800.0] * 59 + [3000.0], iops_check=[0.0] * 59 + [1.0])
    decision = decide(decision_input(observation(load)))
    assert isinstance(decision.answer, Hold)


def test_the_same_input_gives_the_same_decision_and_the_same_id() -> None:
    first, second = decide(decision_input()), decide(decision_input())
    assert first == second
    other = decide(decision_input(starved_gp3(at=NOW + timedelta(minutes=1))))
    assert other.decision_id != first.decision_id


@settings(max_examples=60, deadline=None)
@given(
    served=st.floats(1, 90_000),
    io_kib=st.sampled_from([4.0, 16.0, 64.0, 256.0]),
    ceiling=st.integers(3000, 80_000),
    mibps_ceiling=st.integers(125, 2000),
    money=st.decimals(0, 5000, places=2),
    account=st.decimals(0, 5000, places=2),
    step=st.floats(1.01, 20),
    growth=st.booleans(),
    current=st.sampled_from(
        [gp3(100), gp2(400), gp2(50), gp3(20, 3000, 400), gp3(2000, 9000, 500)]
    ),
    mode=st.sampled_from(list(Mode)),
)
def test_no_act_ever_exceeds_a_limit(
    served: float, io_kib: float, ceiling: int, mibps_ceiling: int, money: Decimal,
    account: Decimal, step: float, growth: bool, current: Configuration, mode: Mode,
) -> None:  # fmt: skip
    load = activity([served] * 60, io_kib=io_kib, iops_check=1, mibps_check=1, balance=0.0)
    rules = replace(
        policy(
            max_iops=ceiling, max_throughput_mibps=mibps_ceiling, price_increase_usd=money,
            largest_step=step, growth=growth, mode=mode,
            types=(VolumeType.GP3, VolumeType.IO2, VolumeType.GP2),
        ),
        account_increase_usd=account,
    )  # fmt: skip
    seen = observation(load, volume(current, tags=()))
    decision = decide(decision_input(seen, rules=rules))
    answer = decision.answer
    if not isinstance(answer, Act):
        return
    assert mode is Mode.AUTO or (mode is Mode.APPROVE and answer.approval is not None)
    target, prices = answer.plan.target, catalogue_prices("us-east-1")
    assert why_invalid(target) is None
    assert target.size_gib >= current.size_gib
    assert growth or target.size_gib == current.size_gib
    assert target != current
    now = capability(current)  # what is not raised may stay above a ceiling
    assert capability(target).sustained_iops <= max(ceiling, now.sustained_iops)
    assert (target.throughput_mibps or 0) <= max(mibps_ceiling, now.sustained_mibps)
    increase = prices.monthly(target) - prices.monthly(current)
    assert increase <= money
    assert increase <= account


@settings(max_examples=60, deadline=None)
@given(low=st.floats(100, 10_000), factor=st.floats(1, 4))
def test_more_load_never_gives_a_smaller_plan(low: float, factor: float) -> None:
    """From its second day on: on the first a saving waits while load is near a limit."""
    past = history(lambda _: 100.0, days=1.2, end=NOW - timedelta(hours=1))

    def plan_for(load: float) -> float:
        drained = activity([min(load, 3_000.0)] * 60, balance=5.0)
        seen = replace(observation(drained, volume(gp2(900))), history=past)
        decision = decide(decision_input(seen))
        answer = decision.answer
        plan = answer.plan if isinstance(answer, Act) else answer.proposed_plan
        return 0.0 if plan is None else plan.capability.sustained_iops

    assert plan_for(low * factor) >= plan_for(low)


def test_five_clear_minutes_end_an_episode_and_four_do_not() -> None:
    def load(clear: int) -> Observation:
        return observation(
            activity(
                [1500.0] * 60 + [3000.0] * 20 + [2000.0] * clear,
                iops_check=[0.0] * 60 + [1.0] * 20 + [0.0] * clear,
            )
        )

    assert decide(decision_input(load(4))).diagnosis.binding is Binding.VOLUME_IOPS
    assert decide(decision_input(load(5))).diagnosis.binding is Binding.NOTHING


def test_a_useful_plan_at_a_ceiling_is_reported_even_beside_a_worthless_one_that_fits() -> None:
    current = gp3(500, 4000, 1000)
    load = activity(
        [4000.0] * 60, io_kib=256, queue=[4.0] * 20 + [60.0 + 20 * i for i in range(40)],
        latency_ms=[1.0] * 20 + [15.0 + 5 * i for i in range(40)],
        mibps_check=[0.0] * 20 + [1.0] * 40,
    )  # fmt: skip
    decision = decide(
        decision_input(observation(load, volume(current), instance=instance(baseline_mibps=4000)))
    )
    assert isinstance(decision.answer, Escalate)
    assert "max_throughput" in decision.answer.cause


@pytest.mark.parametrize(
    ("size", "io_kib", "least_mibps"),
    [(300, 16, 250), (400, 16, 250), (100, 16, 128), (171, 16, 125), (171, 64, 162.5)],
)
def test_leaving_gp2_keeps_the_throughput_it_bursts_to_unless_that_costs_more_and_nobody_uses_it(
    size: int, io_kib: float, least_mibps: float
) -> None:
    """gp3 with the 250 MiB/s of 171 GiB of gp2 costs more than it; 2,600 x 64 KiB are 162.5."""
    load = activity([1000.0] * 60 + [2600.0] * 30, balance=30.0, io_kib=io_kib)
    decision = decide(decision_input(observation(load, volume(gp2(size)))))
    for judgement in decision.judgements:
        assert judgement.plan.capability.sustained_mibps >= least_mibps or (
            judgement.plan.target.volume_type is VolumeType.GP2
        )


@pytest.mark.parametrize(
    ("size", "io_kib", "days", "mibps"),
    [(3, 16, 2, 125), (5, 8, 2, 125), (5, 56, 2, 128), (3, 16, 0, 128), (5, 8, 0.5, 128)],
)
def test_a_small_gp2_pays_for_three_mibps_more_than_gp3_includes_only_where_they_may_be_used(
    size: int, io_kib: float, days: float, mibps: int
) -> None:
    """At $0.04 each they cost more than gp3 of such a size saves; that none is used takes a day."""
    load = activity([100.0] * 60 + [2_200.0] * 30, balance=30.0, io_kib=io_kib)
    past = activity([100.0] * round(288 * days), end=load.iops_exceeded.end, period_s=300)
    seen = replace(observation(load, volume(gp2(size))), history=past if days else None)
    answer = decide(decision_input(seen)).answer
    assert isinstance(answer, Act)
    assert answer.plan.target == gp3(size, 3_000, mibps)


def test_leaving_a_bucket_keeps_the_iops_that_were_used_of_its_burst() -> None:
    load = activity([2900.0] * 20 + [400.0] * 120 + [800.0] * 40, balance=4.0)
    decision = decide(decision_input(observation(load, volume(gp2(100)))))
    others = [j for j in decision.judgements if j.plan.target.volume_type is not VolumeType.GP2]
    assert others
    assert all(j.plan.capability.sustained_iops >= 2900 for j in others)


def test_what_other_volumes_take_is_unknown_rather_than_zero_when_nobody_measured_it() -> None:
    blind = instance_activity([None] * 60, [None] * 60)
    shared = instance(baseline_iops=11_600, volumes=("vol-2",))
    decision = decide(decision_input(starved_gp3(instance_activity=None, instance=shared)))
    assert decision.diagnosis.instance_iops_left is None
    assert not isinstance(decision.answer, Act)
    checked = decide(decision_input(starved_gp3(instance_activity=blind, instance=shared)))
    assert isinstance(checked.answer, Act)  # its own check reads 0: it is not the limit


def test_an_instance_of_unknown_limits_whose_own_check_is_set_is_the_limit() -> None:
    unknown = replace(instance(), limits=None)
    pressed = instance_activity([3000.0] * 60, [50.0] * 60, iops_check=1)
    decision = decide(decision_input(starved_gp3(instance=unknown, instance_activity=pressed)))
    assert decision.diagnosis.binding is Binding.INSTANCE_IOPS


def test_after_a_refusal_nobody_asks_again_before_its_time() -> None:
    later = NOW + timedelta(hours=1)
    decision = decide(decision_input(stand=resource_state(retry_not_before=later)))
    assert isinstance(decision.answer, Hold)
    assert decision.answer.until == later


def test_minutes_short_of_iops_and_minutes_short_of_throughput_are_valued_by_kind() -> None:
    """Large reads touch the instance's throughput, small ones the volume's IOPS: raise the IOPS."""
    kinds = [i % 2 for i in range(40)]
    load = activity(
        [900.0] * 60 + [2900.0] * 40, io_kib=16, queue=[1.0] * 60 + [300.0] * 40,
        latency_ms=[1.0] * 60 + [100.0] * 40,
        iops_check=[0.0] * 60 + [float(k) for k in kinds],
        mibps_check=[0.0] * 60 + [float(1 - k) for k in kinds],
    )  # fmt: skip
    bound = instance(baseline_iops=12_000, baseline_mibps=125.0)
    decision = decide(decision_input(observation(load, instance=bound)))
    assert decision.diagnosis.binding is Binding.VOLUME_IOPS
    assert isinstance(decision.answer, Act)
    target = decision.answer.plan.target
    assert target.volume_type is VolumeType.GP3
    assert (target.iops or 0) > 3000
    assert (target.throughput_mibps or 0) <= 138


def test_nothing_is_bought_that_leaves_the_binding_limit_where_it_is() -> None:
    decision = decide(decision_input())
    assert decision.diagnosis.binding is Binding.VOLUME_IOPS
    assert all(j.plan.capability.sustained_iops > 3000 for j in decision.judgements)


@pytest.mark.parametrize(("mode", "told"), [("auto", True), ("observe", False)])
def test_a_tag_that_is_not_understood_is_told_to_the_owner_of_an_enrolled_volume(
    mode: str, told: bool
) -> None:
    tags = (("headroom", mode), ("headroom:max-iops", "8k"))
    seen = starved_gp3()
    seen = replace(seen, volume=replace(seen.volume, tags=tags))
    answer = decide(decision_input(seen, rules=policy(mode=Mode.OBSERVE))).answer
    assert isinstance(answer, Escalate if told else Hold)
    if isinstance(answer, Escalate):
        assert answer.cause == "policy"
        assert "headroom:max-iops is '8k'" in answer.remedy
    stand = resource_state(escalated_causes=("policy",))
    again = decide(decision_input(seen, rules=policy(mode=Mode.OBSERVE), stand=stand)).answer
    assert isinstance(again, Hold), "once"


@pytest.mark.parametrize(
    ("pressed", "opens_in", "told"),
    [(150, 6, True), (60, 6, True), (50, 6, False), (150, 0.5, False)],
)
def test_load_that_has_to_wait_for_hours_is_told_to_the_owner_once(
    pressed: int, opens_in: float, told: bool
) -> None:
    opens = NOW + timedelta(hours=opens_in)
    window = parse_window(f"Mon {opens:%H:%M}-{opens + timedelta(hours=1):%H:%M} UTC")
    rules = policy(change_windows=(window,))
    load = activity(
        [1_000.0] * (180 - pressed) + [3_000.0] * pressed, queue=[1.0] * (180 - pressed) + [60.0] * pressed,
        iops_check=[0.0] * (180 - pressed) + [1.0] * pressed,
    )  # fmt: skip
    seen = observation(load, starved_gp3().volume)
    answer = decide(decision_input(seen, rules=rules)).answer
    assert isinstance(answer, Escalate if told else Hold)
    if isinstance(answer, Escalate):
        assert f"change_window blocks a change until {opens:%Y-%m-%d %H:%M} UTC" in answer.remedy
        stand = resource_state(escalated_causes=(answer.cause,))
        again = decide(decision_input(seen, rules=rules, stand=stand))
        assert isinstance(again.answer, Hold)
        assert again.answer.until == opens
    waiting = queue_entry_of(decide(decision_input(seen, rules=rules)))
    assert waiting is not None
    assert waiting.not_before == opens, "it is done when the window opens"


def test_a_permanent_change_that_gains_nothing_is_not_offered() -> None:
    seen = observation(activity([500.0] * 180), volume(io(VolumeType.IO1, 1_000, 5_000)))
    rules = policy(types=(VolumeType.IO1, VolumeType.IO2), one_way=OneWay.ALLOW)
    assert isinstance(decide(decision_input(seen, rules=rules)).answer, Hold)


@pytest.mark.parametrize(
    ("baseline", "said"),
    [(4_000, "m6i.2xlarge sustains 4,000 IOPS, more only while"), (12_000, "")],
)
def test_an_owner_asked_for_a_limit_hears_what_the_instance_sustains(
    baseline: int, said: str
) -> None:
    full = series([100.0], period_s=300)
    together = replace(
        instance_activity([3_000.0] * 60, [40.0] * 60),
        io_balance_percent=full, byte_balance_percent=full,
    )  # fmt: skip
    seen = starved_gp3(instance=instance(baseline_iops=baseline), instance_activity=together)
    answer = decide(decision_input(seen, rules=policy(max_iops=3_000))).answer
    assert isinstance(answer, Escalate)
    assert "max_iops" in answer.remedy
    assert ("sustains" in answer.remedy) is bool(said)
    assert said in answer.remedy
