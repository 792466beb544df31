"""Laws of the books, on the ledger in memory, whatever happens in whatever order."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headroom.domain.records import NEXT, Step, broken_link
from headroom.ports import IllegalStep, Intent, LostLease
from headroom.proving.memory import MemoryLedger
from tests.builders import ACCOUNT, NOW, REGION, ref
from tests.contracts.decisions import act, append

LIMIT = Decimal(100)
VOLUMES = ("vol-1", "vol-2", "vol-3")
INCREASES = ("-5", "0", "10", "33.333333", "60", "90")
ENDED_WITHOUT = {Step.FAILED, Step.REFUSED, Step.STALE, Step.NOT_APPLIED}
LANDED = {Step.RELIEVED, Step.INEFFECTIVE, Step.DIVERGED}


@dataclass(slots=True)
class Model:
    """One resource as simply as it can be told: what landed, what may land, who holds it."""

    landed: Decimal = Decimal(0)
    maybe: dict[str, Decimal] = field(default_factory=dict)
    holder: str | None = None
    fencing: int = 0
    lease_until: datetime | None = None

    @property
    def own(self) -> Decimal:
        return max(self.landed, Decimal(0), *self.maybe.values())


class Books(RuleBasedStateMachine):
    """Resources come to changes and end them, leases run out, workers come back too late."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = MemoryLedger(ACCOUNT, REGION)
        self.now = NOW
        self.models = {volume: Model() for volume in VOLUMES}
        self.chains: dict[str, tuple[str, str, list[Step], Intent | None]] = {}

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
        assert isinstance(answer, Intent) is (free and fits)
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
        volume, increase, steps, intent = self.chains[name]
        likely = sorted(NEXT.get(steps[-1], frozenset()))
        step = data.draw(st.sampled_from(sorted(Step) if wild or not likely else likely))
        model = self.models[volume]
        decision = act(name, volume, increase=increase)
        legal = step in NEXT.get(steps[-1], frozenset()) and step is not Step.INTENDED
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
        if step is Step.GONE:
            if holds:
                model.holder, model.lease_until = None, None
            self.exists_no_more(model)
        if step in ENDED_WITHOUT | LANDED:
            cost = model.maybe.pop(name, None)
            if step in LANDED and cost is not None:
                model.landed = cost if holds else max(model.landed, cost)
            if holds:
                model.holder, model.lease_until = None, None

    @rule(volume=st.sampled_from(VOLUMES))
    def forgotten(self, volume: str) -> None:
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
        self.ledger.saw_modifications(ref(volume), [], now=self.now, owner_price=same_price)
        open_now = model.holder is not None and self.chains[model.holder][2][-1] in (
            Step.INTENDED, Step.UNKNOWN,
        )  # fmt: skip
        kept = {n: cost for n, cost in model.maybe.items() if open_now and n == model.holder}
        model.maybe, model.landed = kept, Decimal(0)

    @invariant()
    def the_sum_is_the_sum_of_its_parts_and_within_the_limit(self) -> None:
        seen = {volume: self.ledger.standing(ref(volume), self.now) for volume in VOLUMES}
        for volume, standing in seen.items():
            assert standing.own_increase_usd == self.models[volume].own
            assert standing.account_increase_usd == sum(s.own_increase_usd for s in seen.values())
            assert standing.account_increase_usd <= LIMIT

    @invariant()
    def every_chain_is_whole(self) -> None:
        for name, (_, _, steps, _) in self.chains.items():
            chain = self.ledger.chain(name)
            assert [record.step for record in chain] == steps
            assert broken_link(chain) is None


Books.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestBooks = Books.TestCase
