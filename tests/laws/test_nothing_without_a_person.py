"""Under `approve` nothing is ever done that nobody agreed to, in any order of events and crashes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.application import sweep
from headroom.domain.decision import Act, Decision
from headroom.domain.policy import Mode
from headroom.domain.state import (
    DAY,
    MAX_UNANSWERED,
    TRIED_AGAIN,
    Outcome,
    Record,
    Refusal,
    Refused,
    Step,
    Unknown,
    broken_link,
)
from headroom.proving.awsrules import ModificationRefused
from tests.application.harness import Harness, calm, reconcile_now, starving
from tests.builders import NOW, activity, gp3, policy, ref, volume

EVER = {"since": NOW - timedelta(days=1), "until": NOW + timedelta(days=400)}
WRITES = ("decided", "append", "intend")
OUTCOMES: tuple[Outcome, ...] = (
    Unknown(detail="timed out"),
    Refused(refusal=Refusal.SLOTS, code="VolumeModificationRateExceeded", message="no",
            retry_at=None),
    Refused(refusal=Refusal.DENIED, code="UnauthorizedOperation", message="no", retry_at=None),
)  # fmt: skip
LOADS = (starving, calm, lambda: activity([5_900.0] * 180, queue=900.0, iops_check=1.0))


class Killed(RuntimeError):
    """The function died between two writes."""


@dataclass
class World:
    """A volume, an owner who changes the policy, people who answer, and functions that die."""

    harness: Harness = field(default_factory=lambda: Harness(rules=policy(mode=Mode.APPROVE)))
    seen: set[str] = field(default_factory=set)
    people: int = 0

    def __post_init__(self) -> None:
        self.harness.add(volume(tags=()))

    def chains(self) -> dict[str, tuple[Record, ...]]:
        ledger = self.harness.ledger
        every = ledger.by_resource(ref().arn, **EVER)
        return {r.decision_id: ledger.chain(r.decision_id) for r in every}

    def asked_for(self, ordered: list[str], pick: int) -> str:
        return ordered[pick % len(ordered)] if ordered else "nothing"


Event = Callable[[World], None]


def minutes(count: int, each: int = 1) -> Event:
    def event(world: World) -> None:
        for _ in range(count):
            world.harness.later(minutes=each)
            sweep(world.harness.ports, world.harness.now)

    return event


def alarm(world: World) -> None:
    reconcile_now(world.harness.ports, ref(), world.harness.now, trigger="alarm", must_record=True)


def answer(step: Step, pick: int) -> Event:
    def event(world: World) -> None:
        world.people += 1
        name = world.asked_for(sorted(world.chains()), pick)
        waiting = world.harness.ledger.resource_state(ref(), world.harness.now).approval_request
        if waiting is not None and pick % 4:
            name = waiting.decision_id
        world.harness.ledger.answer(name, step, at=world.harness.now, who=f"person {world.people}")

    return event


def agrees(then: Event) -> Event:
    """Somebody approves what waits, and something happens after it."""

    def event(world: World) -> None:
        answer(Step.APPROVED, 1)(world)
        then(world)

    return event


def rollback(pick: int) -> Event:
    def event(world: World) -> None:
        done = [
            name
            for name, chain in sorted(world.chains().items())
            if Step.APPLIED in {r.step for r in chain}
        ]
        world.harness.ledger.request_rollback(
            world.asked_for(done, pick), at=world.harness.now, who="a person"
        )

    return event


def rules(mode: Mode, above: int | None, automatic_rollback: bool) -> Event:
    def event(world: World) -> None:
        world.harness.rules = policy(
            mode=mode, approve_above_usd=None if above is None else Decimal(above),
            roll_back_ineffective=automatic_rollback, revert_wait_minutes=0, max_iops=9_000,
        )  # fmt: skip

    return event


def load(which: int) -> Event:
    def event(world: World) -> None:
        world.harness.loads[ref().resource_id] = LOADS[which]()
        world.harness.pressed = set() if which == 1 else {ref().resource_id}

    return event


def somebody_changes(iops: int) -> Event:
    def event(world: World) -> None:
        with suppress(ModificationRefused):
            world.harness.change(ref(), gp3(100, iops, 125))

    return event


def pauses(hours: int) -> Event:
    def event(world: World) -> None:
        until = world.harness.now + timedelta(hours=hours)
        world.harness.ledger.pause(until, at=world.harness.now, who="a person")

    return event


def answers(which: int) -> Event:
    def event(world: World) -> None:
        world.harness.answers = [OUTCOMES[which]]

    return event


def killed(write: str, after: bool) -> Event:
    def event(world: World) -> None:
        with dying(world.harness, write, after=after), suppress(Killed):
            world.harness.later(minutes=1)
            sweep(world.harness.ports, world.harness.now)
            alarm(world)

    return event


@contextmanager
def dying(harness: Harness, write: str, *, after: bool) -> Iterator[None]:
    real = getattr(harness.ledger, write)

    def dies(*arguments: object, **named: object) -> object:
        if after:
            real(*arguments, **named)
        raise Killed

    setattr(harness.ledger, write, dies)
    try:
        yield
    finally:
        delattr(harness.ledger, write)


EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(minutes, st.integers(1, 4)),
    st.builds(minutes, st.integers(1, 8), st.just(15)),
    st.builds(minutes, st.integers(1, 3), st.just(240)),
    st.just(alarm),
    st.builds(answer, st.sampled_from([Step.APPROVED, Step.REJECTED]), st.integers(0, 99)),
    st.builds(agrees, st.builds(minutes, st.integers(1, 3))),
    st.builds(agrees, st.builds(killed, st.sampled_from(WRITES), st.booleans())),
    st.builds(agrees, st.builds(minutes, st.just(8), st.just(30))),
    st.builds(rollback, st.integers(0, 99)),
    st.builds(
        rules, st.sampled_from([Mode.APPROVE, Mode.APPROVE, Mode.AUTO, Mode.OBSERVE, Mode.OFF]),
        st.sampled_from([None, 0, 10]), st.booleans(),
    ),
    st.builds(load, st.integers(0, 2)),
    st.builds(somebody_changes, st.integers(3_000, 8_000)),
    st.builds(pauses, st.integers(1, 12)),
    st.builds(answers, st.integers(0, 2)),
    st.builds(killed, st.sampled_from(WRITES), st.booleans()),
)  # fmt: skip


@given(st.lists(EVENTS, min_size=4, max_size=12))
@settings(max_examples=12, deadline=None)
def test_whatever_happens_nothing_is_done_that_nobody_agreed_to(events: list[Event]) -> None:
    world = World()
    alarm(world)
    for event in [*events, minutes(4, 15), rules(Mode.OBSERVE, None, False), minutes(27, 60)]:
        mode_before = mode(world)
        event(world)
        agreed(world, {mode_before, mode(world)})
        in_order(world)
    assert world.harness.ledger.resource_state(ref(), world.harness.now).approval_request is None
    assert world.harness.ledger.resource_state(ref(), world.harness.now).rollback is None
    assert world.harness.ledger.waiting(world.harness.now) == ()


def mode(world: World) -> Mode:
    rules = world.harness.rules
    return getattr(getattr(rules, "defaults", None), "mode", Mode.OFF)


def agreed(world: World, modes: set[Mode]) -> None:
    """Every intent since the last event had a person's word where one was needed."""
    for name, chain in world.chains().items():
        steps = [r.step for r in chain]
        if Step.INTENDED not in steps or name in world.seen:
            continue
        world.seen.add(name)
        decision = world.harness.ledger.decision(name)
        assert isinstance(decision.answer, Act)
        intended = [r for r in chain if r.step is Step.INTENDED][-1]
        body = json.loads(intended.body)
        approved = [r for r in chain[: steps.index(Step.INTENDED)] if r.step is Step.APPROVED]
        if decision.answer.approval is None:
            wished = decision.rollback_of is not None and wished_by_a_person(world, decision)
            assert decision.effective.limits.mode is Mode.AUTO or wished
            assert modes & {Mode.AUTO} or wished
            continue
        (given,) = approved
        assert json.loads(given.body)["who"].startswith("person")
        asked = [r for r in chain if r.step is Step.AWAITING][-1]
        expires = datetime.fromisoformat(json.loads(asked.body)["asked"]["expires"])
        assert asked.at <= given.at < expires
        assert intended.at < expires
        assert Decimal(body["price_change_usd"]) <= decision.answer.plan.price_change_usd
        assert from_to(body["plan"]) == from_to(json.loads(chain[0].body)["answer"]["plan"])


