"""What waits for an hour or a place is done at the minute it clears, the most starved first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from headroom.application import sweep
from headroom.application.queue import MOST_AT_ONCE, next_in_queue
from headroom.domain.decision import Act, Decision, Hold, Reason
from headroom.domain.guardrails import Guardrail
from headroom.domain.policy import Freeze, Mode, Policy, parse_window
from headroom.domain.resources import InstanceActivity, ResourceRef, VolumeActivity, VolumeType
from headroom.domain.state import (
    CalendarState,
    ConcurrencyState,
    InFlight,
    QueueEntry,
    Refusal,
    Refused,
    Step,
)
from headroom.domain.state.concurrency import LONGEST
from headroom.ports import ReadFailed, StorageView
from tests.application.harness import Harness, calm, reconcile_now, running_free
from tests.application.test_next_reconcile import idle_harness
from tests.builders import NOW, activity, gp2, instance, io, policy, ref, volume
from tests.domain.earlier import history

MINUTE = timedelta(minutes=1)
NEVER_SCANNED = 10**9
TONIGHT = datetime(2026, 1, 5, 18, 0, tzinfo=UTC)
EVENING = (parse_window("Mon 18:00-23:00 UTC"),)


def rules(**account: object) -> Policy:
    limits = account.pop("limits", {})
    return replace(policy(**limits), **account)  # type: ignore[arg-type]


def starved(minutes: int) -> VolumeActivity:
    calm_minutes = 180 - minutes
    return activity(
        [1500.0] * calm_minutes + [3000.0] * minutes,
        queue=[1.0] * calm_minutes + [900.0 + 3 * i for i in range(minutes)],
        iops_check=[0.0] * calm_minutes + [1.0] * minutes,
    )


def relieved() -> VolumeActivity:
    """Busier than the old limit allowed, and under no pressure: proof that a change worked."""
    return activity([4000.0] * 180)


def asked(harness: Harness, vol: ResourceRef) -> Decision:
    decision = reconcile_now(harness.ports, vol, harness.now, trigger="alarm", must_record=True)
    assert decision is not None
    return decision


def began(harness: Harness, vol: ResourceRef) -> list[datetime]:
    return list(harness.lifecycles[vol.resource_id].starts)


def sweep_until(harness: Harness, last: datetime) -> None:
    while harness.now < last:
        harness.later(minutes=1)
        report = sweep(harness.ports, harness.now, scan_every_s=NEVER_SCANNED)
        assert report.errors == ()


# --- at the minute it clears


def windowed(harness: Harness) -> None:
    harness.rules = rules(limits={"change_windows": EVENING})


def frozen(harness: Harness) -> None:
    freezes = (
        Freeze(begins=NOW - timedelta(days=1), until=NOW + timedelta(hours=4)),
        Freeze(begins=NOW + timedelta(hours=3), until=TONIGHT),
    )
    harness.rules = rules(freezes=freezes)


def calendared(harness: Harness) -> None:
    harness.rules = rules(calendars=("ops", "closed-days"))
    harness.closed["closed-days"] = CalendarState(
        name="closed-days", open=False, changes_at=TONIGHT
    )


def all_of_it(harness: Harness) -> None:
    windowed(harness)
    assert isinstance(harness.rules, Policy)
    freeze = Freeze(begins=NOW, until=TONIGHT - timedelta(hours=1))
    harness.rules = replace(harness.rules, freezes=(freeze,), max_changes_per_hour=1)


@pytest.mark.parametrize("close", [windowed, frozen, calendared, all_of_it])
def test_what_an_hour_holds_up_is_done_at_the_minute_it_comes(
    close: Callable[[Harness], None],
) -> None:
    harness = Harness()
    vol = harness.add(volume())
    close(harness)
    decision = asked(harness, vol)
    assert isinstance(decision.answer, Hold)
    assert decision.answer.reason is Reason.BLOCKED_TEMPORARILY
    assert decision.answer.until == TONIGHT
    sweep_until(harness, TONIGHT + timedelta(minutes=2))
    assert began(harness, vol) == [TONIGHT]


@pytest.mark.parametrize("close", [windowed, frozen, calendared, all_of_it])
def test_giving_back_waits_for_its_hour_like_raising(close: Callable[[Harness], None]) -> None:
    harness = idle_harness()
    harness.earlier = history(
        lambda _: 300.0, days=8
    )  # with a window a week, one week is too short
    close(harness)
    vol = harness.volumes["vol-1"].ref
    decision = asked(harness, vol)
    assert isinstance(decision.answer, Hold)
    assert decision.answer.until == TONIGHT
    sweep_until(harness, TONIGHT + timedelta(minutes=2))
    assert began(harness, vol) == [TONIGHT]


def test_a_calendar_that_cannot_be_read_holds_everything_and_is_reported_by_the_sweep() -> None:
    harness = Harness(rules=rules(calendars=("ops",)))
    harness.closed["ops"] = CalendarState(
        name="ops", open=False, problem="GetCalendarState: denied"
    )
    vol = harness.add(volume())
    decision = asked(harness, vol)
    assert isinstance(decision.answer, Hold)
    assert decision.answer.until is None
    blocking = {v.guardrail.value: v.detail for v in decision.judgements[0].blocking}
    assert blocking == {"calendar": "ops cannot be read: GetCalendarState: denied"}
    assert sweep(harness.ports, harness.now).calendars_unread == ("GetCalendarState: denied",)
    harness.closed.clear()
    sweep_until(harness, harness.now + timedelta(minutes=10))
    assert len(began(harness, vol)) == 1


def test_a_calendar_that_says_open_at_an_instant_is_asked_again_then_and_not_believed() -> None:
    harness = Harness()
    calendared(harness)
    vol = harness.add(volume())
    asked(harness, vol)
    sweep_until(harness, TONIGHT - timedelta(minutes=30))
    harness.closed["closed-days"] = CalendarState(name="closed-days", open=False)  # kept closed
    sweep_until(harness, TONIGHT + timedelta(minutes=30))
    assert began(harness, vol) == []


def test_the_hours_limit_lets_the_next_one_go_at_its_minute() -> None:
    harness = Harness(rules=rules(max_changes_per_hour=1))
    first, second = (harness.add(volume(ref=ref(f"vol-{n}"))) for n in (1, 2))
    asked(harness, first)
    harness.later(minutes=7)
    held = asked(harness, second)
    assert isinstance(held.answer, Hold)
    assert held.answer.until == NOW + timedelta(hours=1)
    sweep_until(harness, NOW + timedelta(minutes=65))
    assert began(harness, second) == [NOW + timedelta(hours=1)]


@pytest.mark.parametrize("limit", ["max_in_flight", "max_in_flight_per_az"])
def test_a_place_is_taken_in_the_very_minute_it_is_given_back(limit: str) -> None:
    harness = Harness(rules=rules(**{limit: 1}))
    first, second = (harness.add(volume(ref=ref(f"vol-{n}"))) for n in (1, 2))
    asked(harness, first)
    held = asked(harness, second)
    assert isinstance(held.answer, Hold)
    assert held.answer.until is None
    assert {v.guardrail.value for v in held.judgements[0].blocking} == {limit}
    harness.loads["vol-1"] = relieved()
    sweep_until(harness, NOW + timedelta(hours=2))
    (ended,) = [
        r.at for r in harness.ledger.by_resource(first.arn, since=NOW, until=harness.now)
        if r.step is Step.RELIEVED
    ]  # fmt: skip
    assert began(harness, second) == [ended]


@pytest.mark.parametrize("limit", ["max_in_flight", "max_in_flight_per_az", "max_changes_per_hour"])
def test_savings_leave_a_quarter_of_the_places_to_load(limit: str) -> None:
    """Four gp2 volumes that cost less as gp3; then one starves."""
    harness = Harness(rules=rules(**{limit: 4}))
    cheaper = [harness.add(volume(gp2(400), ref=ref(f"vol-{n}"))) for n in range(4)]
    for vol in cheaper:
        harness.loads[vol.resource_id] = running_free(500)
    held = [asked(harness, vol) for vol in cheaper][-1]
    assert [len(began(harness, vol)) for vol in cheaper] == [1, 1, 1, 0]
    assert limit in {v.guardrail.value for v in held.judgements[0].blocking}
    starving = harness.add(volume(ref=ref("vol-9")))
    asked(harness, starving)
    assert began(harness, starving) == [NOW]
    waiting = harness.ports.state_store.queue(9)
    assert [one.waiting.saves for one in waiting] == [True]
    harness.later(minutes=1)
    assert next_in_queue(harness.ports, harness.rules, harness.now, set()) == ()


def test_a_set_that_only_saves_leaves_places_to_load_too() -> None:
    """Two sets of three that cost less as gp3: one at a time, whatever the quarter is."""
    harness = Harness(
        rules=rules(max_in_flight=6, max_in_flight_per_az=6, limits={"mode": Mode.AUTO})
    )
    harness.instance = instance(baseline_iops=400_000, baseline_mibps=50_000.0)
    for number in range(6):
        name = "one" if number < 3 else "two"
        vol = volume(
            gp2(400), ref=ref(f"vol-{number}"), instance_ids=(f"i-{name}",),
            tags=(("headroom:group", name),),
        )  # fmt: skip
        harness.loads[harness.add(vol).resource_id] = running_free(500)
    held = [asked(harness, ref(f"vol-{number}")) for number in (0, 3)][-1]
    assert "max_in_flight" in {v.guardrail.value for v in held.judgements[0].blocking}
    assert [len(began(harness, ref(f"vol-{n}"))) for n in range(6)] == [1, 1, 1, 0, 0, 0]
    assert [one.waiting.saves for one in harness.ledger.queue(9)] == [True]


def test_savings_leave_a_starving_set_as_many_places_as_it_needs() -> None:
    """Six places, of which two are taken: savings could take two more, and the set would wait for ever."""
    harness = Harness(
        rules=rules(max_in_flight=6, max_in_flight_per_az=6, limits={"mode": Mode.AUTO})
    )
    harness.instance = instance(baseline_iops=400_000, baseline_mibps=50_000.0)
    taken(harness, 2)
    tags = (("headroom:group", "data"),)
    members = [harness.add(volume(ref=ref(f"vol-of-set-{n}"), tags=tags)) for n in range(5)]
    asked(harness, members[0])
    cheaper = harness.add(volume(gp2(400), ref=ref("vol-0")), load=running_free(500))
    held = asked(harness, cheaper)
    assert isinstance(held.answer, Hold)
    assert "max_in_flight" in {v.guardrail.value for v in held.judgements[0].blocking}
    assert queued(harness) == ["vol-of-set-0", "vol-0"]
    assert next_in_queue(harness.ports, harness.rules, harness.now, set()) == ()
    under_way(harness)
    assert next_in_queue(harness.ports, harness.rules, harness.now, set()) == (members[0],)
    sweep_until(harness, harness.now + MINUTE)
    assert all(began(harness, each) for each in members)


def test_a_set_that_waits_for_budget_keeps_no_places_from_what_would_free_it() -> None:
    """Else what others no longer need is never given back, and the set waits for ever."""
    harness = Harness(
        rules=rules(account_increase_usd=Decimal("60"), limits={"mode": Mode.AUTO}, max_in_flight=6)
    )
    harness.instance = instance(baseline_iops=400_000, baseline_mibps=50_000.0)
    taken(harness, 1)
    asked(harness, harness.add(volume(ref=ref("vol-a"))))  # has all of the budget
    tags = (("headroom:group", "data"),)
    members = [harness.add(volume(ref=ref(f"vol-of-set-{n}"), tags=tags)) for n in range(4)]
    asked(harness, members[0])
    ((waiting,),) = [[one.waiting for one in harness.ledger.queue(9)]]
    assert (waiting.slots_needed, waiting.for_places) == (4, False)
    cheaper = harness.add(volume(gp2(400), ref=ref("vol-0")), load=running_free(500))
    assert isinstance(asked(harness, cheaper).answer, Act)


def test_what_the_account_has_left_goes_to_the_most_starved_as_soon_as_it_is_enough() -> None:
    """The price of one raise is all that the account may add. It is vol-a's, then free."""
    harness = Harness(
        rules=rules(account_increase_usd=Decimal("46"), limits={"cooldown_minutes": 0})
    )
    first = harness.add(volume(ref=ref("vol-a")))
    raised = asked(harness, first)
    assert isinstance(raised.answer, Act)
    starving = [
        harness.add(volume(ref=ref(name)), load=starved(minutes))
        for name, minutes in (("vol-b", 12), ("vol-c", 40), ("vol-d", 20))
    ]
    for vol in starving:
        assert Guardrail.PRICE_PER_ACCOUNT in {
            v.guardrail for v in asked(harness, vol).judgements[0].blocking
        }
    assert queued(harness) == ["vol-c", "vol-d", "vol-b"]
    assert next_in_queue(harness.ports, harness.rules, harness.now, set()) == ()
    assert isinstance(harness.rules, Policy)
    more = replace(harness.rules, account_increase_usd=Decimal(100))
    assert next_in_queue(harness.ports, more, harness.now, set()) == (ref("vol-c"),)
    del harness.volumes["vol-a"]
    harness.ledger.append(
        raised.decision_id, Step.GONE, ref=first, at=harness.now, summary="gone", body={},
        fencing=harness.ledger.resource_state(first, harness.now).open_chain.fencing, due_at=None,
    )  # fmt: skip
    harness.ledger.forget(first, at=harness.now)
    assert next_in_queue(harness.ports, harness.rules, harness.now, set()) == (ref("vol-c"),)
    sweep_until(harness, harness.now + MINUTE)
    assert [name for name in "bcd" if began(harness, ref(f"vol-{name}"))] == ["c"]


