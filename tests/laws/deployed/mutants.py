"""Is this law any good? Each condition, lease and re-check is taken away in turn, and it must notice.

`python -m tests.laws.deployed.mutants [NAME...]` plays each mutant in the histories that should show it
and ends with 1 when one is not noticed. `make fuzz` does so at its end.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from io import StringIO
from itertools import chain
from math import inf
from random import Random
from types import ModuleType
from typing import Any

import pytest

from headroom import account
from headroom.adapters.ledger import intents, ledger
from headroom.adapters.ledger.tables import Tables
from headroom.adapters.ledger.work import WorkLedger
from headroom.domain.decision import Diverged
from headroom.domain.guardrails import Guardrail
from headroom.domain.guardrails.case import allowed
from headroom.domain.state import BY_HEADROOM, KnownModification, StoredState
from headroom.ports import Answered, Claim
from lambdas import signals
from tests.laws.deployed import running
from tests.laws.deployed.account import MODIFIES
from tests.laws.deployed.faults import Fault
from tests.laws.deployed.histories import (
    History,
    crash_points,
    failed_calls,
    interruptions,
    logs,
    lost_answers,
)
from tests.laws.deployed.judge import Broken

Patch = Callable[[], AbstractContextManager[None]]
NOTHING = timedelta(0)


def module(name: str) -> ModuleType:
    """A module inside a room, by its full name: the doors hide some of them behind functions."""
    return sys.modules[f"headroom.{name}"]


def _with(where: Any, **replaced: Any) -> Patch:
    """Within it, attributes of a module or class are others."""

    @contextmanager
    def patch() -> Iterator[None]:
        before = {name: where.__dict__[name] for name in replaced}
        for name, value in replaced.items():
            setattr(where, name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                setattr(where, name, value)

    return patch


TAKEN_AWAY: set[tuple[str, str]] = set()
"""Tables, and words of conditions that some mutant takes away."""


def _without(table: str, item: str, words: str) -> Patch:
    """Within it, conditions on the items whose names begin so lack some words."""
    TAKEN_AWAY.add((table, words))
    memory = module("proving.memory.dynamodb")

    @contextmanager
    def patch() -> Iterator[None]:
        before = memory._allowed

        def weaker(stored: Any, action: Mapping[str, Any]) -> bool:
            condition = action.get("ConditionExpression")
            about = (action.get("Key") or action.get("Item", {})).get("item", {}).get("S", "")
            if condition is not None and action["TableName"] == table and about.startswith(item):
                action = {**action, "ConditionExpression": condition.replace(words, "True")}
            return bool(before(stored, action))

        with _with(memory, _allowed=weaker)():
            yield

    return patch


def _all(*patches: Patch) -> Patch:
    @contextmanager
    def patch() -> Iterator[None]:
        if not patches:
            yield
            return
        with patches[0](), _all(*patches[1:])():
            yield

    return patch


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """What is taken away, and where that should show."""

    patch: Patch
    families: tuple[str, ...] = ()
    shows: tuple[History, ...] = ()
    """Histories that are run first."""
    held_by: str = ""
    """What holds instead, where the law need not notice."""
    and_without: Patch | None = None
    """Takes that away as well: then the law must notice."""
    seen_by: str = ""
    """Tests that fail without it, where no history need show it: files, and words for pytest's -k."""


def meanwhile(story: str, run: int, at: int, what: str, *, stale: bool = False) -> History:
    """One interruption."""
    faults = ((run, Fault(kind="meanwhile", at=at)),)
    return History(story=story, faults=faults, stale=stale, meanwhile=what)


def struck(
    story: str, run: int, kind: str, at: int, many: int = 1, *, stale: bool = False
) -> History:
    """One fault."""
    return History(story=story, faults=((run, Fault(kind=kind, at=at, many=many)),), stale=stale)


def quiet(story: str, *, stale: bool = False) -> History:
    """An undisturbed history."""
    return History(story=story, faults=(), stale=stale)


