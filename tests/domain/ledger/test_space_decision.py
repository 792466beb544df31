"""What is decided when a database runs out of space."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from headroom.domain.decision import (
    Act,
    Decision,
    Escalate,
    Hold,
    Proceed,
    Reason,
    Withdrawal,
    decide,
    queue_entry_of,
    revalidate,
)
from headroom.domain.guardrails import Guardrail
from headroom.domain.ledger import after_decided
from headroom.domain.policy import Mode, parse_window
from headroom.domain.resources import ModificationState, Observation, Span, ValidStorage, VolumeType
from headroom.domain.state import (
    ApprovalRequest,
    ConcurrencyState,
    Declined,
    InFlight,
    ResourceState,
    StoredState,
)
from headroom.serialization import decision_from_json, decision_to_json
from tests.builders import (
    NOW,
    activity,
    database_policy,
    decision_input,
    modification,
    resource_state,
)
from tests.domain.databases import rds
from tests.domain.filling import GP3, facts, filling, steadily

GROW = {"mode": Mode.AUTO, "grow_space": True}


def decided(
    seen: Observation | None = None, stand: ResourceState | None = None, **limits: object
) -> Decision:
    rules = database_policy(**{**GROW, **limits})
    return decide(decision_input(seen or filling(), rules=rules, stand=stand))


def blocking(decision: Decision) -> set[Guardrail]:
    assert isinstance(decision.answer, Hold | Escalate), decision.summary
    plan = decision.answer.proposed_plan
    judged = next(j for j in decision.judgements if j.plan == plan)
    return {v.guardrail for v in judged.blocking}


def test_a_database_that_fills_is_grown_once_for_the_horizon_and_nothing_else_is_changed() -> None:
    decision = decided()
    assert isinstance(decision.answer, Act), decision.summary
    assert decision.answer.reason is Reason.LOW_FREE_SPACE
    plan = decision.answer.plan
    assert plan.target == rds(GP3, 231)
    assert plan.price_change_usd == pytest.approx(Decimal("3.565"))
    assert not plan.reversible
    assert plan.only_for_space
    assert "20.5 of 200 GiB are free" in decision.summary
    kept = decision_from_json(decision_to_json(decision))
    assert (kept.space, kept.answer) == (decision.space, decision.answer)


def test_without_the_owners_word_nothing_grows_and_the_owner_hears_of_it_when_it_is_near() -> None:
    far = decided(grow_space=False)
    assert isinstance(far.answer, Hold)
    assert far.answer.reason is Reason.NO_PRESSURE
    near = decided(filling(free=steadily(4.0, 2.0)), grow_space=False)
    assert isinstance(near.answer, Escalate), near.summary
    assert near.answer.cause == "space_growth"
    assert "grow_space is not set" in near.answer.remedy
    assert (
        "change grow_space in the policy, in a rule with `match: {kind: rds}`" in near.answer.remedy
    )
    # Permission to grow for IOPS is none to grow for space.
    extra_target = decided(filling(free=steadily(4.0, 2.0)), grow_space=False, growth=True)
    assert isinstance(extra_target.answer, Escalate)


@pytest.mark.parametrize(
    ("given", "change"),
    [
        ({}, "change all of grow_space, growth, full_copy in the policy"),
        ({"grow_space": True}, "change all of growth, full_copy in the policy"),
        ({"grow_space": True, "full_copy": True}, "change growth in the policy"),
    ],
)
def test_what_is_missing_for_growth_that_copies_all_data_is_named_and_nothing_else(
    given: dict[str, bool], change: str
) -> None:
    seen = filling(rds(GP3, 380), free=steadily(9.0, 4.0))
    answer = decided(seen, **{"grow_space": False, **given}).answer
    assert isinstance(answer, Escalate)
    assert "RDS would copy all data for hours" in answer.remedy
    assert f"to allow it, {change}" in answer.remedy


def test_no_setting_is_named_that_would_not_allow_the_copy() -> None:
    """From gp2 nobody but a person may begin it, whatever the policy says; on gp3 it waits for a calm hour."""
    for full_copy in (False, True):
        seen = filling(rds(VolumeType.GP2, 380), free=steadily(9.0, 4.0))
        answer = decided(seen, growth=True, full_copy=full_copy).answer
        assert isinstance(answer, Escalate)
        assert "to allow it" not in answer.remedy
        assert "go to gp3 of the same size first, which takes no copy" in answer.remedy


@pytest.mark.parametrize(
    ("tag", "change"),
    [
        (("headroom:max-size-gib", "205"), "headroom:max-size-gib from 205 to 249 or more"),
        (("headroom:price-increase-usd-per-month", "1"), "headroom:price-increase-usd-per-month from 1 to 5.64 or more"),
        (("headroom:grow-space", "false"), "headroom:grow-space;"),
    ],
)  # fmt: skip
def test_a_limit_that_a_tag_sets_is_to_be_changed_in_the_tag(
    tag: tuple[str, str], change: str
) -> None:
    seen = filling(free=steadily(4.0, 2.0))
    volume = replace(seen.volume, tags=(*seen.volume.tags, tag))
    answer = decided(replace(seen, volume=volume)).answer
    assert isinstance(answer, Escalate)
    assert f"to allow it, change the tag {change}" in answer.remedy
    assert "policy" not in answer.remedy


def test_mode_observe_reports_the_change_it_would_make() -> None:
    decision = decided(mode=Mode.OBSERVE)
    assert isinstance(decision.answer, Hold)
    assert decision.answer.reason is Reason.OBSERVE_ONLY
    assert decision.answer.proposed_plan is not None
    assert decision.answer.proposed_plan.target.size_gib == 231


def test_space_is_reported_once_until_there_is_enough_again() -> None:
    tight = filling(free=steadily(4.0, 2.0))
    first = decided(tight, grow_space=False)
    state = after_decided(StoredState(), first, None)
    assert state.escalated_causes == ("space_growth",)
    notified = resource_state(escalated_causes=state.escalated_causes)
    again = decided(tight, notified, grow_space=False)
    assert isinstance(again.answer, Hold)
    assert again.answer.reason is Reason.LOW_FREE_SPACE
    assert after_decided(state, again, None).escalated_causes == ("space_growth",)
    enough = decided(filling(free=lambda _: 60.0), notified, grow_space=False)
    assert after_decided(state, enough, None).escalated_causes == ()


@pytest.mark.parametrize(
    ("size", "free", "limits", "target", "capped"),
    [
        (200, 4.0, {"max_size_gib": 225}, 225, True),
        (200, 4.0, {"price_increase_usd": Decimal(3)}, 226, True),
        (340, 20.0, {"free_space_percent": 20}, 399, True),  # 400 would be a full copy
        (300, 20.0, {}, 343, False),
    ],
)
def test_as_much_as_the_limits_let_is_grown(
    size: int, free: float, limits: dict[str, object], target: int, capped: bool
) -> None:
    decision = decided(filling(rds(GP3, size), steadily(free, 2.0)), **limits)
    assert isinstance(decision.answer, Act), decision.summary
    assert decision.answer.plan.target.size_gib == target
    assert (decision.answer.plan.capped_from is not None) == capped


@pytest.mark.parametrize(
    ("seen", "limits", "guardrails"),
    [
        (filling(), {"max_size_gib": 210}, {"max_size"}),
        (filling(), {"price_increase_usd": Decimal(1)}, {"price_per_resource"}),
        (filling(rds(GP3, 370), steadily(20, 2)), {"growth": True}, {"full_copy"}),
        (filling(about=facts(pending=("DBInstanceClass",))), {}, {"pending_changes"}),
    ],
)
def test_what_stands_in_the_way_for_good_is_reported(
    seen: Observation, limits: dict[str, object], guardrails: set[str]
) -> None:
    decision = decided(seen, **limits)
    assert isinstance(decision.answer, Escalate), decision.summary
    assert decision.answer.reason is Reason.LOW_FREE_SPACE
    assert {g.value for g in blocking(decision)} == guardrails
    assert "full by" in decision.summary


def test_a_full_copy_is_priced_and_left_to_a_person() -> None:
    decision = decided(filling(rds(GP3, 370), steadily(20, 2)))
    assert isinstance(decision.answer, Escalate)
    plan = decision.answer.proposed_plan
    assert plan is not None
    assert plan.full_copy
    assert (plan.target.size_gib, plan.target.iops) == (420, 12_000)
    assert "copy all data" in decision.answer.remedy


def test_an_owner_may_let_it_be_copied_where_nothing_less_is_left_and_there_is_time() -> None:
    copy = {"full_copy": True, "growth": True}
    assert isinstance(decided(filling(rds(GP3, 370), steadily(20, 2)), **copy).answer, Act)
    first = decided(filling(rds(GP3, 340), steadily(20, 2)), free_space_percent=20, **copy)
    assert isinstance(first.answer, Act)
    assert not first.answer.plan.full_copy  # 399 GiB take none
    late = decided(filling(rds(GP3, 370), steadily(7, 8)), **copy)
    assert isinstance(late.answer, Escalate), late.summary
    assert Guardrail.FREE_SPACE in blocking(late)
    alone = decided(filling(rds(GP3, 370), steadily(20, 2)), full_copy=True)
    assert Guardrail.GROWTH in blocking(alone)


def test_where_rds_grows_the_storage_nothing_is_planned_until_its_maximum_is_near() -> None:
    room = decided(filling(about=facts(max_allocated_gib=300)))
    assert isinstance(room.answer, Hold)
    assert room.answer.reason is Reason.NO_PRESSURE
    assert not any(j.plan.grows for j in room.judgements)
    near = decided(filling(about=facts(max_allocated_gib=215)))
    assert isinstance(near.answer, Escalate), near.summary
    assert near.answer.cause == "space_autoscaling_maximum"
    assert "215 GiB" in near.answer.remedy


def test_a_full_database_is_for_a_person_and_loud() -> None:
    full = filling(free=lambda _: 0.1, about=facts(status="storage-full"))
    decision = decided(full)
    assert isinstance(decision.answer, Escalate), decision.summary
    assert decision.answer.cause == "space_storage_full"
    silent = filling(free=lambda _: None, about=facts(status="storage-full"))
    assert isinstance(decided(silent).answer, Escalate)


def test_the_owner_hears_once_more_when_it_is_a_day_from_being_full() -> None:
    notified = resource_state(escalated_causes=("space_max_size",))
    far = decided(filling(free=steadily(10.0, 2.0)), notified, max_size_gib=210)
    assert isinstance(far.answer, Hold), far.summary
    near = decided(filling(free=steadily(1.5, 2.0)), notified, max_size_gib=210)
    assert isinstance(near.answer, Escalate), near.summary
    assert near.answer.cause == "space_max_size_today"
    assert "grow to 252 GiB for $5.98 a month more" in near.answer.remedy


def test_a_person_who_was_asked_or_said_no_hears_that_it_will_be_full_today() -> None:
    for soon in (False, True):
        seen = filling(free=steadily(1.5 if soon else 10.0, 2.0))
        first = decided(seen, mode=Mode.APPROVE)
        assert isinstance(first.answer, Act)
        approval_request = resource_state(approval_request=asked_of(first))
        waits = decided(seen, approval_request, mode=Mode.APPROVE)
        assert isinstance(waits.answer, Escalate if soon else Hold), waits.summary
        if isinstance(waits.answer, Escalate):
            assert f"`headroom approve {first.decision_id}`" in waits.answer.remedy
        notified = replace(approval_request, escalated_causes=("space_approval_today",))
        again = decided(seen, notified, mode=Mode.APPROVE)
        assert isinstance(again.answer, Hold)
        assert again.answer.reason is Reason.AWAITING_APPROVAL


def test_a_no_to_growth_holds_for_any_growth_and_is_none_to_what_the_load_wants() -> None:
    calm = decided(filling(rds(GP3, 500, 12_000, 500), steadily(45.0, 4.0)), **WIDE)
    assert isinstance(calm.answer, Act)
    alone = calm.answer.plan
    no = Declined(
        decision_id="0" * 20, at=NOW, until=NOW + timedelta(days=1), target=alone.target,
        price_change_usd=alone.price_change_usd, rejected=True,
    )  # fmt: skip
    busy = decided(starving(45.0, 4.0), resource_state(declined=(no,)), **WIDE)
    assert isinstance(busy.answer, Act), busy.summary
    assert not busy.answer.plan.grows
    soon = decided(starving(3.0, 4.0), resource_state(declined=(no,)), **WIDE)
    assert isinstance(soon.answer, Escalate), soon.summary
    assert soon.answer.cause == "space_approval_today"
    assert "was rejected and is not requested again before" in soon.answer.remedy
    assert "approve" not in soon.answer.remedy


@pytest.mark.parametrize("urgent", [False, True], ids=["in two weeks", "today"])
def test_growth_is_requested_in_place_of_a_request_for_load_and_after_a_no_to_load(
    urgent: bool,
) -> None:
    roomy = starving(400.0, 0.0)
    raised = decided(roomy, mode=Mode.APPROVE, **WIDE)
    assert isinstance(raised.answer, Act)
    assert not raised.answer.plan.grows
    no = Declined(
        decision_id="0" * 20, at=NOW, until=NOW + timedelta(days=1), target=raised.answer.plan.target,
        price_change_usd=Decimal("19.00"), rejected=True,
    )  # fmt: skip
    calm = filling(rds(GP3, 500, 12_000, 500), steadily(3.0 if urgent else 45.0, 4.0))
    for known in ({"approval_request": asked_of(raised)}, {"declined": (no,) * 3}):
        grown = decided(calm, resource_state(**known), mode=Mode.APPROVE, **WIDE)
        assert isinstance(grown.answer, Act), grown.summary
        assert grown.answer.plan.grows
        assert grown.answer.approval is not None


def test_a_declined_growth_that_is_a_full_copy_is_not_started_for_the_load() -> None:
    """From 380 GiB on the next size is on more volumes: with the owner's word Headroom may copy in calm."""
    small, copies = rds(VolumeType.GP3, 380, 3_000, 125), {"growth": True, "full_copy": True}
    calm = decided(filling(small, steadily(30.0, 4.0)), **copies)
    assert isinstance(calm.answer, Act), calm.summary
    assert calm.answer.plan.full_copy
    no = Declined(
        decision_id="0" * 20, at=NOW, until=NOW + timedelta(days=1),
        target=calm.answer.plan.target, price_change_usd=calm.answer.plan.price_change_usd,
        rejected=True,
    )  # fmt: skip
    for free in (30.0, 26.0):  # by now it needs a little more
        then = decided(
            filling(small, steadily(free, 4.0)), resource_state(declined=(no,)), **copies
        )
        assert isinstance(then.answer, Hold), then.summary
        assert then.answer.reason is Reason.DECLINED