def test_another_zone_is_not_held_up_by_a_full_one() -> None:
    harness = Harness(rules=rules(max_in_flight_per_az=1))
    for number, zone in enumerate("aab"):
        harness.add(volume(ref=ref(f"vol-{number}"), availability_zone=f"us-east-1{zone}"))
    for vol in list(harness.volumes.values()):
        asked(harness, vol.ref)
    assert [len(began(harness, ref(f"vol-{n}"))) for n in range(3)] == [1, 0, 1]


def test_after_a_quota_was_met_the_type_is_left_alone_for_an_hour_and_no_longer() -> None:
    harness = Harness()
    first, second = (harness.add(volume(ref=ref(f"vol-{n}"))) for n in (1, 2))
    harness.answers = [
        Refused(refusal=Refusal.REGION_QUOTA, code="MaxIOPSLimitExceeded", message="no",
                retry_at=None)
    ]  # fmt: skip
    asked(harness, first)
    assert harness.steps(first)[-1] == "refused"
    harness.later(minutes=5)
    held = asked(harness, second)
    assert isinstance(held.answer, Hold)
    assert held.answer.until == NOW + timedelta(hours=1)
    sweep_until(harness, NOW + timedelta(minutes=65))
    assert began(harness, second) == [NOW + timedelta(hours=1)]


