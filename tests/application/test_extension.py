"""When the file system of a volume that grew is extended, and what that makes of the growth."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from headroom.application.execute import is_notified, save_outcome
from headroom.application.space import after_growth, asks_instance, cannot_follow
from headroom.domain.decision import (
    Act,
    Diverged,
    Ineffective,
    Pending,
    Relieved,
    Verification,
    decide,
)
from headroom.domain.planning import Plan
from headroom.domain.policy import Mode, Policy, PolicyUnreadable, TagsMay
from headroom.domain.resources import ModificationState, Observation, Volume
from headroom.domain.state import Outcome, Refusal, Refused, Stale
from headroom.ports import Extended, Intent, NotExtended
from headroom.proving.memory import InMemoryLedger
from tests.builders import (
    ACCOUNT,
    NOW,
    REGION,
    decision_input,
    modification,
    policy,
    resource_state,
)
from tests.domain.decision.test_volume_space import GROW, disk

WAITING = Pending(next_reconcile_at=NOW, detail="free space rose by 0.0 GiB where 31 were added")
FAILED = Ineffective(cause="free space rose by 0.0 GiB where 31 were added")
DONE = Extended(size_gib=228.0, detail="file system extended: xfs, 198.0 -> 228.0 GiB")
MODIFYING, OPTIMIZING = ModificationState.MODIFYING, ModificationState.OPTIMIZING


@dataclass
class Instance:
    """An instance that answers so, and how often it was asked."""

    says: Extended | NotExtended = DONE
    asked: list[Volume] = field(default_factory=list)

    def extend(self, volume: Volume) -> Extended | NotExtended:
        self.asked.append(volume)
        return self.says


@cache
def grown() -> Plan:
    answer = decide(decision_input(disk(), rules=policy(**GROW))).answer
    assert isinstance(answer, Act)
    return answer.plan


def seen(state: ModificationState = OPTIMIZING, **changes: object) -> Observation:
    plan = grown()
    change = modification(plan.target, origin=plan.origin, state=state)
    found = disk(plan.target, file_system_gib=198.0, modification=change)
    return replace(found, volume=replace(found.volume, **changes))  # type: ignore[arg-type]


def verified(
    instance: Instance | None, found: Observation | None = None, before: Verification = WAITING, *,
    rules: Policy | PolicyUnreadable | None = None, paused_hours: float = 0.0, plan: Plan | None = None,
) -> Verification:  # fmt: skip
    until = NOW + timedelta(hours=paused_hours)
    state = resource_state(paused_until=until if paused_hours else None)
    ports: Any = SimpleNamespace(
        file_systems=instance,
        policies=SimpleNamespace(
            current=lambda: policy(**GROW), fresh=lambda: rules or policy(**GROW)
        ),
        state_store=SimpleNamespace(resource_state=lambda ref, now: state),
    )
    return after_growth(ports, found or seen(), plan or grown(), before)


WHOLE = Extended(size_gib=198.0, detail="file system already: xfs, 198.0 GiB", extended=False)


def said_before(says: Extended | NotExtended | None, plan: Plan | None = None) -> Outcome | None:
    """What a volume of 200 GiB is not grown for, when its instance says so."""
    ports: Any = SimpleNamespace(file_systems=None if says is None else Instance(says))
    asked = asks_instance(ports, disk(), plan or grown())
    return cannot_follow(ports, disk()) if asked else None


@pytest.mark.parametrize(
    ("says", "again", "why"),
    [
        (NotExtended(why="it is encrypted (LUKS)", again=False), None, "(LUKS)"),
        (NotExtended(why="not finished yet", again=True), timedelta(minutes=15), "not finished"),
        (replace(WHOLE, lacks="growpart"), None, "its instance lacks growpart"),
        (replace(WHOLE, size_gib=90.0), None, "of 200 GiB of the volume"),
    ],
)
def test_a_volume_is_not_grown_while_its_file_system_could_not_follow(
    says: Extended | NotExtended, again: timedelta | None, why: str
) -> None:
    outcome = said_before(says)
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.FILE_SYSTEM
    assert outcome.retry_at == (None if again is None else NOW + again)
    assert why in outcome.message


def test_a_volume_is_grown_where_its_file_system_can_follow_or_nobody_can_say() -> None:
    assert said_before(WHOLE) is None
    assert said_before(None) is None
    assert said_before(NotExtended(why="no", again=False), replace(grown(), growth=None)) is None


@pytest.mark.parametrize(("approval", "again"), [(None, False), ("price", True)])
def test_a_refusal_is_reported_once_and_to_who_approved_the_change_each_time(
    approval: str | None, again: bool
) -> None:
    outcome = said_before(NotExtended(why="it is encrypted (LUKS)", again=False))
    assert isinstance(outcome, Refused)
    for known, notified in (((), True), ((outcome.cause,), again)):
        state = resource_state(escalated_causes=known)
        decision = decide(decision_input(disk(), rules=policy(**GROW), stand=state))
        assert isinstance(decision.answer, Act)
        decision = replace(decision, answer=replace(decision.answer, approval=approval))
        assert is_notified(decision, outcome) is notified


@pytest.mark.parametrize(("asked_before", "minutes"), [(False, 15), (True, 60)])
def test_an_instance_that_stays_silent_is_asked_again_soon_and_then_hourly(
    asked_before: bool, minutes: int
) -> None:
    outcome = said_before(NotExtended(why="it does not respond", again=True))
    assert isinstance(outcome, Refused)
    state = resource_state(escalated_causes=(outcome.cause,) if asked_before else ())
    decision = decide(decision_input(disk(), rules=policy(**GROW), stand=state))
    ledger, ref = InMemoryLedger(ACCOUNT, REGION), disk().volume.ref
    assert ledger.decided(decision, due_at=None)
    intent = ledger.intend(decision, lease_until=NOW + timedelta(minutes=20), now=NOW)
    assert isinstance(intent, Intent)
    ports: Any = SimpleNamespace(ledger=ledger)
    save_outcome(ports, decision, outcome, intent, NOW)
    assert ledger.resource_state(ref, NOW).growth_not_before == NOW + timedelta(minutes=minutes)


def test_a_file_system_that_had_room_to_grow_is_reconciled_again_before_money_is_spent() -> None:
    outcome = said_before(
        replace(WHOLE, extended=True, detail="file system extended: 90 -> 198 GiB")
    )
    assert isinstance(outcome, Stale)
    assert "more free space" in outcome.detail


@pytest.mark.parametrize("state", [OPTIMIZING, ModificationState.COMPLETED])
@pytest.mark.parametrize("before", [WAITING, FAILED])
def test_a_file_system_that_was_extended_ends_the_growth(
    state: ModificationState, before: Verification
) -> None:
    instance = Instance()
    assert verified(instance, seen(state), before) == Relieved(detail=DONE.detail)
    assert [one.ref.resource_id for one in instance.asked] == ["vol-1"]


def test_growth_combined_with_a_change_for_the_load_goes_on_to_be_verified() -> None:
    plan = grown()
    assert plan.growth is not None
    both = replace(plan, growth=replace(plan.growth, alone=False))
    assert verified(Instance(), plan=both) == WAITING


def test_nothing_runs_again_while_the_load_is_verified_once_the_file_system_followed() -> None:
    plan, instance = grown(), Instance()
    assert plan.growth is not None
    both = replace(plan, growth=replace(plan.growth, alone=False))
    change = modification(plan.target, origin=plan.origin, state=OPTIMIZING)
    followed = disk(plan.target, file_system_gib=228.0, modification=change)
    assert verified(instance, followed, plan=both) == WAITING
    assert instance.asked == []


@pytest.mark.parametrize(
    ("says", "before", "cause"),
    [
        (NotExtended(why="it is encrypted (LUKS)", again=False), WAITING, "it is encrypted (LUKS)"),
        (NotExtended(why="busy", again=True), FAILED, "was not extended: busy"),
        (Extended(size_gib=198.0, detail="file system already: 198.0 GiB"), WAITING, "231 GiB"),
    ],
)
def test_what_could_not_be_extended_ends_with_what_to_do(
    says: Extended | NotExtended, before: Verification, cause: str
) -> None:
    found = verified(Instance(says), before=before)
    assert isinstance(found, Ineffective)
    assert cause in found.cause
    assert "yourself" in found.cause


def test_what_may_work_later_is_tried_again() -> None:
    assert verified(Instance(NotExtended(why="busy", again=True))) == WAITING


@pytest.mark.parametrize(
    ("changes", "how"),
    [
        ({"found": seen(MODIFYING)}, "AWS has not made it larger"),
        ({"found": replace(seen(), modification=None)}, "nothing is known of a change"),
        ({"found": seen(configuration=grown().origin)}, "it still has its old size"),
        ({"found": seen(instance_ids=())}, "no instance"),
        ({"found": seen(instance_ids=("i-1", "i-2"), multi_attach=True)}, "several instances"),
        ({"plan": replace(grown(), growth=None)}, "it grew for IOPS"),
        ({"before": Relieved(detail="free space rose")}, "somebody extended it"),
        ({"before": Diverged(detail="found another size")}, "somebody changed it"),
        ({"paused_hours": 1.0}, "changes are paused"),
        ({"rules": policy(**{**GROW, "grow_space": False})}, "the owner took it back"),
        (
            {"rules": policy(**{**GROW, "mode": Mode.OBSERVE, "tags_may": TagsMay.NARROW})},
            "the owner took it back",
        ),
        ({"rules": PolicyUnreadable(reason="gone")}, "the policy cannot be read"),
    ],
)
def test_nothing_runs_on_an_instance_where(changes: dict[str, Any], how: str) -> None:
    instance = Instance()
    assert verified(instance, **changes) == changes.get("before", WAITING), how
    assert instance.asked == []


def test_without_the_document_growth_is_verified_by_free_space_alone() -> None:
    assert verified(None) == WAITING
