"""Laws of the books, on the ledger in memory, whatever happens in whatever order."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headroom.domain.state import FAILURE_STEPS, INDEFINITE, MAX_FAILURES, NEXT, Step, broken_link
from headroom.domain.state.breakers import MAX_ACCOUNT_FAILURES, SUCCESS_STEPS
from headroom.ports import IllegalStep, Intent, LostLease
from headroom.proving.memory import InMemoryLedger
from tests.builders import ACCOUNT, NOW, REGION, ref
from tests.contracts.decisions import act, append

LIMIT = Decimal(100)
VOLUMES = ("vol-1", "vol-2", "vol-3")
INCREASES = ("-5", "0", "10", "33.333333", "60", "90")
ENDED_WITHOUT = {Step.FAILED, Step.REFUSED, Step.STALE, Step.NOT_APPLIED}
LANDED = {Step.RELIEVED, Step.INEFFECTIVE, Step.DIVERGED, Step.ROLLED_BACK}
OTHERWISE = {Step.INTENDED, Step.APPROVED, Step.REJECTED}
"""Steps that are never appended: intents and people's answers have a transaction of their own."""


@dataclass(slots=True)
class Model:
    """The simplest model of one resource: what landed, what may land, who holds it."""

    landed: Decimal = Decimal(0)
    maybe: dict[str, Decimal] = field(default_factory=dict)
    holder: str | None = None
    fencing: int = 0
    lease_until: datetime | None = None
    failures: int = 0
    broken: bool = False

    @property
    def own(self) -> Decimal:
        return max(self.landed, Decimal(0), *self.maybe.values())