def _keeps_retrying() -> Patch:
    """ModifyVolume is sent again when its answer is lost."""

    @contextmanager
    def patch() -> Iterator[None]:
        kept = dict(running._clients())
        running._clients().clear()
        try:
            with _with(account, ONCE=account.READS.merge(account.ONCE).merge(RETRIES))():
                yield
        finally:
            running._clients().clear()
            running._clients().update(kept)

    return patch


def _unguarded(*names: Guardrail) -> Patch:
    """Some guardrails allow everything."""
    registry = module("domain.guardrails.registry")
    rules = tuple(
        (name, (lambda case, name=name: allowed(name, "a mutant")) if name in names else rule)
        for name, rule in registry.GUARDRAILS
    )
    return _with(registry, GUARDRAILS=rules)


RETRIES = account.Config(retries={"mode": "standard", "total_max_attempts": 4})


def _outdated_but(*checks: str) -> Callable[..., str | None]:
    """The last check before a change, without some of its parts."""
    sound = module("application.execute")._outdated

    def outdated(ports: Any, decision: Any, now: Any) -> str | None:
        why: str | None = sound(ports, decision, now)
        return None if why is not None and any(word in why for word in checks) else why

    return outdated


def _blames(observation: Any, plan: Any, applied_at: Any) -> Any:
    found = _SOUND_LANDING(observation, plan, applied_at)
    stale = getattr(found, "detail", "").startswith("AWS still describes")
    return Diverged(detail="it is as it was") if stale else found


_SOUND_LANDING = module("domain.decision.assess")._landing
_SOUND_WRITE, _SOUND_SENT = Tables._write, module("application.reporting.notify")._sent
_SOUND_FIT = intents.reservation


def _unheard(
    self: Any, record: Any, token: Any, parts: Any, notify: Any = None, *, about: str = ""
) -> Any:
    return _SOUND_WRITE(self, record, token, parts, None, about=about)


def _forgotten_first(reporting: Any, batch: Any, now: Any) -> bool:
    reporting.outbox.notified([notice for message in batch for notice in message.covers])
    return bool(_SOUND_SENT(reporting, batch, now))


def _only_a_start(decision: Any, started_at: Any) -> KnownModification:
    return KnownModification(started_at=started_at, by=BY_HEADROOM)


def _fits(**changes: Any) -> Callable[..., Any]:
    """What an intent reserves, with less of the state known."""

    def fit(state: StoredState, decision: Any, last: Any, now: Any) -> Any:
        known = {
            name: decision.decision_id if value is ... else value for name, value in changes.items()
        }
        return _SOUND_FIT(replace(state, **known), decision, last, now)

    return fit


def _never_answered(self: Any, item: Any, **named: Any) -> Any:
    found = _SOUND_CLAIM(self, item, **named)
    return Claim.BUSY if isinstance(found, Answered) else found


_SOUND_CLAIM = WorkLedger.claim_work


def _never_stopped(ports: Any, decision: Any, stopped_by: str, now: Any) -> Any:
    return _SOUND_APPLY(ports, decision, "", now)


_SOUND_APPLY = module("application.groups")._apply

