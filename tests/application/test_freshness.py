"""What changed between the look at a volume and the call is heard; what AWS still shows of before is not believed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from headroom.domain.policy import Policy, PolicyUnreadable
from headroom.domain.resources import Modification, ResourceRef
from headroom.domain.state import INDEFINITE
from headroom.ports import ReadFailed, StorageView
from tests.application.harness import Stage, reconcile_now
from tests.builders import policy, volume


@dataclass
class Meanwhile(Stage):
    """Something happens once the intent is durable, before the policy is read anew."""

    happens: Callable[[], None] = lambda: None
    passed: timedelta = timedelta(0)

    def fresh(self) -> Policy | PolicyUnreadable:
        self.happens()
        return self.rules

    @property
    def ports(self):  # type: ignore[no-untyped-def]
        return replace(super().ports, clock=lambda: self.now + self.passed)


@pytest.fixture
def stage() -> Meanwhile:
    return Meanwhile()


def changes(stage: Stage, vol: ResourceRef) -> bool:
    return stage.view(vol).modification is not None


def test_nothing_happens_meanwhile_and_the_volume_is_changed(stage: Meanwhile) -> None:
    vol = stage.add(volume())
    reconcile_now(stage.ports, vol, stage.now, trigger="alarm")
    assert changes(stage, vol)


def tightened(stage: Meanwhile) -> None:
    stage.rules = replace(policy(), version="tightened")


def unreadable(stage: Meanwhile) -> None:
    stage.rules = PolicyUnreadable(reason="AccessDenied")


def paused(stage: Meanwhile) -> None:
    stage.ledger.pause(INDEFINITE, at=stage.now, who="alice", reason="incident")


def unknown(stage: Meanwhile) -> None:
    def fails(*_: object) -> None:
        stage.ledger.resource_state = read  # type: ignore[method-assign]
        raise ReadFailed("DynamoDB did not answer")

    read = stage.ledger.resource_state
    stage.ledger.resource_state = fails  # type: ignore[assignment,method-assign]


def slow(stage: Meanwhile) -> None:
    stage.passed = timedelta(seconds=61)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (tightened, "the policy was changed meanwhile"),
        (unreadable, "cannot be read any more: AccessDenied"),
        (paused, "all changes were paused meanwhile"),
        (unknown, "whether changes are paused cannot be read: DynamoDB did not answer"),
        (slow, "it was decided 61 s ago"),
    ],
    ids=["tightened", "unreadable", "paused", "unknown", "slow"],
)
def test_between_intent_and_call_the_owner_is_heard(
    stage: Meanwhile, event: Callable[[Meanwhile], None], said: str
) -> None:
    vol = stage.add(volume())
    stage.happens = lambda: event(stage)
    decision = reconcile_now(stage.ports, vol, stage.now, trigger="alarm")
    assert decision is not None
    assert not changes(stage, vol)
    assert stage.steps(vol) == ["act", "intended", "stale"]
    assert said in stage.ledger.chain(decision.decision_id)[-1].summary
    state = stage.ledger.resource_state(vol, stage.now)
    assert (state.open_chain, state.resource_increase_usd) == (None, 0)


def test_what_was_not_sent_is_decided_anew_a_minute_later(stage: Meanwhile) -> None:
    vol = stage.add(volume())
    stage.happens = lambda: slow(stage)
    reconcile_now(stage.ports, vol, stage.now, trigger="alarm")
    stage.happens, stage.passed = lambda: None, timedelta(0)
    (due,) = stage.ledger.due(stage.now + timedelta(minutes=1), 10)
    reconcile_now(stage.ports, due.ref, stage.later(minutes=1), trigger="due")
    assert changes(stage, vol)


@dataclass
class Late(Stage):
    """EC2's describe calls show the past for a while after a change."""

    shows: dict[str, StorageView] = field(default_factory=dict)

    def view(self, ref: ResourceRef) -> StorageView:
        return self.shows.get(ref.resource_id) or super().view(ref)


@pytest.mark.parametrize("seconds", [0, 5, 60, 119])
def test_a_read_of_before_the_change_ends_no_chain(seconds: int) -> None:
    stage = Late()
    vol = stage.add(volume())
    before = stage.view(vol)
    reconcile_now(stage.ports, vol, stage.now, trigger="alarm")
    stage.shows[vol.resource_id] = before
    reconcile_now(stage.ports, vol, stage.later(seconds=seconds), trigger="alarm")
    assert stage.steps(vol) == ["act", "intended", "applied"]
    state = stage.ledger.resource_state(vol, stage.now)
    assert state.open_chain is not None
    assert stage.lifecycles[vol.resource_id].modification(stage.now) is not None
    stage.shows.clear()
    reconcile_now(stage.ports, vol, stage.later(minutes=3), trigger="due")
    assert stage.steps(vol) == ["act", "intended", "applied"], "it has not landed yet"


def test_two_alarms_for_one_volume_make_one_change() -> None:
    """The second look read the volume before the first one's call, and goes on after it."""
    stage = Late()
    vol = stage.add(volume())
    second = stage.view(vol)
    first_at = stage.now
    reconcile_now(stage.ports, vol, first_at, trigger="alarm")
    started: Modification | None = stage.view(vol).modification
    stage.shows[vol.resource_id] = second
    reconcile_now(stage.ports, vol, first_at + timedelta(seconds=2), trigger="alarm")
    stage.shows.clear()
    assert stage.steps(vol) == ["act", "intended", "applied"]
    assert stage.view(vol).modification == started


def test_a_change_that_somebody_replaced_is_diverged_once_aws_has_settled() -> None:
    stage = Stage()
    vol = stage.add(volume())
    reconcile_now(stage.ports, vol, stage.now, trigger="alarm")
    stage.later(hours=7)
    other = replace(stage.view(vol).volume.configuration, iops=5_000)
    stage.change(vol, other)
    at: datetime = stage.later(minutes=30)
    reconcile_now(stage.ports, vol, at, trigger="due")
    assert "diverged" in stage.steps(vol)
