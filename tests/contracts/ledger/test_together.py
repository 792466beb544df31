"""Intents of a whole set: all of them in one transaction, or none and no trace."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from headroom.domain.decision import Decision
from headroom.domain.planning.groups import LARGEST
from headroom.domain.state import Step, broken_link
from headroom.ports import Intent, NotIntended
from tests.builders import NOW, ref
from tests.contracts.decisions import act, append, failed, hold

UNTIL = NOW + timedelta(minutes=20)


def members(count: int = 4, prefix: str = "d", **changes: Any) -> tuple[Decision, ...]:
    return tuple(act(f"{prefix}{i}", f"vol-{i}", **changes) for i in range(count))


def decided(ledger: Any, decisions: tuple[Decision, ...]) -> tuple[Decision, ...]:
    for decision in decisions:
        ledger.decided(decision, due_at=None)
    return decisions


def states(ledger: Any, count: int = 4) -> list[Any]:
    return [ledger.resource_state(ref(f"vol-{i}"), NOW) for i in range(count)]


def test_a_set_is_intended_leased_and_reserved_together(ledger: Any) -> None:
    made = decided(ledger, members())
    intents = ledger.intend_together(made, lease_until=UNTIL, now=NOW)
    assert intents == tuple(Intent(decision_id=d.decision_id, fencing=1) for d in made)
    for decision, known in zip(made, states(ledger), strict=True):
        chain = ledger.chain(decision.decision_id)
        assert [r.step for r in chain] == [Step.DECIDED, Step.INTENDED]
        assert broken_link(chain) is None
        assert known.open_chain.decision_id == decision.decision_id
        assert (known.resource_increase_usd, known.account_increase_usd) == (50, 200)
    assert len(ledger.due(UNTIL, 10)) == 4


def test_each_of_a_set_ends_by_itself_and_gives_back_its_own_part(ledger: Any) -> None:
    made = decided(ledger, members())
    intents = ledger.intend_together(made, lease_until=UNTIL, now=NOW)
    append(ledger, made[0], Step.APPLIED, intent=intents[0])
    append(ledger, made[1], Step.STALE, intent=intents[1])
    known = states(ledger)
    assert known[0].account_increase_usd == Decimal(150)
    assert [k.open_chain and k.open_chain.phase for k in known] == [
        "applied", None, "intended", "intended",
    ]  # fmt: skip


def too_dear_together(ledger: Any) -> tuple[Decision, ...]:
    return decided(ledger, members(account_limit=Decimal("199.999999")))


def too_dear_with_others(ledger: Any) -> tuple[Decision, ...]:
    other = decided(ledger, (act("d9", "vol-9", increase="60"),))
    ledger.intend_together(other, lease_until=UNTIL, now=NOW)
    return decided(ledger, members(account_limit=Decimal(250)))


def one_is_too_dear(ledger: Any) -> tuple[Decision, ...]:
    dear = act("d3", "vol-3", increase="51", resource_limit=Decimal(50))
    return decided(ledger, (*members(3), dear))


def one_is_leased(ledger: Any) -> tuple[Decision, ...]:
    earlier = act("e2", "vol-2")
    ledger.decided(earlier, due_at=None)
    ledger.intend(earlier, lease_until=UNTIL, now=NOW)
    return decided(ledger, members())


def one_was_overtaken(ledger: Any) -> tuple[Decision, ...]:
    made = decided(ledger, members())
    ledger.decided(hold("h2", "vol-2"), due_at=None)
    return made


def one_is_intended_already(ledger: Any) -> tuple[Decision, ...]:
    made = decided(ledger, members())
    ledger.intend(made[3], lease_until=UNTIL, now=NOW)
    return made


def paused(ledger: Any) -> tuple[Decision, ...]:
    made = decided(ledger, members())
    ledger.pause(None, at=NOW, who="alice")
    return made


def one_has_an_open_breaker(ledger: Any) -> tuple[Decision, ...]:
    for number in range(5):
        failed(ledger, f"f{number}", "vol-1", at=NOW - timedelta(minutes=5 - number))
    return decided(ledger, members())


@pytest.mark.parametrize(
    ("why", "named", "arrange"),
    [
        ("budget", "", too_dear_together), ("budget", "", too_dear_with_others),
        ("budget", "vol-3", one_is_too_dear), ("leased", "vol-2", one_is_leased),
        ("exists", "vol-2", one_was_overtaken), ("exists", "vol-3", one_is_intended_already),
        ("paused", "", paused), ("breaker", "vol-1", one_has_an_open_breaker),
    ],
)  # fmt: skip
def test_if_one_may_not_none_is_intended_and_there_is_no_trace(
    ledger: Any, why: str, named: str, arrange: Callable[[Any], tuple[Decision, ...]]
) -> None:
    made = arrange(ledger)
    before = states(ledger), [ledger.chain(d.decision_id) for d in made], ledger.due(UNTIL, 9)
    refused = ledger.intend_together(made, lease_until=UNTIL, now=NOW)
    assert isinstance(refused, NotIntended)
    assert refused.why == why
    assert named in refused.detail
    after = states(ledger), [ledger.chain(d.decision_id) for d in made], ledger.due(UNTIL, 9)
    assert after == before


def test_the_largest_set_fits_one_transaction(ledger: Any) -> None:
    made = decided(ledger, members(LARGEST, increase="1"))
    assert len(ledger.intend_together(made, lease_until=UNTIL, now=NOW)) == LARGEST
    assert ledger.resource_state(ref("vol-0"), NOW).account_increase_usd == LARGEST


def test_sets_that_share_a_volume_never_both_get_it(raced: Any) -> None:
    one = decided(raced, tuple(act(f"a{i}", f"vol-{i}") for i in range(3)))
    other = decided(raced, tuple(act(f"b{i}", f"vol-{i}") for i in range(3, 6)))
    alone = one[2]  # of both
    with ThreadPoolExecutor(2) as pool:
        futures = [
            pool.submit(raced.intend_together, each, lease_until=UNTIL, now=NOW)
            for each in (one, (alone, *other))
        ]
        found = [f.result() for f in futures]
    assert sum(isinstance(f, tuple) for f in found) == 1
    winner = one if isinstance(found[0], tuple) else (alone, *other)
    assert raced.resource_state(ref("vol-2"), NOW).account_increase_usd == 50 * len(winner)