def test_what_a_cooldown_holds_up_is_done_at_its_minute() -> None:
    harness = Harness(rules=rules(limits={"cooldown_minutes": 600, "largest_step": 2.0}))
    vol = harness.add(volume())
    asked(harness, vol)
    harness.loads["vol-1"] = relieved()
    sweep_until(harness, NOW + timedelta(hours=8))
    limit = harness.lifecycles["vol-1"].described(harness.now).iops or 0
    harness.loads["vol-1"] = activity(
        [2000.0] * 150 + [float(limit)] * 30,
        queue=[1.0] * 150 + [1024.0] * 30,
        iops_check=[0.0] * 150 + [1.0] * 30,
    )
    asked(harness, vol)
    assert len(began(harness, vol)) == 1
    sweep_until(harness, NOW + timedelta(minutes=605))
    assert began(harness, vol)[1:] == [NOW + timedelta(minutes=600)]


def test_what_somebody_approved_waits_for_the_window_and_is_done_when_it_opens() -> None:
    harness = Harness(rules=policy(mode=Mode.APPROVE))
    vol = harness.add(volume(tags=()))
    decision = asked(harness, vol)
    assert harness.steps(vol) == ["act", "awaiting"]
    harness.rules = policy(mode=Mode.APPROVE, change_windows=EVENING)
    harness.later(minutes=1)
    harness.ledger.answer(decision.decision_id, Step.APPROVED, at=harness.now, who="alice")
    sweep_until(harness, TONIGHT + timedelta(minutes=2))
    assert began(harness, vol) == [TONIGHT]