@pytest.mark.parametrize("rejected", [True, False], ids=["declined", "not answered"])
def test_growth_that_needs_nobody_is_made_unless_a_person_declined_it_with_the_raise(
    rejected: bool,
) -> None:
    dear = {**WIDE, "approve_above_usd": Decimal(20)}
    both = decided(starving(45.0, 4.0), **dear)
    assert isinstance(both.answer, Act)
    assert both.answer.approval is not None
    asked = both.answer.plan
    assert asked.grows
    assert not asked.only_for_space
    no = Declined(
        decision_id="0" * 20, at=NOW, until=NOW + timedelta(days=1), target=asked.target,
        price_change_usd=asked.price_change_usd, rejected=rejected,
    )  # fmt: skip
    then = decided(starving(45.0, 4.0), resource_state(declined=(no,)), **dear)
    grows = isinstance(then.answer, Act) and then.answer.plan.only_for_space
    assert grows != rejected, then.summary


def test_within_the_first_hour_people_may_still_approve_of_both() -> None:
    dear = {**WIDE, "approve_above_usd": Decimal(20)}
    request = asked_of(decided(starving(45.0, 4.0), **dear))
    fresh = resource_state(approval_request=replace(request, requested_at=NOW))
    assert isinstance(decided(starving(45.0, 4.0), fresh, **dear).answer, Hold)
    old = resource_state(approval_request=replace(request, requested_at=NOW - timedelta(hours=1)))
    grown = decided(starving(45.0, 4.0), old, **dear).answer
    assert isinstance(grown, Act)
    assert grown.plan.only_for_space
    assert grown.approval is None