class Books(RuleBasedStateMachine):
    """Resources come to changes and end them, leases run out, workers come back too late."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = InMemoryLedger(ACCOUNT, REGION)
        self.now = NOW
        self.models = {volume: Model() for volume in VOLUMES}
        self.chains: dict[str, tuple[str, str, list[Step], Intent | None]] = {}
        self.paused_until: datetime | None = None
        self.failures = 0
        self.broken = False

    @rule(minutes=st.integers(1, 30))
    def time_passes(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @rule(volume=st.sampled_from(VOLUMES), increase=st.sampled_from(INCREASES))
    def wish(self, volume: str, increase: str) -> None:
        name = f"d{len(self.chains)}"
        self.withdraw_what_nobody_began(volume)
        decision = act(name, volume, increase=increase, account_limit=LIMIT, at=self.now)
        assert self.ledger.decided(decision, due_at=None)
        lease_until = self.now + timedelta(minutes=20)
        answer = self.ledger.intend(decision, lease_until=lease_until, now=self.now)
        model = self.models[volume]
        cost = max(Decimal(increase), Decimal(0))
        others = sum(m.own for m in self.models.values()) - model.own
        free = model.lease_until is None or model.lease_until <= self.now
        fits = cost <= model.own or others + cost <= LIMIT
        paused = self.paused_until is not None and self.now < self.paused_until
        stopped = paused or self.broken or model.broken
        assert isinstance(answer, Intent) is (free and fits and not stopped)
        if isinstance(answer, Intent):
            assert answer.fencing == model.fencing + 1
            model.fencing, model.holder, model.lease_until = answer.fencing, name, lease_until
            model.maybe[name] = cost
            self.chains[name] = (volume, increase, [Step.DECIDED, Step.INTENDED], answer)
        else:
            self.chains[name] = (volume, increase, [Step.DECIDED], None)

    def withdraw_what_nobody_began(self, volume: str) -> None:
        for about, _, steps, _ in self.chains.values():
            if about == volume and steps == [Step.DECIDED]:
                steps.append(Step.WITHDRAWN)

    @precondition(lambda self: self.chains)
    @rule(data=st.data(), fenced=st.booleans(), wild=st.booleans())
    def happens(self, data: st.DataObject, fenced: bool, wild: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.chains)))
        likely = sorted(NEXT.get(self.chains[name][2][-1], frozenset()))
        step = data.draw(st.sampled_from(sorted(Step) if wild or not likely else likely))
        self.comes(name, step, fenced)

    def comes(self, name: str, step: Step, fenced: bool) -> None:
        """A worker that holds the lease, did once or never did appends `step` to a chain."""
        volume, increase, steps, intent = self.chains[name]
        model = self.models[volume]
        decision = act(name, volume, increase=increase)
        legal = step in NEXT.get(steps[-1], frozenset()) - OTHERWISE
        holds = model.holder == name
        try:
            append(self.ledger, decision, step, at=self.now, intent=intent if fenced else None)
        except IllegalStep:
            assert not legal
            return
        except LostLease:
            assert legal
            assert fenced
            assert not holds
            return
        assert legal
        assert holds or not fenced or intent is None
        steps.append(step)
        self.counts(model, step)
        if step is Step.GONE:
            if holds:
                model.holder, model.lease_until = None, None
            self.exists_no_more(model)
        if step in ENDED_WITHOUT | LANDED | {Step.RELEASED}:
            cost = model.maybe.pop(name, None)
            if step not in ENDED_WITHOUT and cost is not None:  # also where it may have landed
                model.landed = cost if holds else max(model.landed, cost)
            if holds:
                model.holder, model.lease_until = None, None

    def counts(self, model: Model, step: Step) -> None:
        """Enough failures in a row stop a volume, or everything; success begins anew."""
        if step in FAILURE_STEPS:
            model.failures += 1
            self.failures += 1
            model.broken = model.broken or model.failures >= MAX_FAILURES
            self.broken = self.broken or self.failures >= MAX_ACCOUNT_FAILURES
        model.failures = 0 if step in LANDED else model.failures
        self.failures = 0 if step in SUCCESS_STEPS else self.failures

    @rule(minutes=st.none() | st.integers(1, 60))
    def paused(self, minutes: int | None) -> None:
        until = None if minutes is None else self.now + timedelta(minutes=minutes)
        self.ledger.pause(until, at=self.now, who="somebody")
        self.paused_until = max(until or INDEFINITE, self.paused_until or NOW)

    @rule()
    def resumed(self) -> None:
        self.ledger.resume(at=self.now, who="somebody")
        self.paused_until = None

    @rule(volume=st.sampled_from(VOLUMES))
    def closed(self, volume: str) -> None:
        model = self.models[volume]
        was_open = model.broken or model.failures >= MAX_FAILURES
        assert self.ledger.close_breaker(ref(volume), at=self.now, who="somebody") is was_open
        if was_open:
            model.broken, model.failures = False, 0

    @rule()
    def the_accounts_breaker_is_closed(self) -> None:
        assert self.ledger.close_breaker(None, at=self.now, who="somebody") is self.broken
        if self.broken:
            self.broken, self.failures = False, 0

    @rule(volume=st.sampled_from(VOLUMES))
    def fails_until_it_breaks(self, volume: str) -> None:
        """Failures are drawn too seldom by themselves to come in a row."""
        model = self.models[volume]
        for _ in range(MAX_FAILURES):
            before = len(self.chains)
            self.wish(volume, "0")
            name = f"d{before}"
            _, _, steps, intent = self.chains[name]
            if intent is None:
                return
            append(self.ledger, act(name, volume, increase="0"), Step.REFUSED, at=self.now)
            steps.append(Step.REFUSED)
            self.counts(model, Step.REFUSED)
            model.maybe.pop(name, None)
            model.holder, model.lease_until = None, None

    @rule(volume=st.sampled_from(VOLUMES))
    def forgotten(self, volume: str) -> None:
        self.models[volume].broken = False
        self.withdraw_what_nobody_began(volume)
        self.ledger.forget(ref(volume), at=self.now)
        self.exists_no_more(self.models[volume])

    def exists_no_more(self, model: Model) -> None:
        model.landed = Decimal(0)
        model.maybe = {n: cost for n, cost in model.maybe.items() if n == model.holder}

    @rule(volume=st.sampled_from(VOLUMES))
    def owner_changes(self, volume: str) -> None:
        model = self.models[volume]
        same_price = Decimal(8)  # so that plans of the model keep their increase
        self.ledger.save_modifications(ref(volume), [], now=self.now, owner_price=same_price)
        open_now = model.holder is not None and self.chains[model.holder][2][-1] in (
            Step.INTENDED, Step.UNKNOWN,
        )  # fmt: skip
        kept = {n: cost for n, cost in model.maybe.items() if open_now and n == model.holder}
        model.maybe, model.landed = kept, Decimal(0)

    @invariant()
    def the_sum_is_the_sum_of_its_parts_and_within_the_limit(self) -> None:
        seen = {volume: self.ledger.resource_state(ref(volume), self.now) for volume in VOLUMES}
        for volume, resource_state in seen.items():
            assert resource_state.resource_increase_usd == self.models[volume].own
            assert resource_state.account_increase_usd == sum(
                s.resource_increase_usd for s in seen.values()
            )
            assert resource_state.account_increase_usd <= LIMIT

    @invariant()
    def open_breakers_are_listed(self) -> None:
        stop_state = self.ledger.stop_state()
        assert (stop_state.account.pause and stop_state.account.pause.until) == self.paused_until
        assert (stop_state.account.breaker is not None) is self.broken
        stopped = {breaker.resource for breaker in stop_state.breakers}
        assert stopped == {ref(v).arn for v, model in self.models.items() if model.broken}
        for volume, model in self.models.items():
            known = self.ledger.resource_state(ref(volume), self.now)
            assert (known.breaker_opened_at is not None) is model.broken
            assert known.failures_in_a_row == model.failures

    @invariant()
    def every_chain_is_whole(self) -> None:
        for name, (_, _, steps, _) in self.chains.items():
            chain = self.ledger.chain(name)
            assert [record.step for record in chain] == steps
            assert broken_link(chain) is None


Books.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestBooks = Books.TestCase


def test_an_answer_is_not_appended_even_where_one_is_awaited() -> None:
    """Found by a random run: the model called `approved` legal after `awaiting`."""
    books = Books()
    books.paused(minutes=None)
    books.wish("vol-1", "0")
    books.comes("d0", Step.AWAITING, fenced=False)
    for answer in (Step.APPROVED, Step.REJECTED):
        books.comes("d0", answer, fenced=False)
    books.every_chain_is_whole()
    assert books.chains["d0"][2] == [Step.DECIDED, Step.AWAITING]


def test_a_rollback_that_landed_gives_the_lease_back_and_counts_as_what_is_in_force() -> None:
    """Found by a random run: the model took a chain that ends by `rolled_back` for an open one."""
    books = Books()
    books.wish("vol-1", "60")
    books.comes("d0", Step.APPLIED, fenced=True)
    books.comes("d0", Step.ROLLED_BACK, fenced=True)
    books.wish("vol-1", "10")
    books.comes("d1", Step.APPLIED, fenced=True)
    books.comes("d1", Step.RELIEVED, fenced=True)
    books.wish("vol-2", "90")
    books.the_sum_is_the_sum_of_its_parts_and_within_the_limit()
    books.open_breakers_are_listed()
    books.every_chain_is_whole()
    assert books.chains["d2"][3] is not None


def test_a_rollback_that_landed_ends_a_row_of_failures() -> None:
    books = Books()
    books.wish("vol-1", "10")
    books.comes("d0", Step.REFUSED, fenced=True)
    books.wish("vol-1", "10")
    books.comes("d1", Step.APPLIED, fenced=True)
    books.comes("d1", Step.ROLLED_BACK, fenced=True)
    books.open_breakers_are_listed()