# --- the most starved first


class Counting(Harness):
    """A harness that counts reads of activity: every reconciliation reads it once."""

    def __init__(self, rules: Policy) -> None:
        super().__init__(rules=rules)
        self.read: Counter[str] = Counter()

    def activity(
        self, view: StorageView, now: datetime
    ) -> tuple[VolumeActivity, InstanceActivity | None]:
        self.read[view.volume.ref.resource_id] += 1
        return super().activity(view, now)


def taken(harness: Harness, count: int, zone: str = "us-east-1z") -> None:
    """So many changes of others are under way, of which nothing is heard for a long time."""
    others = (
        InFlight(resource=f"other-{n}", decision_id=f"o{n}", since=harness.now, zone=zone)
        for n in range(count)
    )
    under_way(harness, *others)


def under_way(harness: Harness, *changes: InFlight) -> None:
    """These changes are under way, and no others."""
    ledger = harness.ledger
    held = ledger._concurrency.held()
    part = ledger._concurrency.put(held, ConcurrencyState(in_flight=changes), "test")
    assert ledger._transactions.write([part], token="test", landed=lambda: False) is None


def queued(harness: Harness) -> list[str]:
    return [one.ref.resource_id for one in harness.ledger.queue(100)]


def test_the_most_starved_get_the_free_places_and_of_those_who_waits_longest() -> None:
    harness = Harness(rules=rules(max_in_flight=2))
    taken(harness, 2)
    for name, minutes in (("vol-a", 12), ("vol-b", 40), ("vol-c", 40), ("vol-d", 20)):
        vol = harness.add(volume(ref=ref(name)), load=starved(minutes))
        asked(harness, vol)
        harness.later(seconds=10)
    assert queued(harness) == ["vol-b", "vol-c", "vol-d", "vol-a"]
    under_way(harness)
    sweep_until(harness, harness.now + MINUTE)
    assert [name for name in harness.volumes if began(harness, ref(name))] == ["vol-b", "vol-c"]
    assert queued(harness) == ["vol-d", "vol-a"]