@pytest.mark.parametrize("free", [45.0, 500.0], ids=["with growth", "without"])
def test_a_raise_asks_with_what_was_added_before_whether_growth_comes_with_it_or_not(
    free: float,
) -> None:
    load = decided(starving(free, 4.0), **WIDE)
    assert isinstance(load.answer, Act)
    assert load.answer.plan.grows == (free < 100)
    above = load.answer.plan.price_change_usd + 1
    before = resource_state(resource_increase_usd=Decimal(2), account_increase_usd=Decimal(2))
    asks = decided(starving(free, 4.0), before, **WIDE, approve_above_usd=above)
    assert isinstance(asks.answer, Act)
    assert "with $2.00 before" in (asks.answer.approval or "")
    request = replace(asked_of(asks), requested_at=NOW - timedelta(hours=1))
    waits = replace(before, approval_request=request)
    then = decided(starving(free, 4.0), waits, **WIDE, approve_above_usd=above).answer
    assert (isinstance(then, Act) and then.plan.only_for_space) == (free < 100)


def test_while_a_person_is_asked_about_growth_nothing_else_takes_its_place() -> None:
    roomy = filling(rds(GP3, 500, 20_000, 500), steadily(45.0, 4.0))
    dear = {**WIDE, "approve_above_usd": Decimal(5)}
    first = decided(roomy, **dear)
    assert isinstance(first.answer, Act)
    assert (first.answer.plan.only_for_space, first.answer.approval is not None) == (True, True)
    waits = decided(roomy, resource_state(approval_request=asked_of(first)), **dear)
    assert isinstance(waits.answer, Hold)
    assert waits.answer.reason is Reason.AWAITING_APPROVAL
    alone = decided(filling(rds(GP3, 500, 20_000, 500), lambda _: 200.0, days=40), **dear)
    assert isinstance(alone.answer, Act)
    assert alone.answer.reason is Reason.SCALING_DOWN  # what would have taken its place


