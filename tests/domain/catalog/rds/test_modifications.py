"""Which change of a database's storage is under way: derived from two observations, held to laws."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.catalog.rds import (
    SETTLES,
    Attempt,
    LastObserved,
    ObservedStorage,
    after_accepted,
    next_remembered,
)
from headroom.domain.catalog.rds.modifications import ATTEMPT_TTL
from headroom.domain.resources import Configuration, Deployment, ModificationState, VolumeType
from headroom.serialization import from_json, to_json
from tests.builders import NOW
from tests.domain.databases import rds

SMALL, LARGE = rds(VolumeType.GP2, 500), rds(VolumeType.GP2, 800)
FAST = rds(VolumeType.GP3, 500, 12_000, 500)


def seen(
    now: Configuration = SMALL,
    target: Configuration | None = None,
    *,
    working: bool = False,
    settled: bool | None = None,
    applying: bool | None = None,
    identity: str = "db-ONE",
) -> ObservedStorage:
    rests = not working and target is None if settled is None else settled
    return ObservedStorage(
        identity=identity, configuration=now, target=None if target == now else target,
        working=working, settled=rests and not working,
        applying=not working and not rests if applying is None else applying,
    )  # fmt: skip


def at(minutes: float) -> timedelta:
    return timedelta(minutes=minutes)


def test_a_database_at_rest_that_was_never_seen_has_no_change() -> None:
    memory = next_remembered(None, seen(), NOW)
    assert memory == LastObserved(identity="db-ONE", configuration=SMALL)


def test_what_is_met_in_the_middle_began_when_it_was_met() -> None:
    memory = next_remembered(None, seen(working=True), NOW)
    assert memory.modification is not None
    assert memory.modification.in_flight
    assert memory.modification.started_at == NOW
    named = next_remembered(memory, seen(SMALL, LARGE, settled=False), NOW + at(5))
    assert named.modification is not None
    assert (named.modification.started_at, named.modification.target) == (NOW, LARGE)


def test_our_call_is_recognised_by_its_target_and_starts_when_it_was_stored() -> None:
    memory = next_remembered(None, seen(), NOW)
    called = LastObserved(
        identity="db-ONE", configuration=SMALL, modification=memory.modification,
        last_request=Attempt(at=NOW, origin=SMALL, target=FAST),
    )  # fmt: skip
    for observed in (seen(SMALL, FAST, settled=True), seen(SMALL, FAST, settled=False), seen(FAST)):
        change = next_remembered(called, observed, NOW + at(7)).modification
        assert change is not None
        assert (change.started_at, change.origin, change.target) == (NOW, SMALL, FAST)
    other = next_remembered(called, seen(LARGE), NOW + at(7)).modification
    assert other is not None
    assert other.started_at == NOW + at(7)  # somebody else's
    late = NOW + ATTEMPT_TTL + at(1)
    change = next_remembered(called, seen(FAST), late).modification
    assert change is not None
    assert change.started_at == late


@pytest.mark.parametrize(
    ("minutes", "state"),
    [(1, ModificationState.MODIFYING), (9, ModificationState.MODIFYING),
     (11, ModificationState.FAILED)],
)  # fmt: skip
def test_an_accepted_change_that_does_not_show_has_failed_only_after_a_while(
    minutes: float, state: ModificationState
) -> None:
    memory = next_remembered(None, seen(), NOW)
    memory = after_accepted(memory, seen(), Attempt(at=NOW, origin=SMALL, target=FAST))
    change = next_remembered(memory, seen(), NOW + at(minutes)).modification
    assert change is not None
    assert change.state is state


def test_a_moment_of_rest_between_two_phases_begins_no_new_change() -> None:
    memory = after_accepted(None, seen(), Attempt(at=NOW, origin=SMALL, target=FAST))
    memory = next_remembered(memory, seen(FAST), NOW + at(20))
    again = next_remembered(memory, seen(FAST, working=True), NOW + at(20) + SETTLES).modification
    assert again is not None
    assert (again.started_at, again.state) == (NOW, ModificationState.OPTIMIZING)
    later = next_remembered(memory, seen(FAST, working=True), NOW + at(21) + SETTLES).modification
    assert later is not None
    assert later.started_at == NOW + at(21) + SETTLES


def test_work_that_goes_on_after_a_pause_is_one_change() -> None:
    memory = next_remembered(next_remembered(None, seen(SMALL), NOW), seen(LARGE), NOW)
    once = next_remembered(memory, seen(LARGE, working=True), NOW)
    assert next_remembered(once, seen(LARGE, working=True), NOW) == once


@pytest.mark.parametrize(
    "old",
    [seen(SMALL), seen(SMALL, FAST, settled=False), seen(SMALL, working=True)],
    ids=["before our request", "while it was pending", "while RDS began"],
)
@pytest.mark.parametrize("new", [seen(FAST), seen(FAST, working=True)], ids=["over", "optimizing"])
def test_an_older_answer_after_a_newer_one_is_no_change_by_somebody_else(
    new: ObservedStorage, old: ObservedStorage
) -> None:
    memory = after_accepted(None, seen(), Attempt(at=NOW, origin=SMALL, target=FAST))
    memory = next_remembered(memory, new, NOW + at(20))
    for minutes, observed in ((21, old), (22, new), (30, old)):
        memory = next_remembered(memory, observed, NOW + at(minutes))
        change = memory.modification
        assert change is not None
        assert (change.started_at, change.origin, change.target) == (NOW, SMALL, FAST)
        assert change.in_flight == (observed is old or new.working)


@pytest.mark.parametrize("second", [LARGE, SMALL])
def test_an_answer_from_before_two_changes_of_ours_is_older_than_both(
    second: Configuration,
) -> None:
    memory = after_accepted(None, seen(), Attempt(at=NOW, origin=SMALL, target=FAST))
    memory = next_remembered(memory, seen(FAST), NOW + at(3))
    memory = after_accepted(memory, seen(FAST), Attempt(at=NOW + at(5), origin=FAST, target=second))
    for minutes, observed in ((6, seen(SMALL)), (7, seen(FAST)), (13, seen(SMALL))):
        memory = next_remembered(memory, observed, NOW + at(minutes))
        change = memory.modification
        assert change is not None
        assert (change.started_at, change.origin, change.target) == (NOW + at(5), FAST, second)
        assert change.in_flight
    change = next_remembered(memory, seen(second), NOW + at(14)).modification
    assert change is not None
    assert (change.started_at, change.target, change.in_flight) == (NOW + at(5), second, False)


def test_what_is_still_reported_after_a_while_is_a_way_back_by_somebody_else() -> None:
    memory = after_accepted(None, seen(), Attempt(at=NOW, origin=SMALL, target=FAST))
    memory = next_remembered(memory, seen(FAST), NOW + at(20))
    memory = next_remembered(memory, seen(SMALL), NOW + at(21))
    change = next_remembered(memory, seen(SMALL), NOW + at(21) + SETTLES).modification
    assert change is not None
    assert (change.origin, change.target) == (FAST, SMALL)
    assert change.started_at == NOW + at(21) + SETTLES
    assert not change.in_flight


def test_a_database_made_multi_az_was_changed_by_its_owner() -> None:
    memory = after_accepted(None, seen(SMALL), Attempt(at=NOW, origin=SMALL, target=FAST))
    of_both = rds(VolumeType.GP3, 500, 12_000, 500, deployment=Deployment.MULTI_AZ)
    after = next_remembered(memory, seen(of_both), NOW + at(30))
    assert after.modification is not None
    assert (after.modification.origin, after.modification.target) == (SMALL, of_both)
    assert (after.modification.started_at, after.modification.state) == (
        NOW + at(30), ModificationState.COMPLETED,
    )  # fmt: skip
    assert next_remembered(after, seen(of_both), NOW + at(30)) == after
    assert next_remembered(after, seen(of_both), NOW + at(90)) == after


def test_what_stays_pending_at_rest_waits_for_its_window_and_is_not_in_flight() -> None:
    waiting = seen(SMALL, FAST, settled=True)
    memory = next_remembered(next_remembered(None, seen(), NOW), waiting, NOW + at(60))
    assert memory.modification is None
    # A change of something else begins and ends: for a while nobody can say which of them RDS applied.
    memory = next_remembered(memory, seen(SMALL, FAST, settled=False), NOW + at(120))
    assert memory.modification is not None
    assert memory.modification.in_flight
    states = []
    for minutes in (125, 185, 186, 600):
        memory = next_remembered(memory, waiting, NOW + at(minutes))
        assert memory.modification is not None
        states.append(memory.modification.state)
    assert states == [ModificationState.MODIFYING] * 2 + [ModificationState.FAILED] * 2
    # The window comes: it begins now, not when it was first seen pending.
    opens = NOW + at(5_000)
    applied = next_remembered(memory, seen(SMALL, FAST, settled=False), opens).modification
    assert applied is not None
    assert (applied.started_at, applied.target, applied.in_flight) == (opens, FAST, True)


def test_our_own_change_that_rds_makes_late_stays_ours() -> None:
    """Else what it adds would count as what the owner set."""
    memory = after_accepted(None, seen(), Attempt(at=NOW, origin=SMALL, target=FAST))
    for minutes in (1, 70, 140, 600):
        memory = next_remembered(memory, seen(SMALL, FAST, settled=True), NOW + at(minutes))
        assert memory.modification is not None
        assert memory.modification.in_flight
    change = next_remembered(memory, seen(FAST), NOW + at(900)).modification
    assert change is not None
    assert (change.started_at, change.state) == (NOW, ModificationState.COMPLETED)


def test_how_long_one_change_waited_is_nothing_to_the_next_nor_interrupted_by_a_backup() -> None:
    memory = next_remembered(None, seen(), NOW)
    memory = next_remembered(memory, seen(SMALL, FAST, settled=False), NOW)
    memory = next_remembered(memory, seen(SMALL, FAST, settled=True), NOW + at(1))
    second = after_accepted(memory, seen(), Attempt(at=NOW + at(90), origin=SMALL, target=LARGE))
    change = next_remembered(second, seen(SMALL, LARGE, settled=True), NOW + at(91)).modification
    assert change is not None
    assert change.in_flight
    backing_up = seen(SMALL, FAST, settled=False, applying=False)
    memory = next_remembered(memory, backing_up, NOW + at(30))
    change = next_remembered(memory, seen(SMALL, FAST, settled=True), NOW + at(62)).modification
    assert change is not None
    assert change.state is ModificationState.FAILED


def test_another_database_of_the_name_starts_a_new_page() -> None:
    memory = after_accepted(None, seen(), Attempt(at=NOW, origin=SMALL, target=FAST))
    assert next_remembered(memory, seen(identity="db-TWO"), NOW + at(30)).modification is None


OBSERVATIONS = st.builds(
    seen,
    st.sampled_from([SMALL, LARGE, FAST]),
    st.sampled_from([None, None, SMALL, LARGE, FAST]),
    working=st.booleans(),
    settled=st.sampled_from([None, True, False]),
    applying=st.sampled_from([None, False]),
)
SEQUENCES = st.lists(
    st.tuples(st.integers(0, 90), OBSERVATIONS, st.booleans()), min_size=1, max_size=12
)


@given(SEQUENCES)
def test_laws_of_every_sequence_of_observations(
    sequence: list[tuple[int, ObservedStorage, bool]],
) -> None:
    now, memory = NOW, None
    for minutes, observed, call in sequence:
        now += timedelta(minutes=minutes)
        before, memory = memory, next_remembered(memory, observed, now)
        assert next_remembered(memory, observed, now) == memory  # twice is once
        assert from_json(to_json(memory), LastObserved) == memory
        if (
            memory.configuration != observed.configuration
        ):  # an older answer, soon after a newer one
            assert before is not None
            assert before.changed_at is not None
            assert now - before.changed_at <= SETTLES
            assert memory.configuration == before.configuration
        change = memory.modification
        if observed.working:
            assert change is not None
            assert change.in_flight  # what RDS works on stops us, whatever else is known
        if change is not None:
            assert change.started_at <= now
            last = before.modification if before is not None else None
            if last is not None and last.in_flight and last.target == change.target:
                assert change.started_at == last.started_at  # a start never moves
            if change.in_flight:
                assert change.ended_at is None
        if call and observed.settled and (change is None or not change.in_flight):
            other = FAST if observed.configuration != FAST else LARGE
            attempt = Attempt(at=now, origin=observed.configuration, target=other)
            memory = after_accepted(memory, observed, attempt)