MUTANTS: Mapping[str, Mutant] = {
    # Conditions of the ledger's writes
    "a record replaces another": Mutant(seen_by="tests/contracts/ledger/test_chains.py -k recorded_once", held_by="the version of the state that is written with it", patch=_without("records", "", "attribute_not_exists(#id)")),
    "a state replaces one that was not read": Mutant(shows=tuple(meanwhile("relief", 4, at, "a person wants it back") for at in range(18, 29)), families=("a worker stalls of relief",), patch=_without("state", "resource_state", "#version = :version")),
    "a first state replaces another": Mutant(families=("a worker stalls of relief",), patch=_without("state", "resource_state", "attribute_not_exists(#version)")),
    "the changes under way replace others": Mutant(families=("another worker at an intent of third first",), patch=_without("state", "concurrency", "#version = :version")),
    "the first change under way replaces another": Mutant(families=("another worker of one of two",), patch=_without("state", "concurrency", "attribute_not_exists(#version)")),
    "the sum is not limited": Mutant(families=("another worker of one of two dear",), patch=_without("state", "budget", "(attribute_not_exists(#sum) OR #sum <= :room)")),
    "a pause does not stop an intent": Mutant(seen_by="tests/contracts/ledger/test_intents.py -k says_why and paused", held_by="the pause is read again before the call", patch=_without("state", "pause", "(attribute_not_exists(#until) OR #until <= :now)")),
    "a breaker does not stop an intent": Mutant(held_by="the guardrail of that name", and_without=_unguarded(Guardrail.BREAKER), families=("quiet of all broken",), patch=_without("state", "pause", "attribute_not_exists(#opened)")),
    "a claim is no claim": Mutant(held_by="the lease of the resource; tests/application/test_work.py counts reconciliations", and_without=_with(intents, reservation=_fits(lease_until=None)), families=("another worker of relief",), patch=_without("state", "work", "(attribute_not_exists(#until) OR #until <= :now)")),
    "anybody ends a claim": Mutant(seen_by="tests/contracts/ledger/test_work.py -k finish or ends or expires", held_by="the version of the state, as where a claim is no claim", patch=_without("state", "work", "(#by = :by)")),
    "notes replace others": Mutant(seen_by="tests/contracts/ledger/test_bookmarks.py -k neither_is_lost", held_by="the claim of the worker, for what is remembered of a database; what other notes lose is done twice: a page is read, an event published again", patch=_without("state", "note", "#version = :before OR #by = :mine")),
    "a reconciliation postpones an open change": Mutant(seen_by="tests/contracts/ledger/test_resource_states.py -k stays_due or put_off", held_by="the claim of the worker: nobody looks at it meanwhile; tests/contracts/ledger/test_resource_states.py shows who stalled", patch=_without("state", "resource_state", "(attribute_not_exists(#chain) AND attribute_not_exists(#asking))")),
    "the due are claimed twice": Mutant(seen_by="tests/contracts/ledger/test_work.py -k one_dispatcher or decided_meanwhile", held_by="the claim of the worker: the second message is answered by the first", patch=_without("state", "resource_state", "#wake = :seen")),
    "an event's record is replaced": Mutant(seen_by="tests/contracts/ledger/test_events.py -k final", held_by="nothing is lost: the later record says what the event led to as well", patch=_without("records", "", "#final = :no")),
    "a scan begins twice": Mutant(families=("quiet of relief",), patch=_without("state", "scan", "#period < :period")),
    "a first note replaces another": Mutant(seen_by="tests/contracts/ledger/test_bookmarks.py -k neither_is_lost", patch=_without("state", "note", "attribute_not_exists(#version)")),
    "a resumption begins a scan that never was": Mutant(seen_by="tests/contracts/ledger/test_account.py", patch=_without("state", "scan", "attribute_exists(#period)")),
    "a sum is given back twice": Mutant(seen_by="tests/contracts/ledger/test_account.py -k below_zero", patch=_without("state", "budget", "#sum >= :given")),
    "failures replace others": Mutant(seen_by="tests/contracts/ledger/test_breakers.py -k failures_at_once", held_by="the version of the changes under way, which are written with it", and_without=_without("state", "concurrency", "#version = :version"), patch=_all(_without("state", "pause", "#count = :seen"), _without("state", "pause", "(attribute_not_exists(#count) OR True)"))),
    "a pause that came meanwhile is replaced": Mutant(seen_by="tests/requests/test_hub.py -k between_read_and_write", patch=_with(module("adapters.ledger.breakers"), _still=lambda pause: ("attribute_exists(#until) OR attribute_not_exists(#until)", {}))),
    "a longer pause that cannot be read is replaced": Mutant(seen_by="tests/requests/test_hub.py -k shortens_nothing", patch=_all(_without("state", "pause", "attribute_not_exists(#until) OR #until <= :until"), _with(module("adapters.ledger.breakers").BreakerItems, paused_item=lambda self, pause: self._paused(pause, None, {}, usable=False)))),
    "what is due is put off": Mutant(seen_by="tests/contracts/ledger/test_work.py -k sooner_and_never_later", patch=_without("state", "resource_state", "(attribute_not_exists(#due) OR #due > :due)")),
    "a reconciliation puts off what a person asked for": Mutant(seen_by="tests/contracts/ledger/test_requests.py tests/contracts/ledger/test_resource_states.py", patch=_without("state", "resource_state", "attribute_not_exists(#called)")),
    "a resource is reconciled again at once": Mutant(seen_by="tests/contracts/ledger/test_work.py -k minute_apart", patch=_without("state", "work", "#done <= :latest")),
    "items of a newer release are written over": Mutant(seen_by="tests/upgrade tests/adapters/ledger/test_formats.py", patch=_without("state", "", "(attribute_not_exists(#item) OR #format <= :format)")),
    # Leases, times and order
    "no lease": Mutant(families=("a worker stalls of relief", "crash of relief"), patch=_all(_with(module("application.execute"), LEASE=NOTHING), _with(module("application.chains"), LEASE=NOTHING), _with(module("application.groups"), LEASE=NOTHING))),
    "no settling": Mutant(families=("quiet of alarm and old reads",), patch=_with(module("application.chains"), SETTLING=NOTHING)),
    "no patience with EC2": Mutant(families=("the change is lost of alarm and old reads",), patch=_with(module("application.chains"), GIVE_AWS=NOTHING)),
    "no patience with RDS": Mutant(families=("the change is lost of event and old reads",), patch=_with(module("application.chains"), GIVE_RDS=NOTHING)),
    "an old claim": Mutant(held_by="the lease of the resource, and the time that is checked before the call", and_without=_with(intents, reservation=_fits(lease_until=None)), families=("another worker of relief",), patch=_with(module("application.work"), CLAIM=NOTHING)),
    "fencing is not checked": Mutant(seen_by="tests/contracts/ledger/test_intents.py -k lost_its_lease or made_up", held_by="the lease, which outlasts any function, and the time that is checked before the call", patch=_with(StoredState, held=lambda self, *_: True)),
    "a stale describe blames somebody": Mutant(families=("quiet of two volumes", "quiet of by turns", "quiet of set", "crash of relief", "lost of relief"), patch=_with(module("domain.decision.assess"), _landing=_blames)),
    # Re-checks before the call
    "the policy is not read again": Mutant(families=("a narrower policy of relief",), patch=_with(module("application.execute"), _outdated=_outdated_but("policy"))),
    "the pause is not read again": Mutant(families=("pause of relief",), patch=_with(module("application.execute"), _outdated=_outdated_but("paused"))),
    "the time is not checked again": Mutant(families=("a call hangs of relief", "a worker stalls of relief"), patch=_with(module("application.execute"), _outdated=_outdated_but(" s ago"))),
    "EBS volumes are not read again": Mutant(seen_by="tests/adapters/ebs/test_storage.py -k moved_since", held_by="AWS, which refuses a change while another one is in flight", patch=_with(module("adapters.ebs.storage"), moved_on=lambda *a, **k: None)),
    "databases are not read again": Mutant(seen_by="tests/adapters/rds/test_storage.py -k stale or there_already", held_by="RDS is at work on a change for longer than a decision is fresh, and what it works on is refused by the line after", patch=_with(module("adapters.rds.storage"), moved_on=lambda *a, **k: None)),
    "clusters are not read again": Mutant(seen_by="tests/adapters/aurora/test_storage.py -k reads_again or stale", held_by="the read right before the call, which compares the mode with the one before; RDS is at work on any other change", patch=_with(module("adapters.aurora.storage"), moved_on=lambda *a, **k: None)),
    "an unreadable policy is not noticed before the call": Mutant(seen_by="tests/application/test_freshness.py", patch=_with(module("application.execute"), _outdated=_outdated_but("cannot be read any more"))),
    "an unreadable pause is not noticed before the call": Mutant(seen_by="tests/application/test_freshness.py", patch=_with(module("application.execute"), _outdated=_outdated_but("whether changes are paused"))),
    "databases are not read right before the call": Mutant(seen_by="tests/adapters/rds/test_races.py", patch=_with(module("adapters.rds.storage").RdsStorage, _moved=lambda *a: None)),
    "clusters are not read right before the call": Mutant(seen_by="tests/adapters/aurora/test_storage.py -k being_recorded", patch=_with(module("adapters.aurora.storage").AuroraClusterStorage, _moved=lambda *a: None)),
    "what others left pending is applied with ours": Mutant(seen_by="tests/adapters/rds", patch=_with(module("adapters.rds.storage"), _why_not_now=lambda *a, **k: None)),
    "storage grows beside RDS's own autoscaling": Mutant(seen_by="tests/adapters/rds", patch=_with(module("adapters.rds.storage"), _why_never=lambda *a: None)),
    "an older answer of RDS is news": Mutant(families=("quiet of database goes back",), patch=_with(module("domain.catalog.rds.modifications"), _is_older=lambda *a: False)),
    # What is allowed
    "a lease is no lease": Mutant(families=("a worker stalls of relief",), patch=_with(intents, reservation=_fits(lease_until=None))),
    "an older decision is carried out": Mutant(held_by="its chain, which the later decision withdrew in its own transaction, and the lease of a later change; tests/domain/ledger/test_reservation.py sees the refusal alone", families=("a worker stalls of relief",), patch=_with(intents, reservation=_fits(last_decision_id=...))),
    "an open breaker of a resource is passed": Mutant(held_by="the guardrail failures", and_without=_unguarded(Guardrail.FAILURES), families=("quiet of broken",), patch=_with(intents, reservation=_fits(breaker_opened_at=None))),
    "any number of changes at once": Mutant(families=("quiet of two volumes", "another worker of two volumes"), patch=_with(intents, admit_change=lambda concurrency, decision, now: concurrency)),
    "any step may follow": Mutant(seen_by="tests/contracts/ledger/test_chains.py -k legal_steps", held_by="the lease, which outlasts any function: nobody else goes on with the chain; and the version of the state", patch=_with(ledger, may_follow=lambda *_: True)),
    "an intent needs no approval": Mutant(seen_by="tests/domain/ledger/test_reservation.py", patch=_with(module("domain.ledger.reservation"), _needs_a_person=lambda *a: None)),
    "any approval will do": Mutant(seen_by="tests/domain/ledger/test_reservation.py", patch=_with(module("domain.ledger.reservation"), unapproved=lambda *a: None)),
    "no hard cap": Mutant(seen_by="tests/adapters/parameters/test_policy.py -k hard_caps", patch=_with(module("adapters.parameters.policy"), with_caps=lambda policy, caps: policy)),
    "a set goes on after a failure": Mutant(seen_by="tests/application/test_groups.py", patch=_with(module("application.groups"), _apply=_never_stopped)),
    # What must not be lost
    "a change is sent again by the client": Mutant(families=("lost of relief",), patch=_keeps_retrying()),
    "a lost answer is a failed write": Mutant(seen_by="tests/adapters/ledger/test_faults.py -k lost", held_by="the token: DynamoDB answers a repeated transaction like the first", patch=_with(Tables, _is_same_decision=lambda *_: False)),
    "nobody hears": Mutant(families=("quiet of relief",), patch=_with(Tables, _write=_unheard)),
    "notices are deleted before they are sent": Mutant(families=("crash of relief",), patch=_with(module("application.reporting.notify"), _sent=_forgotten_first)),
    "events are not recorded": Mutant(families=("quiet of relief",), patch=_with(module("application.work"), _record_events=lambda *a, **k: None)),
    "what failed is not delivered again": Mutant(families=("fails of relief",), patch=_with(signals, _hand_back=lambda *a, **k: None)),
    "what is answered is done again": Mutant(seen_by="tests/application/test_work.py -k delivered_twice", held_by="nothing is lost but calls; tests/application/test_work.py counts reconciliations", patch=_with(WorkLedger, claim_work=_never_answered)),
    "our own change is not remembered": Mutant(families=("quiet of reverted",), patch=_with(module("application.execute"), modification_of=_only_a_start)),
}  # fmt: skip