def test_rds_cannot_grow_what_it_works_on_and_the_owner_hears_of_it() -> None:
    change = modification(
        rds(GP3, 200), origin=rds(GP3, 200), started_at=NOW - timedelta(hours=1),
        state=ModificationState.OPTIMIZING,
    )  # fmt: skip
    owned = filling(
        free=lambda h: 10.0 + 20.0 * min(h, 1.0), about=facts(max_allocated_gib=900),
        modification=change,
    )  # fmt: skip
    decision = decided(owned)
    assert isinstance(decision.answer, Escalate), decision.summary
    assert decision.answer.cause == "space_autoscaling_waits_today"
    assert isinstance(decided(replace(owned, modification=None)).answer, Hold)


def test_what_is_low_and_not_clear_is_reported_and_nothing_is_grown_for_it() -> None:
    silent = filling(free=lambda h: None if h < 2 else 6.0)
    decision = decided(silent)
    assert isinstance(decision.answer, Escalate), decision.summary
    assert decision.answer.cause == "space_unclear"
    plenty = decided(filling(free=lambda h: None if h < 2 else 60.0))
    assert isinstance(plenty.answer, Hold)
    assert plenty.answer.reason is Reason.FREE_SPACE_UNCERTAIN


def asked_of(decision: Decision) -> ApprovalRequest:
    assert isinstance(decision.answer, Act)
    plan = decision.answer.plan
    return ApprovalRequest(
        decision_id=decision.decision_id, requested_at=decision.at, expires=NOW + timedelta(hours=8),
        origin=plan.origin, target=plan.target, price_change_usd=plan.price_change_usd,
        approved_at=NOW, approved_by="sam",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "iops"), [(GP3, None), (VolumeType.GP2, None), (VolumeType.IO1, 3_000)]
)
def test_growth_that_a_person_agreed_to_is_done_though_a_little_more_was_filled_since(
    kind: VolumeType, iops: int | None
) -> None:
    rules = database_policy(mode=Mode.APPROVE, grow_space=True)
    before = filling(rds(kind, 200, iops), steadily(20.5, 2.0))
    decision = decide(decision_input(before, rules=rules))
    later = decision_input(filling(rds(kind, 200, iops), steadily(19.0, 2.0)), rules=rules)
    again = revalidate(later, decision, asked_of(decision))
    assert isinstance(again, Proceed), again
    enough = decision_input(filling(rds(kind, 200, iops), lambda _: 90.0), rules=rules)
    assert isinstance(revalidate(enough, decision, asked_of(decision)), Withdrawal)


