"""What changed between the read of a volume and the call is noticed; what AWS still shows of before is not believed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from headroom.domain.policy import Freeze, Policy, PolicyUnreadable, parse_window
from headroom.domain.resources import Modification, ResourceRef
from headroom.domain.state import INDEFINITE
from headroom.ports import ReadFailed, StorageView
from tests.application.harness import Harness, reconcile_now
from tests.builders import NOW, policy, volume


@dataclass
class Meanwhile(Harness):
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
def harness() -> Meanwhile:
    return Meanwhile()


def changes(harness: Harness, vol: ResourceRef) -> bool:
    return harness.view(vol).modification is not None


def test_nothing_happens_meanwhile_and_the_volume_is_changed(harness: Meanwhile) -> None:
    vol = harness.add(volume())
    reconcile_now(harness.ports, vol, harness.now, trigger="alarm")
    assert changes(harness, vol)


def tightened(harness: Meanwhile) -> None:
    harness.rules = replace(policy(), version="tightened")


def unreadable(harness: Meanwhile) -> None:
    harness.rules = PolicyUnreadable(reason="AccessDenied")


def paused(harness: Meanwhile) -> None:
    harness.ledger.pause(INDEFINITE, at=harness.now, who="alice", reason="incident")


def unknown(harness: Meanwhile) -> None:
    def fails(*_: object) -> None:
        harness.ledger.resource_state = read  # type: ignore[method-assign]
        raise ReadFailed("DynamoDB did not answer")

    read = harness.ledger.resource_state
    harness.ledger.resource_state = fails  # type: ignore[assignment,method-assign]


def retagged(harness: Meanwhile) -> None:
    harness.volumes["vol-1"] = replace(harness.volumes["vol-1"], tags=(("headroom", "off"),))


def slow(harness: Meanwhile) -> None:
    harness.passed = timedelta(seconds=61)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (tightened, "the policy was changed meanwhile"),
        (unreadable, "cannot be read any more: AccessDenied"),
        (paused, "all changes were paused meanwhile"),
        (unknown, "whether changes are paused cannot be read: DynamoDB did not answer"),
        (retagged, "its tags changed since it was decided on"),
        (slow, "it was decided 61 s ago"),
    ],
    ids=["tightened", "unreadable", "paused", "unknown", "retagged", "slow"],
)
def test_between_intent_and_call_the_owner_is_heard(
    harness: Meanwhile, event: Callable[[Meanwhile], None], said: str
) -> None:
    vol = harness.add(volume())
    harness.happens = lambda: event(harness)
    decision = reconcile_now(harness.ports, vol, harness.now, trigger="alarm")
    assert decision is not None
    assert not changes(harness, vol)
    assert harness.steps(vol) == ["act", "intended", "stale"]
    assert said in harness.ledger.chain(decision.decision_id)[-1].summary
    state = harness.ledger.resource_state(vol, harness.now)
    assert (state.open_chain, state.resource_increase_usd) == (None, 0)


FROZEN = replace(
    policy(), freezes=(Freeze(begins=NOW, until=NOW + timedelta(days=9), reason="sale"),)
)


@pytest.mark.parametrize(
    ("rules", "passed", "said"),
    [
        (FROZEN, 29, None),
        (FROZEN, 31, "a freeze began meanwhile"),
        (policy(change_windows=(parse_window("Mon-Sun 02:00-12:00 UTC"),)), 29, None),
        (policy(change_windows=(parse_window("Mon-Sun 02:00-12:00 UTC"),)), 31, "window closed"),
    ],
)
def test_nothing_is_sent_once_a_freeze_began_or_the_window_closed(
    harness: Meanwhile, rules: Policy, passed: int, said: str | None
) -> None:
    harness.rules, harness.passed = rules, timedelta(seconds=passed)
    harness.now = NOW - timedelta(seconds=30)
    vol = harness.add(volume())
    decision = reconcile_now(harness.ports, vol, harness.now, trigger="alarm")
    assert decision is not None
    assert changes(harness, vol) is (said is None)
    assert (said or "") in harness.ledger.chain(decision.decision_id)[-1].summary


def test_what_was_not_sent_is_decided_anew_a_minute_later(harness: Meanwhile) -> None:
    vol = harness.add(volume())
    harness.happens = lambda: slow(harness)
    reconcile_now(harness.ports, vol, harness.now, trigger="alarm")
    harness.happens, harness.passed = lambda: None, timedelta(0)
    (due,) = harness.ledger.due(harness.now + timedelta(minutes=1), 10)
    reconcile_now(harness.ports, due.ref, harness.later(minutes=1), trigger="due")
    assert changes(harness, vol)


@dataclass
class Late(Harness):
    """EC2's describe calls show the past for a while after a change."""

    shows: dict[str, StorageView] = field(default_factory=dict)

    def view(self, ref: ResourceRef) -> StorageView:
        return self.shows.get(ref.resource_id) or super().view(ref)


@pytest.mark.parametrize("seconds", [0, 5, 60, 119])
def test_a_read_of_before_the_change_ends_no_chain(seconds: int) -> None:
    harness = Late()
    vol = harness.add(volume())
    before = harness.view(vol)
    reconcile_now(harness.ports, vol, harness.now, trigger="alarm")
    harness.shows[vol.resource_id] = before
    reconcile_now(harness.ports, vol, harness.later(seconds=seconds), trigger="alarm")
    assert harness.steps(vol) == ["act", "intended", "applied"]
    state = harness.ledger.resource_state(vol, harness.now)
    assert state.open_chain is not None
    assert harness.lifecycles[vol.resource_id].modification(harness.now) is not None
    harness.shows.clear()
    reconcile_now(harness.ports, vol, harness.later(minutes=3), trigger="due")
    assert harness.steps(vol) == ["act", "intended", "applied"], "it has not landed yet"


def test_two_alarms_for_one_volume_make_one_change() -> None:
    """The second reconciliation read the volume before the first one's call, and goes on after it."""
    harness = Late()
    vol = harness.add(volume())
    second = harness.view(vol)
    first_at = harness.now
    reconcile_now(harness.ports, vol, first_at, trigger="alarm")
    started: Modification | None = harness.view(vol).modification
    harness.shows[vol.resource_id] = second
    reconcile_now(harness.ports, vol, first_at + timedelta(seconds=2), trigger="alarm")
    harness.shows.clear()
    assert harness.steps(vol) == ["act", "intended", "applied"]
    assert harness.view(vol).modification == started


def test_a_change_that_somebody_replaced_is_diverged_once_aws_has_settled() -> None:
    harness = Harness()
    vol = harness.add(volume())
    reconcile_now(harness.ports, vol, harness.now, trigger="alarm")
    harness.later(hours=7)
    other = replace(harness.view(vol).volume.configuration, iops=5_000)
    harness.change(vol, other)
    at: datetime = harness.later(minutes=30)
    reconcile_now(harness.ports, vol, at, trigger="due")
    assert "diverged" in harness.steps(vol)