def from_to(plan: dict[str, object]) -> tuple[object, object]:
    return plan["origin"], plan["target"]


def wished_by_a_person(world: World, decision: Decision) -> bool:
    asked = world.harness.ledger.by_outcome("rollback_requested", **EVER)
    return any(json.loads(r.body)["decision_id"] == decision.rollback_of for r in asked)


def in_order(world: World) -> None:
    """Chains are whole, one request waits at a time, nobody is flooded, nothing is stuck."""
    harness = world.harness
    chains = world.chains()
    assert all(broken_link(chain) is None for chain in chains.values())
    resource_state = harness.ledger.resource_state(ref(), harness.now)
    stands = resource_state.approval_request
    under_way = (Step.AWAITING, Step.APPROVED, Step.INTENDED, Step.UNKNOWN)
    open_now = [
        c
        for name, c in chains.items()
        if c[-1].step in (Step.AWAITING, Step.APPROVED)
        or (
            stands is not None
            and stands.decision_id == name
            and c[-1].step in (*under_way, *TRIED_AGAIN)
        )
    ]
    assert len(open_now) <= 1
    assert [c[0].decision_id for c in open_now] == (
        []
        if resource_state.approval_request is None
        else [resource_state.approval_request.decision_id]
    )
    if resource_state.approval_request is not None or resource_state.rollback is not None:
        assert harness.ledger.next_due() is not None, "it would wait for ever"
    said = sorted(r.at for c in chains.values() for r in c if r.step is Step.REJECTED)
    pairs = zip(said, said[2 * MAX_UNANSWERED :], strict=False)  # for load, and for money alone
    assert all(late - early >= DAY for early, late in pairs)