def test_a_window_holds_growth_and_the_owner_hears_if_it_opens_too_late() -> None:
    sunday = parse_window("Sun 00:00-04:00 UTC")  # it is Monday noon
    slow = decided(filling(free=steadily(20.5, 2.0)), change_windows=(sunday,))
    assert isinstance(slow.answer, Hold), slow.summary
    assert slow.answer.reason is Reason.BLOCKED_TEMPORARILY
    assert slow.answer.until is not None
    fast = decided(filling(free=steadily(8.0, 2.0)), change_windows=(sunday,))
    assert isinstance(fast.answer, Escalate), fast.summary
    assert fast.answer.cause == "space_change_window_too_late"
    assert "2026-01-11 00:00" in fast.answer.remedy


def test_approval_is_asked_for_before_it_grows() -> None:
    decision = decided(mode=Mode.APPROVE)
    assert isinstance(decision.answer, Act)
    assert decision.answer.approval is not None


STARVED = activity(
    [6_000.0] * 150 + [12_000.0] * 30, queue=[1.0] * 150 + [900.0 + 600 * i for i in range(30)],
    iops_check=None, mibps_check=None, latency_ms=[1.0] * 150 + [300.0] * 30,
)  # fmt: skip
WIDE = {"max_iops": 64_000, "max_throughput_mibps": 4_000, "price_increase_usd": Decimal(900)}