def test_who_needs_nothing_any_more_leaves_and_the_next_has_its_turn_in_the_same_run() -> None:
    harness = Harness(rules=rules(max_in_flight=1))
    taken(harness, 1)
    for name, minutes in (("vol-a", 50), ("vol-b", 40), ("vol-c", 30)):
        asked(harness, harness.add(volume(ref=ref(name)), load=starved(minutes)))
    harness.loads["vol-a"] = calm()
    del harness.volumes["vol-b"]
    under_way(harness)
    sweep_until(harness, harness.now + MINUTE)
    assert len(began(harness, ref("vol-c"))) == 1
    assert queued(harness) == []


def test_who_waits_for_something_else_holds_up_nobody_behind() -> None:
    harness = Harness(rules=rules(max_in_flight=2, max_in_flight_per_az=1))
    taken(harness, 1, "us-east-1a")
    harness.add(volume(ref=ref("vol-full")), load=starved(60))  # its zone is full
    harness.add(volume(ref=ref("vol-night"), tags=(("headroom", "auto"), ("tier", "night"))),
              load=starved(50))  # fmt: skip
    harness.add(volume(ref=ref("vol-free"), availability_zone="us-east-1b"), load=starved(10))
    night = {key: vol for key, vol in harness.volumes.items() if key == "vol-night"}
    windows = ("headroom:change-windows", "Mon 18:00-23:00 UTC")
    harness.volumes |= {k: replace(v, tags=(*v.tags, windows)) for k, v in night.items()}
    taken(harness, 2, "us-east-1a")
    for vol in list(harness.volumes.values()):
        asked(harness, vol.ref)
    assert queued(harness) == ["vol-full", "vol-night", "vol-free"]
    taken(harness, 1, "us-east-1a")
    sweep_until(harness, harness.now + MINUTE)
    assert len(began(harness, ref("vol-free"))) == 1
    assert queued(harness) == ["vol-full", "vol-night"]