def _first(histories: Iterator[History]) -> tuple[History, ...]:
    """Those about the run of the first alarm or event, in which the change is made, in any order."""
    found = [each for each in histories if each.faults[0][0] == 0]
    Random(1).shuffle(found)
    return tuple(found)


@cache
def family(name: str) -> tuple[History, ...]:
    """Histories of one sort, by what befalls the first run."""
    sort, _, story = name.partition(" of ")
    match sort:
        case "quiet":
            return (quiet(story), quiet(story, stale=True))
        case "crash":
            return _first(crash_points(story, stale=True))
        case "lost":
            return _first(lost_answers(story, stale=True))
        case "fails":
            return _first(failed_calls(story, stale=True))
    if sort == "the change is lost":
        return tuple(each for each in lost_answers(story) if _changes(story, each))
    if sort == "another worker at an intent":
        return tuple(meanwhile(story, run, at, "another worker") for run, at in _intents(story))
    return _first(interruptions(story, only=(sort,)))


def _intents(story: str) -> Iterator[tuple[int, int]]:
    """Run and call of the intents of all changes."""
    for run, log in enumerate(logs(story)):
        for at, call in enumerate(log):
            if is_change(call):
                before = [n for n, each in enumerate(log[:at], 1) if "TransactWrite" in each]
                yield run, before[-1]