def starving(free: float, gib_per_day: float) -> Observation:
    return filling(rds(GP3, 500, 12_000, 500), steadily(free, gib_per_day), load=STARVED)


def test_one_change_gives_both_space_and_what_the_load_wants() -> None:
    decision = decided(starving(20.0, 4.0), **WIDE)
    assert isinstance(decision.answer, Act), decision.summary
    target = decision.answer.plan.target
    assert target.size_gib > 550
    assert (target.iops or 0) > 12_000
    assert decision.answer.reason is Reason.LOW_FREE_SPACE


def test_nothing_but_space_is_changed_while_a_database_is_about_to_be_full() -> None:
    notified = resource_state(escalated_causes=("space_max_size_today",))
    decision = decided(starving(3.0, 8.0), notified, max_size_gib=500, **WIDE)
    assert isinstance(decision.answer, Hold), decision.summary
    assert all(
        Guardrail.FREE_SPACE in {v.guardrail for v in j.blocking}
        for j in decision.judgements
        if not j.plan.grows
    )


def test_our_own_change_in_flight_holds_growth() -> None:
    change = modification(
        rds(GP3, 200), origin=rds(GP3, 200), started_at=NOW - timedelta(hours=1),
        state=ModificationState.OPTIMIZING,
    )  # fmt: skip
    decision = decided(filling(modification=change))
    assert isinstance(decision.answer, Hold)
    assert blocking(decision) == {Guardrail.IN_FLIGHT}
    soon = decided(replace(filling(free=lambda h: 12.0 + 6.0 * min(h, 1.0)), modification=change))
    assert isinstance(soon.answer, Escalate), soon.summary
    assert soon.answer.cause == "space_in_flight_too_late_today"


