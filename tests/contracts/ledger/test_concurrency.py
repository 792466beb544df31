"""Places among the changes under way, and the queue: never more than the limits, never lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headroom.domain.decision import Decision
from headroom.domain.guardrails import Guardrail
from headroom.domain.ledger.admission import NOTHING_DONE, QUOTA_FULL
from headroom.domain.planning import GroupDetail, GroupMember
from headroom.domain.resources import VolumeType
from headroom.domain.state import NEXT, ConcurrencyState, QueueEntry, Refusal, Refused, Step
from headroom.domain.state.concurrency import HOUR, LONGEST
from headroom.ports import Intent, NotIntended
from headroom.proving.memory import InMemoryLedger
from tests.builders import ACCOUNT, NOW, REGION, gp3, instance, instance_activity, ref
from tests.contracts.decisions import about, act, append, hold, intended
from tests.contracts.ledger.test_races import at_once, wish

IN_FLIGHT, PER_AZ, PER_HOUR = (
    Guardrail.MAX_IN_FLIGHT, Guardrail.MAX_IN_FLIGHT_PER_AZ, Guardrail.MAX_CHANGES_PER_HOUR,
)  # fmt: skip
UNTIL = NOW + timedelta(minutes=20)
FINAL_STEPS = (
    (Step.REFUSED,), (Step.STALE,), (Step.UNKNOWN, Step.NOT_APPLIED), (Step.APPLIED, Step.FAILED),
    (Step.APPLIED, Step.RELIEVED), (Step.APPLIED, Step.INEFFECTIVE), (Step.APPLIED, Step.DIVERGED),
    (Step.ALREADY_THERE, Step.RELIEVED), (Step.APPLIED, Step.ROLLED_BACK), (Step.APPLIED, Step.GONE),
    (Step.GONE,),
)  # fmt: skip


def test_an_intent_takes_a_place_that_says_whose_it_is(ledger: Any) -> None:
    intended(ledger, act(zone="us-east-1c"), lease_until=UNTIL)
    (mine,) = ledger.concurrency().in_flight
    assert (mine.resource, mine.decision_id, mine.since, mine.zone) == (
        ref("vol-1").arn, "d1", NOW, "us-east-1c",
    )  # fmt: skip
    assert mine.counts == (("gp3_gib", 100),)
    assert ledger.concurrency().starts == (NOW,)
    assert ledger.resource_state(ref("vol-2"), NOW).concurrency == ledger.concurrency()


@pytest.mark.parametrize(
    ("limit", "zone", "says"),
    [
        (IN_FLIGHT, "us-east-1b", "max_in_flight: 1 changes are under way, 1 allowed"),
        (PER_AZ, "us-east-1a", "changes are under way in us-east-1a, 1 allowed"),
        (PER_HOUR, "us-east-1b", "1 changes were begun in the last 60 minutes, 1 allowed"),
    ],
)
def test_without_a_place_nothing_is_intended_and_nothing_is_left_behind(
    ledger: Any, limit: Guardrail, zone: str, says: str
) -> None:
    intended(ledger, act("d0", "vol-0"), lease_until=UNTIL)
    late = act(places={limit: 1}, zone=zone)
    ledger.decided(late, due_at=None)
    before = ledger.resource_state(ref("vol-1"), NOW), ledger.chain("d1"), ledger.concurrency()
    refused = ledger.intend(late, lease_until=UNTIL, now=NOW)
    assert isinstance(refused, NotIntended)
    assert refused.why == "blast_radius"
    assert says in refused.detail
    assert (
        ledger.resource_state(ref("vol-1"), NOW),
        ledger.chain("d1"),
        ledger.concurrency(),
    ) == before


@pytest.mark.parametrize(
    ("left", "minutes", "step", "taken"),
    [
        (12_000.0, 0, None, False),  # the first takes 9,000 of it, and this plan 12,000
        (21_000.0, 0, None, True),
        (20_999.0, 0, None, False),
        (12_000.0, 59, None, False),
        (12_000.0, 47 * 60, None, False),  # AWS may take hours until it has effect
        (12_000.0, 48 * 60, None, True),
        (12_000.0, 29, Step.RELIEVED, False),
        (12_000.0, 30, Step.RELIEVED, True),  # the metrics show what it takes
        (12_000.0, 29, Step.UNTESTED, False),
        (12_000.0, 30, Step.UNTESTED, True),  # its load is over
        (12_000.0, 5, Step.DIVERGED, True),
        (12_000.0, 5, Step.REFUSED, True),
    ],
)
def test_a_raise_gets_what_another_of_its_instance_just_left(
    ledger: Any, left: float, minutes: int, step: Step | None, taken: bool
) -> None:
    first = about(act("d0", "vol-0"), "vol-0", beside=("vol-1",))
    started = intended(ledger, first, lease_until=UNTIL)
    (raised,) = ledger.concurrency().in_flight
    assert (raised.adds_iops, raised.adds_mibps) == (9_000, 161)  # it took 3,000 and 46.9
    at = NOW + timedelta(minutes=minutes)
    if step is not None:
        if step is not Step.REFUSED:
            append(ledger, first, Step.APPLIED)
        append(ledger, first, step, intent=started)
    late = about(act(at=at), "vol-1", at=at, beside=("vol-0",))
    diagnosis = replace(late.diagnosis, instance_iops_left=left, instance_mibps_left=900.0)
    got = intended(ledger, replace(late, diagnosis=diagnosis), at, lease_until=at + HOUR)
    assert isinstance(got, Intent) is taken
    if not taken:
        assert (got.why, "another volume of its instance" in got.detail) == ("blast_radius", True)


def test_another_zone_has_places_of_its_own(ledger: Any) -> None:
    intended(ledger, act("d0", "vol-0"), lease_until=UNTIL)
    other = act(places={PER_AZ: 1}, zone="us-east-1b")
    assert isinstance(intended(ledger, other, lease_until=UNTIL), Intent)


@pytest.mark.parametrize("ends", FINAL_STEPS)
def test_every_end_of_a_chain_gives_the_place_back_and_the_hour_counts_what_was_done(
    ledger: Any, ends: tuple[Step, ...]
) -> None:
    intended(ledger, act("d0", "vol-0"), lease_until=UNTIL)
    for step in ends[:-1]:
        append(ledger, act("d0", "vol-0"), step)
        assert len(ledger.concurrency().in_flight) == 1
    append(ledger, act("d0", "vol-0"), ends[-1])
    assert ledger.concurrency().in_flight == ()
    assert ledger.concurrency().starts == (() if ends[-1] in NOTHING_DONE else (NOW,))
    next_one = act(places={IN_FLIGHT: 1, PER_AZ: 1})
    assert isinstance(intended(ledger, next_one, lease_until=UNTIL), Intent)


def test_a_change_counts_for_sixty_minutes_and_no_longer(ledger: Any) -> None:
    intended(ledger, act("d0", "vol-0"), lease_until=UNTIL)
    append(ledger, act("d0", "vol-0"), Step.APPLIED)
    append(ledger, act("d0", "vol-0"), Step.RELIEVED)
    for at, fits in ((NOW + HOUR - timedelta(microseconds=1), False), (NOW + HOUR, True)):
        late = act(f"d-{fits}", places={PER_HOUR: 1}, at=at)
        answer = intended(ledger, late, at, lease_until=at + HOUR)
        assert isinstance(answer, Intent) is fits


def test_a_crashed_worker_holds_its_place_until_its_chain_is_ended_or_two_days_pass(
    ledger: Any,
) -> None:
    intended(ledger, act("d0", "vol-0"), lease_until=UNTIL)
    for at, fits in ((UNTIL + HOUR, False), (NOW + LONGEST, True)):
        late = act(f"d-{fits}", places={IN_FLIGHT: 1}, at=at)
        answer = intended(ledger, late, at, lease_until=at + HOUR)
        assert isinstance(answer, Intent) is fits
    append(ledger, act("d0", "vol-0"), Step.UNKNOWN, at=NOW + LONGEST)
    append(ledger, act("d0", "vol-0"), Step.NOT_APPLIED, at=NOW + LONGEST)
    assert [c.decision_id for c in ledger.concurrency().in_flight] == ["d-True"]


def test_who_takes_over_a_resource_takes_over_its_place(ledger: Any) -> None:
    intended(ledger, act("d0"), lease_until=UNTIL)
    again = act("d1", places={IN_FLIGHT: 1}, at=UNTIL)
    assert isinstance(intended(ledger, again, UNTIL, lease_until=UNTIL + HOUR), Intent)
    assert [c.decision_id for c in ledger.concurrency().in_flight] == ["d1"]
    append(ledger, act("d0"), Step.UNKNOWN)  # the one that was overtaken ends late
    append(ledger, act("d0"), Step.NOT_APPLIED)
    assert [c.decision_id for c in ledger.concurrency().in_flight] == ["d1"]


def test_a_set_takes_all_its_places_or_none(ledger: Any) -> None:
    def wished(names: str, limit: int) -> list[Any]:
        made = [act(f"{n}{limit}", f"vol-{n}", places={IN_FLIGHT: limit}) for n in names]
        for one in made:
            ledger.decided(one, due_at=None)
        return made

    refused = ledger.intend_together(wished("abc", 2), lease_until=UNTIL, now=NOW)
    assert isinstance(refused, NotIntended)
    assert refused.why == "blast_radius"
    assert ledger.concurrency() == ConcurrencyState()
    taken = ledger.intend_together(wished("abc", 3), lease_until=UNTIL, now=NOW)
    assert len(taken) == 3
    assert len(ledger.concurrency().in_flight) == 3


def test_what_aws_refused_for_a_quota_is_remembered_for_the_type(ledger: Any) -> None:
    intended(ledger, act(), lease_until=UNTIL)
    quota = Refused(refusal=Refusal.REGION_QUOTA, code="MaxIOPSLimitExceeded", message="no",
                    retry_at=None)  # fmt: skip
    append(ledger, act(), Step.REFUSED, body={"outcome": quota})
    concurrency = ledger.resource_state(ref("vol-2"), NOW).concurrency
    assert concurrency.refused_until([VolumeType.GP3], NOW) == NOW + QUOTA_FULL
    assert concurrency.refused_until([VolumeType.IO2], NOW) is None
    assert concurrency.refused_until([VolumeType.GP3], NOW + QUOTA_FULL) is None


@pytest.mark.parametrize(("completed", "left"), [(True, 0), (False, 100)])
def test_what_aws_still_optimizes_takes_of_its_quotas_for_a_while(
    ledger: Any, completed: bool, left: int
) -> None:
    intended(ledger, act(), lease_until=UNTIL)
    append(ledger, act(), Step.APPLIED)
    append(ledger, act(), Step.RELIEVED, body={"completed": completed})
    concurrency = ledger.concurrency()
    assert concurrency.quota_in_use("gp3_gib", "other", NOW) == left
    assert concurrency.quota_in_use("gp3_gib", "other", NOW + timedelta(hours=8)) == 0


def waits(minutes: int, since: datetime = NOW, **more: Any) -> QueueEntry:
    return QueueEntry(since=since, starved_minutes=minutes, zone="us-east-1a", **more)


def order(ledger: Any) -> list[str]:
    return [one.ref.resource_id for one in ledger.queue(10)]


def test_the_queue_is_ordered_by_starved_minutes_then_by_how_long_one_waits(ledger: Any) -> None:
    for name, waiting in {
        "vol-calm": waits(0), "vol-late": waits(9, NOW + HOUR), "vol-early": waits(9),
        "vol-worst": waits(1_000, NOW + HOUR, not_before=NOW + HOUR), "vol-mild": waits(2),
    }.items():  # fmt: skip
        ledger.reconciled(ref(name), at=NOW, due_at=NOW + HOUR, waiting=waiting)
    assert order(ledger) == ["vol-worst", "vol-early", "vol-late", "vol-mild", "vol-calm"]
    first, *_ = ledger.queue(1)
    assert first.waiting == waits(1_000, NOW + HOUR, not_before=NOW + HOUR)
    assert len(ledger.queue(2)) == 2


def test_one_leaves_the_queue_by_the_next_reconciliation_that_is_no_news_or_news(
    ledger: Any,
) -> None:
    for name in ("vol-1", "vol-2", "vol-3", "vol-4", "vol-5"):
        ledger.reconciled(ref(name), at=NOW, due_at=NOW + HOUR, waiting=waits(5))
    assert ledger.resource_state(ref("vol-5"), NOW).queued_since == NOW
    ledger.reconciled(ref("vol-1"), at=NOW, due_at=None)
    ledger.decided(hold("h1", "vol-2"), due_at=None)
    ledger.forget(ref("vol-3"), at=NOW)
    intended(ledger, act("d4", "vol-4"), lease_until=UNTIL)
    assert order(ledger) == ["vol-5"]
    ledger.reconciled(ref("vol-5"), at=NOW, due_at=NOW, waiting=waits(7))
    (left,) = ledger.queue(10)
    assert left.waiting.starved_minutes == 7
    assert [d.ref for d in ledger.due(NOW, 9)] == [ref("vol-5")]


def test_a_race_for_places_never_gives_out_more_than_there_are(raced: Any) -> None:
    limits: Mapping[Guardrail, int] = {IN_FLIGHT: 7, PER_AZ: 4, PER_HOUR: 6}
    wishes = [
        act(f"d{n}", f"vol-{n}", increase="0", places=limits, zone=f"us-east-1{'ab'[n % 2]}")
        for n in range(24)
    ]
    for decision in wishes:
        raced.decided(decision, due_at=None)
    answers = at_once([wish(raced, decision) for decision in wishes])
    won = [a for a in answers if isinstance(a, Intent)]
    assert len(won) == 6
    assert {a.why for a in answers if isinstance(a, NotIntended)} == {"blast_radius"}
    zones = Counter(change.zone for change in raced.concurrency().in_flight)
    assert max(zones.values()) <= 4
    assert {c.decision_id for c in raced.concurrency().in_flight} == {w.decision_id for w in won}


LIMITS = {IN_FLIGHT: 3, PER_AZ: 2, PER_HOUR: 4}
VOLUMES = tuple(f"vol-{n}" for n in range(6))
ZONES = {name: f"us-east-1{'ab'[n % 2]}" for n, name in enumerate(VOLUMES)}


class Places(RuleBasedStateMachine):
    """Changes begin, end, crash and are overtaken in any order, and time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = InMemoryLedger(ACCOUNT, REGION)
        self.now = NOW
        self.open: dict[str, tuple[str, datetime, list[Step]]] = {}
        self.done: list[datetime] = []
        self.holders: dict[str, str] = {}
        self.number = 0

    @rule(minutes=st.integers(1, 50))
    def time_passes(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @rule(days=st.integers(1, 2))
    def nothing_happens_for_days(self, days: int) -> None:
        self.now += timedelta(days=days)

    @rule(volume=st.sampled_from(VOLUMES))
    def wish(self, volume: str) -> None:
        self.number += 1
        name = f"d{self.number}"
        decision = act(name, volume, increase="0", places=LIMITS, zone=ZONES[volume], at=self.now)
        held = self.under_way(volume)
        leased = any(
            self.now < self.open[name][1] + timedelta(minutes=20)
            for v, name in self.holders.items()
            if v == volume
        )
        hour = [at for at in self.done if at > self.now - HOUR]
        fits = (
            len(held) < 3
            and sum(ZONES[v] == ZONES[volume] for v in held) < 2
            and len(hour) < 4
            and not leased
        )
        lease_until = self.now + timedelta(minutes=20)
        answer = intended(self.ledger, decision, self.now, lease_until=lease_until)
        assert isinstance(answer, Intent) is fits
        if fits:
            self.open[name] = (volume, self.now, [Step.DECIDED, Step.INTENDED])
            self.done.append(self.now)
            self.holders[volume] = name

    def under_way(self, but: str) -> set[str]:
        """Volumes with a change that has not ended and that is younger than two days."""
        since = {v: self.open[name][1] for v, name in self.holders.items()}
        return {v for v, at in since.items() if v != but and at > self.now - LONGEST}

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def goes_on(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.open)))
        volume, since, steps = self.open[name]
        holds = self.holders.get(volume) == name
        step = data.draw(st.sampled_from(sorted(NEXT[steps[-1]])))
        append(self.ledger, act(name, volume, increase="0"), step, at=self.now)
        steps.append(step)
        if step not in NEXT:
            del self.open[name]
            if holds:
                del self.holders[volume]
            if step in NOTHING_DONE and holds:
                self.done.remove(since)

    @invariant()
    def never_more_than_the_limits(self) -> None:
        concurrency = self.ledger.concurrency()
        under_way = concurrency.in_flight_elsewhere("", self.now)
        assert {c.resource for c in under_way} == {ref(v).arn for v in self.under_way("")}
        assert len(under_way) <= 3
        assert max(Counter(c.zone for c in under_way).values(), default=0) <= 2
        assert len(concurrency.started_last_hour(self.now)) <= 4