def test_a_long_queue_costs_no_reconciliations_while_nothing_is_free_and_few_afterwards() -> None:
    harness = Counting(rules(max_in_flight=1))
    sweep(harness.ports, harness.now)  # the first scan of all reads everything
    taken(harness, 1)
    count = 60
    for number in range(count):
        vol = harness.add(volume(ref=ref(f"vol-{number:03}")), load=starved(10 + number % 40))
        asked(harness, vol)
    assert len(harness.ledger.queue(1_000)) == count
    harness.read.clear()
    sweep_until(harness, harness.now + timedelta(minutes=59))
    assert not harness.read
    sweep_until(
        harness, harness.now + timedelta(minutes=32)
    )  # everyone's own hour, and half of one
    assert set(harness.read.values()) == {1}
    assert len(harness.read) == count
    harness.loads = {name: calm() for name in harness.loads}  # and all of it is over
    harness.read.clear()
    under_way(harness)
    per_run = []
    while queued(harness):
        before = harness.read.total()
        sweep_until(harness, harness.now + MINUTE)
        per_run.append(harness.read.total() - before)
    assert max(per_run) <= MOST_AT_ONCE
    assert len(per_run) == -(-count // MOST_AT_ONCE)


def test_who_loses_the_last_place_in_a_race_queues_a_minute_later() -> None:
    harness = Harness(rules=rules(max_in_flight=1))
    vol = harness.add(volume())
    resource_state = harness.ledger.resource_state

    def a_moment_ago(*args: object, **named: object) -> object:
        seen = resource_state(*args, **named)  # type: ignore[arg-type]
        return replace(seen, concurrency=ConcurrencyState())

    taken(harness, 1)
    harness.ledger.resource_state = a_moment_ago  # type: ignore[method-assign,assignment]
    decision = asked(harness, vol)
    harness.ledger.resource_state = resource_state  # type: ignore[method-assign]
    assert isinstance(decision.answer, Act)
    assert harness.steps(vol) == ["act", "withdrawn"]
    assert (
        "1 changes are under way, 1 allowed"
        in harness.ledger.chain(decision.decision_id)[-1].summary
    )
    sweep_until(harness, harness.now + MINUTE)
    assert queued(harness) == ["vol-1"]
    under_way(harness)
    sweep_until(harness, harness.now + MINUTE)
    assert len(began(harness, vol)) == 1


def test_a_place_that_nobody_gives_back_is_free_again_after_two_days() -> None:
    harness = Harness(rules=rules(max_in_flight=1))
    taken(harness, 1)
    vol = harness.add(volume())
    asked(harness, vol)
    harness.later(hours=46)
    sweep_until(harness, NOW + LONGEST + timedelta(minutes=2))
    assert began(harness, vol) == [NOW + LONGEST]


def test_a_queue_that_cannot_be_read_stops_neither_what_is_due_nor_the_scan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness = Harness()
    vol = harness.add(volume())

    def unreadable(limit: int) -> object:
        raise ReadFailed("Query: throttled")

    monkeypatch.setattr(harness.ledger, "queue", unreadable)
    report = sweep(harness.ports, harness.now)
    assert report.errors == ("the queue: ReadFailed: Query: throttled",)
    assert report.scan_complete
    assert len(began(harness, vol)) == 1


@pytest.mark.parametrize("limit", ["max_in_flight", "max_in_flight_per_az", "max_changes_per_hour"])
def test_a_fleet_that_starves_at_once_is_changed_a_few_at_a_time(limit: str) -> None:
    harness = Harness(rules=rules(**{limit: 3}))
    fleet = [harness.add(volume(ref=ref(f"vol-{n:02}")), load=starved(30)) for n in range(12)]
    harness.pressed = {vol.resource_id for vol in fleet}
    most = Counter[datetime]()
    for _ in range(4 * 60 + 5):
        sweep(harness.ports, harness.now, scan_every_s=900)
        for vol in fleet:
            if began(harness, vol):
                harness.loads[vol.resource_id] = relieved()
                harness.pressed.discard(vol.resource_id)
        under_way = sum(
            harness.ledger.resource_state(vol, harness.now).open_chain is not None for vol in fleet
        )
        assert limit == "max_changes_per_hour" or under_way <= 3
        harness.later(minutes=1)
    starts = sorted(at for vol in fleet for at in began(harness, vol))
    assert len(starts) == 12
    if limit == "max_changes_per_hour":
        for at in starts:
            most[at] = sum(at <= other < at + timedelta(hours=1) for other in starts)
        assert max(most.values()) == 3


def test_a_full_quota_holds_up_nobody_of_another_type_and_costs_no_reconciliation() -> None:
    harness = Counting(rules(max_in_flight=2, limits={"types": (VolumeType.GP3, VolumeType.IO2)}))
    sweep(harness.ports, harness.now)
    taken(harness, 2)
    harness.add(volume(io(iops=3000), ref=ref("vol-io2")), load=starved(60))
    harness.add(volume(ref=ref("vol-gp3")), load=starved(10))
    for vol in list(harness.volumes.values()):
        asked(harness, vol.ref)
    assert queued(harness) == ["vol-io2", "vol-gp3"]
    taken(harness, 1)
    (one,) = harness.ledger.concurrency().in_flight
    full = replace(one, counts=(("io2_iops", 99_999),))
    under_way(harness, full)
    harness.read.clear()
    sweep_until(harness, harness.now + MINUTE)
    assert harness.read == Counter({"vol-gp3": 1})
    assert len(began(harness, ref("vol-gp3"))) == 1
    assert queued(harness) == ["vol-io2"]


@pytest.mark.parametrize("closed", ["freeze", "calendar", "nothing"])
def test_the_queue_is_read_only_when_somebody_could_have_a_turn(
    closed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = Harness(rules=rules(calendars=("ops",)))
    if closed == "freeze":
        freeze = Freeze(begins=NOW, until=NOW + timedelta(days=1))
        harness.rules = rules(freezes=(freeze,))
    if closed == "calendar":
        harness.closed["ops"] = CalendarState(name="ops", open=False)
    reads: list[int] = []
    queue = harness.ledger.queue
    monkeypatch.setattr(harness.ledger, "queue", lambda limit: reads.append(limit) or queue(limit))
    sweep_until(harness, NOW + timedelta(minutes=3))
    assert len(reads) == (3 if closed == "nothing" else 0)


def test_passing_over_many_costs_one_read_of_the_places(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness(rules=rules(max_in_flight_per_az=1))
    sweep(harness.ports, harness.now)
    taken(harness, 1, "us-east-1a")
    for number in range(30):
        waiting = QueueEntry(since=harness.now, starved_minutes=5, zone="us-east-1a")
        harness.ledger.reconciled(
            ref(f"vol-{number}"), at=harness.now, due_at=None, waiting=waiting
        )
    counts: list[int] = []
    concurrency = harness.ledger.concurrency
    monkeypatch.setattr(harness.ledger, "concurrency", lambda: counts.append(1) or concurrency())
    sweep_until(harness, harness.now + MINUTE)
    assert len(counts) == 1
    assert len(queued(harness)) == 30


def test_a_set_gets_its_turn_when_all_of_it_fits_and_costs_no_reconciliation_before() -> None:
    harness = Harness(
        rules=rules(max_in_flight=4, max_in_flight_per_az=4, limits={"mode": Mode.AUTO})
    )
    harness.instance = instance(baseline_iops=400_000, baseline_mibps=50_000.0)
    others = [
        harness.add(volume(ref=ref(f"vol-{n}"), tags=(), instance_ids=(f"i-{n + 2}",)))
        for n in range(2)
    ]
    for each in others:
        asked(harness, each)
    tags = (("headroom:group", "data"),)
    members = [harness.add(volume(ref=ref(f"vol-of-set-{n}"), tags=tags)) for n in range(3)]
    for each in members:
        asked(harness, each)
    harness.ledger.claim_scan(harness.now, NEVER_SCANNED)
    assert [one.waiting.slots_needed for one in harness.ledger.queue(9)] == [3, 3, 3]
    harness.unmeasured = {each.resource_id for each in members}  # every reconciliation fails now
    sweep_until(harness, harness.now + 8 * MINUTE)
    assert not any(began(harness, each) for each in members)
    harness.unmeasured = set()
    for each in others:
        harness.loads[each.resource_id] = relieved()
    sweep_until(harness, harness.now + 30 * MINUTE)
    assert len({tuple(began(harness, each)) for each in members}) == 1
    assert all(began(harness, each) for each in members)


@pytest.mark.parametrize(
    ("waits", "order"),
    [
        (starved(60), ["vol-1", "vol-2", "vol-1"]),
        (starved(12), ["vol-1", "vol-1"]),
        (calm(), ["vol-1", "vol-1"]),
    ],
    ids=["longer", "not as long", "not at all"],
)
@pytest.mark.parametrize("limit", ["max_in_flight", "max_in_flight_per_az"])
def test_who_just_had_a_place_gets_it_again_after_those_that_starve_longer(
    limit: str, waits: VolumeActivity, order: list[str]
) -> None:
    """The first change of vol-1 is used up as well, when vol-2 has waited for its end."""
    harness = Harness(rules=rules(**{limit: 1}), instance=instance(baseline_iops=40_000))
    first, second = (harness.add(volume(ref=ref(f"vol-{n}"))) for n in (1, 2))
    bought = asked(harness, first).plan
    asked(harness, second)
    assert bought is not None
    began_at, at_limit = harness.now, [float(bought.target.iops or 0)] * 30
    harness.loads["vol-1"] = activity(
        [1500.0] * 150 + at_limit, iops_check=[0.0] * 150 + [1.0] * 30,
        queue=[1.0] * 150 + [900.0] * 30,
    )  # fmt: skip
    harness.loads["vol-2"] = waits
    while harness.now < began_at + timedelta(hours=5) and len(all_began(harness)) < len(order):
        harness.later(minutes=5)
        sweep(harness.ports, harness.now, scan_every_s=NEVER_SCANNED)
        if began(harness, second):
            harness.loads["vol-2"] = relieved()
    assert all_began(harness) == order


def all_began(harness: Harness) -> list[str]:
    """Whose changes began, oldest first."""
    starts = ((at, name) for name, cycle in harness.lifecycles.items() for at in cycle.starts)
    return [name for _, name in sorted(starts)]