def test_what_is_about_to_be_full_goes_before_what_starves_less_long() -> None:
    places = ConcurrencyState(in_flight=tuple(
        InFlight(resource=f"r{n}", decision_id=f"{n}", since=NOW, zone="us-east-1b")
        for n in range(20)
    ))  # fmt: skip
    ranks = []
    for free in (20.5, 1.5):
        decision = decided(filling(free=steadily(free, 2.0)), resource_state(concurrency=places))
        assert isinstance(decision.answer, Hold), decision.summary
        waits = queue_entry_of(decision)
        assert waits is not None
        ranks.append((waits.starved_minutes, waits.rank))
    assert ranks[0][0] == 0
    assert 200 < ranks[1][0] < 1_440
    assert ranks[1][1] < ranks[0][1]


def test_where_rds_takes_less_than_is_needed_all_that_it_takes_is_grown_to() -> None:
    far = filling(rds(GP3, 50_000, 12_000, 500), steadily(4_000.0, 2_000.0))
    decision = decided(far, max_size_gib=65_536, price_increase_usd=Decimal(9_000))
    assert isinstance(decision.answer, Act), decision.summary
    assert decision.answer.plan.target.size_gib == 65_536


def test_what_rds_says_it_takes_is_what_it_grows_to() -> None:
    valid = ValidStorage(volume_type=GP3, size_gib=(Span(low=220, high=390, step=10),))
    grown = decided(filling(valid=(valid,)))
    assert isinstance(grown.answer, Act), grown.summary
    assert grown.answer.plan.target.size_gib == 240
    full = ValidStorage(volume_type=GP3, size_gib=(Span(low=200, high=200),))
    none = decided(filling(valid=(full,)))
    assert isinstance(none.answer, Escalate), none.summary
    assert none.answer.cause == "space_no_plan"


@pytest.mark.parametrize(
    ("free", "per_day", "told"),
    [
        pytest.param(19.3, 20.0, False, id="RDS has some minutes"),
        pytest.param(18.0, 19.0, True, id="it had more than an hour"),
        pytest.param(18.0, 4.0, False, id="not full within a day"),
    ],
)
def test_the_owner_hears_where_rds_does_not_grow_what_it_should(
    free: float, per_day: float, *, told: bool
) -> None:
    decision = decided(filling(free=steadily(free, per_day), about=facts(max_allocated_gib=900)))
    cause = decision.answer.cause if isinstance(decision.answer, Escalate) else None
    assert cause == ("space_autoscaling_late_today" if told else None), decision.summary


@pytest.mark.parametrize(
    ("size_gib", "limits", "to_gib"),
    [
        pytest.param(330, {}, 399, id="another tenth would cross 400 GiB"),
        pytest.param(300, {}, 331, id="another tenth is left"),
        pytest.param(330, {"growth": True, "full_copy": True}, 363, id="it may be copied"),
        pytest.param(330, {"max_size_gib": 380}, 380, id="no more than the owner allows"),
        pytest.param(330, {"approve_above_usd": Decimal(5)}, 363, id="nobody has to approve it"),
    ],
)
def test_the_last_growth_below_a_full_copy_is_as_large_as_it_may_be(
    size_gib: int, limits: dict[str, object], to_gib: int
) -> None:
    filled = filling(rds(GP3, size_gib), free=steadily(size_gib * 0.1 + 0.5, 2.0))
    decision = decided(filled, **limits)
    assert isinstance(decision.answer, Act), decision.summary
    assert decision.answer.plan.target.size_gib == to_gib