Places.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestPlaces = Places.TestCase


@pytest.mark.parametrize(
    ("sustains", "others", "taken"),
    [(48_000, True, True), (47_999, True, False), (39_000, False, True)],
)
def test_a_set_together_gets_what_another_of_its_instance_just_left(
    ledger: Any, sustains: int, others: bool, taken: bool
) -> None:
    """Three to 12,000 each; a fourth, which takes 3,000 now, may take 9,000 more."""
    names = ("vol-1", "vol-2", "vol-3")
    whole = instance_activity([12_000.0] * 30, [100.0] * 30)

    def on_one(decision: Decision) -> Decision:
        machine = instance(baseline_iops=sustains, baseline_mibps=9_000.0)
        machine = replace(machine, volume_ids=(*names, "vol-9"))
        seen = replace(decision.observation, instance=machine, instance_activity=whole)
        return replace(decision, observation=seen)

    made = [on_one(act(f"d{name}", name)) for name in names]
    members = tuple(
        GroupMember(volume_id=name, configuration=gp3(), decision_id=f"d{name}") for name in names
    )
    made = [replace(one, group=GroupDetail(name="raid", members=members)) for one in made]
    for one in made:
        ledger.decided(one, due_at=None)
    if others:
        intended(ledger, on_one(act("d9", "vol-9")), lease_until=UNTIL)
    got = ledger.intend_together(made, lease_until=UNTIL, now=NOW)
    assert isinstance(got, NotIntended) is not taken
    if not taken:
        assert "another volume of its instance" in got.detail
    assert len(ledger.concurrency().in_flight) == 3 * taken + others


@pytest.mark.parametrize(("minutes", "taken"), [(179, False), (180, True)])
def test_a_raise_ahead_of_its_load_counts_while_that_may_still_come(
    ledger: Any, minutes: int, taken: bool
) -> None:
    first = about(act("d0", "vol-0"), "vol-0", beside=("vol-1",))
    first = replace(first, demand=replace(first.demand, pressed_minutes=0))
    intended(ledger, first, lease_until=UNTIL)
    append(ledger, first, Step.APPLIED)
    append(ledger, first, Step.UNTESTED)
    at = NOW + timedelta(minutes=minutes)
    late = about(act(at=at), "vol-1", at=at, beside=("vol-0",))
    left = replace(late.diagnosis, instance_iops_left=12_000.0, instance_mibps_left=900.0)
    got = intended(ledger, replace(late, diagnosis=left), at, lease_until=at + HOUR)
    assert isinstance(got, Intent) is taken