def is_change(call: str) -> bool:
    """Whether a call of a log changes storage."""
    return call.partition(".")[2] in MODIFIES


def _changes(story: str, history: History) -> bool:
    """Whether the fault befalls a change of storage."""
    run, fault = history.faults[0]
    return is_change(logs(story)[run][fault.at - 1])


MOST = 120
"""Histories run for one mutant before it is given up."""


def noticed(
    name: str, most: int = MOST, until: float = inf, *, twice: bool = False
) -> tuple[History, str] | None:
    """The first history in which the law, or anything else, notices a mutant, and what it says.

    With `twice` what holds in its place is taken away as well.
    """
    mutant = MUTANTS[name]
    histories = tuple(chain(mutant.shows, *map(family, mutant.families)))  # of the sound functions
    more = mutant.and_without if twice else None
    with _all(mutant.patch, *([] if more is None else [more]))():
        for number, history in enumerate(histories):
            if number >= most or time.time() > until:
                return None
            try:
                history.play()
            except Broken as said:
                return history, str(said)
            except Exception as said:  # a function that never works is noticed as well
                return history, repr(said)
    return None


def failing(name: str) -> str | None:
    """The first of a mutant's own tests that fails with it, on the ledger in memory alone.

    What holds in its place, if that is named, is taken away as well.
    """
    mutant = MUTANTS[name]
    files, _, words = mutant.seen_by.partition(" -k ")
    memory = "not moto and not local_ledger and not dynamodb"
    wanted = f"({words}) and {memory}" if words else memory
    failed: list[str] = []

    class Failures:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed:
                failed.append(report.nodeid)

    more = [] if mutant.and_without is None else [mutant.and_without]
    with _all(mutant.patch, *more)(), redirect_stdout(StringIO()):
        arguments = [*files.split(), "-x", "-q", "-p", "no:cacheprovider", "-k", wanted]
        pytest.main(arguments, plugins=[Failures()])
    return failed[0] if failed else None


def main(names: list[str], end: float = inf) -> int:
    """Take each away in turn and say what came of it."""
    missed = 0
    for name in names or MUTANTS:
        if time.time() > end:
            print(f"{name:45} no time was left")
            continue
        mutant, found = MUTANTS[name], noticed(name, until=end)
        result = _seen_by(found) or f"held by {mutant.held_by}"
        if found is None and mutant.seen_by:
            test = failing(name)
            missed, result = missed + (test is None), test or f"NOT NOTICED by {mutant.seen_by}"
            print(f"{name:45} {result}", flush=True)
            continue
        if found is None and mutant.and_without is not None:
            found = noticed(name, until=end, twice=True)
            result += f"; without that as well: {_seen_by(found) or 'NOT NOTICED'}"
            missed += found is None
        elif found is None and not mutant.held_by:
            missed, result = missed + 1, "NOT NOTICED"
        print(f"{name:45} {result}", flush=True)
    return 1 if missed else 0


def _seen_by(found: tuple[History, str] | None) -> str:
    return "" if found is None else f"{found[0]} | {found[1][:140]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
