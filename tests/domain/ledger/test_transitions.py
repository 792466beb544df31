"""How records move the state of a resource, where the ledgers' own tests do not reach."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import Act, Decision, Escalate, Reason
from headroom.domain.ledger import after_decided, after_step, resource_state_of
from headroom.domain.planning.plan import SpaceGrowth
from headroom.domain.resources import Instance, InstanceLimits, ModificationState
from headroom.domain.state import (
    AccountStopState,
    KnownModification,
    Notified,
    Refusal,
    Step,
    StoredState,
    declined,
)
from headroom.domain.workload import Binding
from tests.builders import NOW, gp2, gp3, modification
from tests.contracts.decisions import ENROLMENT, act, escalate, hold


@pytest.mark.parametrize(
    ("state", "price"),
    [
        (ModificationState.MODIFYING, None),
        (ModificationState.OPTIMIZING, ENROLMENT),
        (ModificationState.COMPLETED, ENROLMENT),
        (ModificationState.FAILED, ENROLMENT),
    ],
)
def test_a_volume_is_not_enrolled_at_a_price_that_is_about_to_change(
    state: ModificationState, price: Decimal | None
) -> None:
    """While a change of its owner lands AWS describes, and prices, what was before it."""
    decision = hold("h1")
    seen = replace(decision.observation, modification=modification(gp2(), state=state))
    moved = after_decided(StoredState(), replace(decision, observation=seen), None)
    assert moved.enrolment_usd == price


def test_a_file_system_that_cannot_follow_holds_back_growth_and_opens_no_breaker() -> None:
    state, again = StoredState(), NOW + timedelta(hours=6)
    for number in range(20):
        state = after_step(
            state, f"d{number}", Step.REFUSED, at=NOW, due_at=again,
            body={"outcome": declined(Refusal.FILE_SYSTEM, "its instance is not online")},
        )  # fmt: skip
    assert state.growth_not_before == again
    assert (state.retry_not_before, state.failures_in_a_row, state.breaker_opened_at) == (
        None, 0, None,
    )  # fmt: skip


@pytest.mark.parametrize("why", [Refusal.IN_FLIGHT, Refusal.THROTTLED])
def test_refusals_in_a_row_are_known_since_the_first(why: Refusal) -> None:
    def after(state: StoredState, minutes: int, step: Step, **body: object) -> StoredState:
        at = NOW + timedelta(minutes=minutes)
        return after_step(state, f"d{minutes}", step, at=at, due_at=at, body=body)

    def since(state: StoredState, minutes: int) -> datetime | None:
        return resource_state_of(
            state, account_micro_usd=0, stop_state=AccountStopState(),
            now=NOW + timedelta(minutes=minutes),
        ).refused_since  # fmt: skip

    state = StoredState()
    for minutes in (0, 15, 60, 120):
        state = after(state, minutes, Step.REFUSED, outcome=declined(why, "not now"))
        assert since(state, minutes) == NOW
    assert (since(state, 180), since(state, 181)) == (NOW, None), "no longer in a row"
    anew = after(state, 181, Step.REFUSED, outcome=declined(why, "not now"))
    assert since(anew, 181) == NOW + timedelta(minutes=181)
    denied = after(state, 130, Step.REFUSED, outcome=declined(Refusal.DENIED, "no"))
    applied = after(state, 130, Step.APPLIED)
    assert (since(denied, 130), since(applied, 130)) == (None, None)


@pytest.mark.parametrize(
    ("binding", "kept"),
    [
        (Binding.VOLUME_IOPS, ("latency", "max_iops")),
        (Binding.LATENCY, ("latency",)),
        (Binding.NOTHING, ()),
    ],
)
def test_an_episode_of_load_ends_where_no_limit_is_touched_however_slow_operations_are(
    binding: Binding, kept: tuple[str, ...]
) -> None:
    told = StoredState(escalated_causes=("latency", "max_iops"))
    assert after_decided(told, hold("d1", binding=binding), None).escalated_causes == kept


def test_after_a_raise_the_owner_hears_again_of_a_limit_that_is_still_too_low() -> None:
    """In the same episode: the raise took all that the owner allowed more."""
    told = StoredState(escalated_causes=("max_iops+price_per_resource", "closed_loop", "growth"))
    raised = after_decided(told, act("d1"), None)
    assert raised.escalated_causes == ("closed_loop", "growth")
    assert (
        after_decided(raised, escalate("d2", "max_iops"), None).escalated_causes[-1] == "max_iops"
    )
    assert after_decided(told, hold("d1"), None).escalated_causes == told.escalated_causes


def test_what_the_owner_heard_of_in_an_earlier_episode_is_no_news_after_the_next_raise() -> None:
    """The same load every night, raised to the same ceiling every night: one message a week."""
    a_week = NOW + timedelta(days=7)
    known = (
        Notified(cause="max_iops", until=a_week), Notified(cause="instance_iops", until=a_week),
        Notified(cause="slots", until=NOW),
    )  # fmt: skip
    earlier = StoredState(notified=known)
    assert after_decided(earlier, raised_before("d1"), None).notified == known[:2]
    present = StoredState(notified=known, escalated_causes=("max_iops", "instance_iops"))
    assert after_decided(present, raised_before("d1"), None).notified == known[1:2]


def test_a_raise_to_more_than_ever_shows_that_the_owner_moved_a_limit() -> None:
    """In the evening, after the load: the next morning it is too low again."""
    known = (Notified(cause="max_iops", until=NOW + timedelta(days=7)),)
    assert after_decided(StoredState(notified=known), act("d1"), None).notified == ()


def test_an_instance_that_is_too_small_is_reported_once_a_week_and_another_type_again() -> None:
    def seen(decision: Decision, kind: str) -> Decision:
        limits = InstanceLimits(
            instance_type=kind, nitro=True, baseline_iops=4_000, baseline_mibps=80.0,
            maximum_iops=20_000, maximum_mibps=600.0,
        )  # fmt: skip
        instance = Instance(instance_id="i-1", limits=limits, volume_ids=())
        return replace(decision, observation=replace(decision.observation, instance=instance))

    small = escalate("d1", "instance_iops")
    assert isinstance(small.answer, Escalate)
    small = replace(small, answer=replace(small.answer, reason=Reason.INSTANCE_LIMITED))
    told = after_decided(StoredState(), seen(small, "m5.large"), None)
    assert [one.cause for one in told.notified] == ["instance_iops"]
    assert told.notified[0].until == NOW + timedelta(days=7)
    assert after_decided(told, seen(hold("d2"), "m5.large"), None).notified == told.notified
    assert after_decided(told, seen(hold("d3"), "m5.xlarge"), None).notified == ()
    detached = hold("d4")
    detached = replace(detached, observation=replace(detached.observation, instance=None))
    assert after_decided(told, detached, None).notified == told.notified


def test_a_limit_is_news_once_less_for_the_load_makes_way_for_growth() -> None:
    made = act("d1")
    assert isinstance(made.answer, Act)
    growth = SpaceGrowth(needed_gib=900, target_size_gib=660, free_gib=20.0, alone=False)
    plan = replace(
        made.answer.plan, origin=gp3(400, 16_000, 500), target=gp3(660, 12_000, 500), growth=growth,
        capability=capability(gp3(660, 12_000, 500)),
    )  # fmt: skip
    cut = replace(made, answer=replace(made.answer, plan=plan))
    known = (Notified(cause="price_per_resource", until=NOW + timedelta(days=7)),)
    told = StoredState(notified=known, escalated_causes=("price_per_resource", "space_today"))
    after = after_decided(told, cut, None)
    assert (after.notified, after.escalated_causes) == ((), ())


def raised_before(decision_id: str) -> Decision:
    """A raise that was made an earlier night, too."""
    again = act(decision_id)
    assert isinstance(again.answer, Act)
    plan = again.answer.plan
    earlier = KnownModification(
        started_at=NOW - timedelta(days=1), by="headroom", origin=plan.origin, target=plan.target
    )
    return replace(again, resource_state=replace(again.resource_state, modifications=(earlier,)))
