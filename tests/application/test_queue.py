"""What waits for an hour or a place is done at the minute it clears, the most starved first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from headroom.application import sweep
from headroom.application.queue import MOST_AT_ONCE as LOOKS
from headroom.domain.decision import Act, Decision, Hold, Reason
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
from tests.application.harness import Stage, calm, reconcile_now
from tests.application.test_next_reconcile import idle_stage
from tests.builders import NOW, activity, instance, io, policy, ref, volume

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


def asked(stage: Stage, vol: ResourceRef) -> Decision:
    decision = reconcile_now(stage.ports, vol, stage.now, trigger="alarm", must_record=True)
    assert decision is not None
    return decision


def began(stage: Stage, vol: ResourceRef) -> list[datetime]:
    return list(stage.lifecycles[vol.resource_id].starts)


def sweep_until(stage: Stage, last: datetime) -> None:
    while stage.now < last:
        stage.later(minutes=1)
        report = sweep(stage.ports, stage.now, scan_every_s=NEVER_SCANNED)
        assert report.errors == ()


# --- at the minute it clears


def windowed(stage: Stage) -> None:
    stage.rules = rules(limits={"change_windows": EVENING})


def frozen(stage: Stage) -> None:
    freezes = (
        Freeze(begins=NOW - timedelta(days=1), until=NOW + timedelta(hours=4)),
        Freeze(begins=NOW + timedelta(hours=3), until=TONIGHT),
    )
    stage.rules = rules(freezes=freezes)


def calendared(stage: Stage) -> None:
    stage.rules = rules(calendars=("ops", "closed-days"))
    stage.closed["closed-days"] = CalendarState(name="closed-days", open=False, changes_at=TONIGHT)


def all_of_it(stage: Stage) -> None:
    windowed(stage)
    assert isinstance(stage.rules, Policy)
    freeze = Freeze(begins=NOW, until=TONIGHT - timedelta(hours=1))
    stage.rules = replace(stage.rules, freezes=(freeze,), max_changes_per_hour=1)


@pytest.mark.parametrize("close", [windowed, frozen, calendared, all_of_it])
def test_what_an_hour_holds_up_is_done_at_the_minute_it_comes(
    close: Callable[[Stage], None],
) -> None:
    stage = Stage()
    vol = stage.add(volume())
    close(stage)
    decision = asked(stage, vol)
    assert isinstance(decision.answer, Hold)
    assert decision.answer.reason is Reason.BLOCKED_TEMPORARILY
    assert decision.answer.until == TONIGHT
    sweep_until(stage, TONIGHT + timedelta(minutes=2))
    assert began(stage, vol) == [TONIGHT]


@pytest.mark.parametrize("close", [windowed, frozen, calendared, all_of_it])
def test_giving_back_waits_for_its_hour_like_raising(close: Callable[[Stage], None]) -> None:
    stage = idle_stage()
    close(stage)
    vol = stage.volumes["vol-1"].ref
    decision = asked(stage, vol)
    assert isinstance(decision.answer, Hold)
    assert decision.answer.until == TONIGHT
    sweep_until(stage, TONIGHT + timedelta(minutes=2))
    assert began(stage, vol) == [TONIGHT]


def test_a_calendar_that_cannot_be_read_holds_everything_and_is_reported_by_the_sweep() -> None:
    stage = Stage(rules=rules(calendars=("ops",)))
    stage.closed["ops"] = CalendarState(name="ops", open=False, problem="GetCalendarState: denied")
    vol = stage.add(volume())
    decision = asked(stage, vol)
    assert isinstance(decision.answer, Hold)
    assert decision.answer.until is None
    blocking = {v.guardrail.value: v.detail for v in decision.judgements[0].blocking}
    assert blocking == {"calendar": "ops cannot be read: GetCalendarState: denied"}
    assert sweep(stage.ports, stage.now).calendars_unread == ("GetCalendarState: denied",)
    stage.closed.clear()
    sweep_until(stage, stage.now + timedelta(minutes=10))
    assert len(began(stage, vol)) == 1


def test_a_calendar_that_says_open_at_an_instant_is_asked_again_then_and_not_believed() -> None:
    stage = Stage()
    calendared(stage)
    vol = stage.add(volume())
    asked(stage, vol)
    sweep_until(stage, TONIGHT - timedelta(minutes=30))
    stage.closed["closed-days"] = CalendarState(name="closed-days", open=False)  # kept closed
    sweep_until(stage, TONIGHT + timedelta(minutes=30))
    assert began(stage, vol) == []


def test_the_hours_limit_lets_the_next_one_go_at_its_minute() -> None:
    stage = Stage(rules=rules(max_changes_per_hour=1))
    first, second = (stage.add(volume(ref=ref(f"vol-{n}"))) for n in (1, 2))
    asked(stage, first)
    stage.later(minutes=7)
    held = asked(stage, second)
    assert isinstance(held.answer, Hold)
    assert held.answer.until == NOW + timedelta(hours=1)
    sweep_until(stage, NOW + timedelta(minutes=65))
    assert began(stage, second) == [NOW + timedelta(hours=1)]


@pytest.mark.parametrize("limit", ["max_in_flight", "max_in_flight_per_az"])
def test_a_place_is_taken_in_the_very_minute_it_is_given_back(limit: str) -> None:
    stage = Stage(rules=rules(**{limit: 1}))
    first, second = (stage.add(volume(ref=ref(f"vol-{n}"))) for n in (1, 2))
    asked(stage, first)
    held = asked(stage, second)
    assert isinstance(held.answer, Hold)
    assert held.answer.until is None
    assert {v.guardrail.value for v in held.judgements[0].blocking} == {limit}
    stage.loads["vol-1"] = relieved()
    sweep_until(stage, NOW + timedelta(hours=2))
    (ended,) = [
        r.at for r in stage.ledger.by_resource(first.arn, since=NOW, until=stage.now)
        if r.step is Step.RELIEVED
    ]  # fmt: skip
    assert began(stage, second) == [ended]


def test_another_zone_is_not_held_up_by_a_full_one() -> None:
    stage = Stage(rules=rules(max_in_flight_per_az=1))
    for number, zone in enumerate("aab"):
        stage.add(volume(ref=ref(f"vol-{number}"), availability_zone=f"us-east-1{zone}"))
    for vol in list(stage.volumes.values()):
        asked(stage, vol.ref)
    assert [len(began(stage, ref(f"vol-{n}"))) for n in range(3)] == [1, 0, 1]


def test_after_a_quota_was_met_the_type_is_left_alone_for_an_hour_and_no_longer() -> None:
    stage = Stage()
    first, second = (stage.add(volume(ref=ref(f"vol-{n}"))) for n in (1, 2))
    stage.answers = [
        Refused(refusal=Refusal.REGION_QUOTA, code="MaxIOPSLimitExceeded", message="no",
                retry_at=None)
    ]  # fmt: skip
    asked(stage, first)
    assert stage.steps(first)[-1] == "refused"
    stage.later(minutes=5)
    held = asked(stage, second)
    assert isinstance(held.answer, Hold)
    assert held.answer.until == NOW + timedelta(hours=1)
    sweep_until(stage, NOW + timedelta(minutes=65))
    assert began(stage, second) == [NOW + timedelta(hours=1)]


def test_what_a_cooldown_holds_up_is_done_at_its_minute() -> None:
    stage = Stage(rules=rules(limits={"cooldown_minutes": 600, "largest_step": 2.0}))
    vol = stage.add(volume())
    asked(stage, vol)
    stage.loads["vol-1"] = relieved()
    sweep_until(stage, NOW + timedelta(hours=8))
    limit = stage.lifecycles["vol-1"].described(stage.now).iops or 0
    stage.loads["vol-1"] = activity(
        [2000.0] * 150 + [float(limit)] * 30,
        queue=[1.0] * 150 + [1024.0] * 30,
        iops_check=[0.0] * 150 + [1.0] * 30,
    )
    asked(stage, vol)
    assert len(began(stage, vol)) == 1
    sweep_until(stage, NOW + timedelta(minutes=605))
    assert began(stage, vol)[1:] == [NOW + timedelta(minutes=600)]


def test_what_somebody_approved_waits_for_the_window_and_is_done_when_it_opens() -> None:
    stage = Stage(rules=policy(mode=Mode.APPROVE))
    vol = stage.add(volume(tags=()))
    decision = asked(stage, vol)
    assert stage.steps(vol) == ["act", "awaiting"]
    stage.rules = policy(mode=Mode.APPROVE, change_windows=EVENING)
    stage.later(minutes=1)
    stage.ledger.answer(decision.decision_id, Step.APPROVED, at=stage.now, who="alice")
    sweep_until(stage, TONIGHT + timedelta(minutes=2))
    assert began(stage, vol) == [TONIGHT]


# --- the most starved first


class Counting(Stage):
    """A stage that knows whose activity was read: every look reads it once."""

    def __init__(self, rules: Policy) -> None:
        super().__init__(rules=rules)
        self.read: Counter[str] = Counter()

    def activity(
        self, view: StorageView, now: datetime
    ) -> tuple[VolumeActivity, InstanceActivity | None]:
        self.read[view.volume.ref.resource_id] += 1
        return super().activity(view, now)


def taken(stage: Stage, count: int, zone: str = "us-east-1z") -> None:
    """So many changes of others are under way, of which nothing is heard for a long time."""
    others = (
        InFlight(resource=f"other-{n}", decision_id=f"o{n}", since=stage.now, zone=zone)
        for n in range(count)
    )
    under_way(stage, *others)


def under_way(stage: Stage, *changes: InFlight) -> None:
    """These changes are under way, and no others."""
    ledger = stage.ledger
    held = ledger._concurrency.held()
    part = ledger._concurrency.put(held, ConcurrencyState(in_flight=changes), "test")
    assert ledger._transactions.write([part], token="test", landed=lambda: False) is None


def queued(stage: Stage) -> list[str]:
    return [one.ref.resource_id for one in stage.ledger.queue(100)]


def test_the_most_starved_get_the_free_places_and_of_those_who_waits_longest() -> None:
    stage = Stage(rules=rules(max_in_flight=2))
    taken(stage, 2)
    for name, minutes in (("vol-a", 12), ("vol-b", 40), ("vol-c", 40), ("vol-d", 20)):
        vol = stage.add(volume(ref=ref(name)), load=starved(minutes))
        asked(stage, vol)
        stage.later(seconds=10)
    assert queued(stage) == ["vol-b", "vol-c", "vol-d", "vol-a"]
    under_way(stage)
    sweep_until(stage, stage.now + MINUTE)
    assert [name for name in stage.volumes if began(stage, ref(name))] == ["vol-b", "vol-c"]
    assert queued(stage) == ["vol-d", "vol-a"]


def test_who_needs_nothing_any_more_leaves_and_the_next_has_its_turn_in_the_same_run() -> None:
    stage = Stage(rules=rules(max_in_flight=1))
    taken(stage, 1)
    for name, minutes in (("vol-a", 50), ("vol-b", 40), ("vol-c", 30)):
        asked(stage, stage.add(volume(ref=ref(name)), load=starved(minutes)))
    stage.loads["vol-a"] = calm()
    del stage.volumes["vol-b"]
    under_way(stage)
    sweep_until(stage, stage.now + MINUTE)
    assert len(began(stage, ref("vol-c"))) == 1
    assert queued(stage) == []


def test_who_waits_for_something_else_holds_up_nobody_behind() -> None:
    stage = Stage(rules=rules(max_in_flight=2, max_in_flight_per_az=1))
    taken(stage, 1, "us-east-1a")
    stage.add(volume(ref=ref("vol-full")), load=starved(60))  # its zone is full
    stage.add(volume(ref=ref("vol-night"), tags=(("headroom", "auto"), ("tier", "night"))),
              load=starved(50))  # fmt: skip
    stage.add(volume(ref=ref("vol-free"), availability_zone="us-east-1b"), load=starved(10))
    night = {key: vol for key, vol in stage.volumes.items() if key == "vol-night"}
    windows = ("headroom:change-windows", "Mon 18:00-23:00 UTC")
    stage.volumes |= {k: replace(v, tags=(*v.tags, windows)) for k, v in night.items()}
    taken(stage, 2, "us-east-1a")
    for vol in list(stage.volumes.values()):
        asked(stage, vol.ref)
    assert queued(stage) == ["vol-full", "vol-night", "vol-free"]
    taken(stage, 1, "us-east-1a")
    sweep_until(stage, stage.now + MINUTE)
    assert len(began(stage, ref("vol-free"))) == 1
    assert queued(stage) == ["vol-full", "vol-night"]


def test_a_long_queue_costs_no_reconciliations_while_nothing_is_free_and_few_afterwards() -> None:
    stage = Counting(rules(max_in_flight=1))
    sweep(stage.ports, stage.now)  # the first scan of all looks at everybody
    taken(stage, 1)
    count = 60
    for number in range(count):
        vol = stage.add(volume(ref=ref(f"vol-{number:03}")), load=starved(10 + number % 40))
        asked(stage, vol)
    assert len(stage.ledger.queue(1_000)) == count
    stage.read.clear()
    sweep_until(stage, stage.now + timedelta(minutes=59))
    assert not stage.read
    sweep_until(stage, stage.now + timedelta(minutes=32))  # everyone's own hour, and half of one
    assert set(stage.read.values()) == {1}
    assert len(stage.read) == count
    stage.loads = {name: calm() for name in stage.loads}  # and all of it is over
    stage.read.clear()
    under_way(stage)
    per_run = []
    while queued(stage):
        before = stage.read.total()
        sweep_until(stage, stage.now + MINUTE)
        per_run.append(stage.read.total() - before)
    assert max(per_run) <= LOOKS
    assert len(per_run) == -(-count // LOOKS)


def test_who_loses_the_last_place_in_a_race_queues_a_minute_later() -> None:
    stage = Stage(rules=rules(max_in_flight=1))
    vol = stage.add(volume())
    resource_state = stage.ledger.resource_state

    def a_moment_ago(*args: object, **named: object) -> object:
        seen = resource_state(*args, **named)  # type: ignore[arg-type]
        return replace(seen, concurrency=ConcurrencyState())

    taken(stage, 1)
    stage.ledger.resource_state = a_moment_ago  # type: ignore[method-assign,assignment]
    decision = asked(stage, vol)
    stage.ledger.resource_state = resource_state  # type: ignore[method-assign]
    assert isinstance(decision.answer, Act)
    assert stage.steps(vol) == ["act", "withdrawn"]
    assert (
        "1 changes are under way, 1 allowed" in stage.ledger.chain(decision.decision_id)[-1].summary
    )
    sweep_until(stage, stage.now + MINUTE)
    assert queued(stage) == ["vol-1"]
    under_way(stage)
    sweep_until(stage, stage.now + MINUTE)
    assert len(began(stage, vol)) == 1


def test_a_place_that_nobody_gives_back_is_free_again_after_two_days() -> None:
    stage = Stage(rules=rules(max_in_flight=1))
    taken(stage, 1)
    vol = stage.add(volume())
    asked(stage, vol)
    stage.later(hours=46)
    sweep_until(stage, NOW + LONGEST + timedelta(minutes=2))
    assert began(stage, vol) == [NOW + LONGEST]


def test_a_queue_that_cannot_be_read_stops_neither_what_is_due_nor_the_scan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage()
    vol = stage.add(volume())

    def unreadable(limit: int) -> object:
        raise ReadFailed("Query: throttled")

    monkeypatch.setattr(stage.ledger, "queue", unreadable)
    report = sweep(stage.ports, stage.now)
    assert report.errors == ("the queue: ReadFailed: Query: throttled",)
    assert report.scan_complete
    assert len(began(stage, vol)) == 1


@pytest.mark.parametrize("limit", ["max_in_flight", "max_in_flight_per_az", "max_changes_per_hour"])
def test_a_fleet_that_starves_at_once_is_changed_a_few_at_a_time(limit: str) -> None:
    stage = Stage(rules=rules(**{limit: 3}))
    fleet = [stage.add(volume(ref=ref(f"vol-{n:02}")), load=starved(30)) for n in range(12)]
    stage.pressed = {vol.resource_id for vol in fleet}
    most = Counter[datetime]()
    for _ in range(4 * 60 + 5):
        sweep(stage.ports, stage.now, scan_every_s=900)
        for vol in fleet:
            if began(stage, vol):
                stage.loads[vol.resource_id] = relieved()
                stage.pressed.discard(vol.resource_id)
        under_way = sum(
            stage.ledger.resource_state(vol, stage.now).open_chain is not None for vol in fleet
        )
        assert limit == "max_changes_per_hour" or under_way <= 3
        stage.later(minutes=1)
    starts = sorted(at for vol in fleet for at in began(stage, vol))
    assert len(starts) == 12
    if limit == "max_changes_per_hour":
        for at in starts:
            most[at] = sum(at <= other < at + timedelta(hours=1) for other in starts)
        assert max(most.values()) == 3


def test_a_full_quota_holds_up_nobody_of_another_type_and_costs_no_reconciliation() -> None:
    stage = Counting(rules(max_in_flight=2, limits={"types": (VolumeType.GP3, VolumeType.IO2)}))
    sweep(stage.ports, stage.now)
    taken(stage, 2)
    stage.add(volume(io(iops=3000), ref=ref("vol-io2")), load=starved(60))
    stage.add(volume(ref=ref("vol-gp3")), load=starved(10))
    for vol in list(stage.volumes.values()):
        asked(stage, vol.ref)
    assert queued(stage) == ["vol-io2", "vol-gp3"]
    taken(stage, 1)
    (one,) = stage.ledger.concurrency().in_flight
    full = replace(one, counts=(("io2_iops", 99_999),))
    under_way(stage, full)
    stage.read.clear()
    sweep_until(stage, stage.now + MINUTE)
    assert stage.read == Counter({"vol-gp3": 1})
    assert len(began(stage, ref("vol-gp3"))) == 1
    assert queued(stage) == ["vol-io2"]


@pytest.mark.parametrize("closed", ["freeze", "calendar", "nothing"])
def test_the_queue_is_read_only_when_somebody_could_have_a_turn(
    closed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(rules=rules(calendars=("ops",)))
    if closed == "freeze":
        freeze = Freeze(begins=NOW, until=NOW + timedelta(days=1))
        stage.rules = rules(freezes=(freeze,))
    if closed == "calendar":
        stage.closed["ops"] = CalendarState(name="ops", open=False)
    reads: list[int] = []
    queue = stage.ledger.queue
    monkeypatch.setattr(stage.ledger, "queue", lambda limit: reads.append(limit) or queue(limit))
    sweep_until(stage, NOW + timedelta(minutes=3))
    assert len(reads) == (3 if closed == "nothing" else 0)


def test_passing_over_many_costs_one_read_of_the_places(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(rules=rules(max_in_flight_per_az=1))
    sweep(stage.ports, stage.now)
    taken(stage, 1, "us-east-1a")
    for number in range(30):
        waiting = QueueEntry(since=stage.now, starved_minutes=5, zone="us-east-1a")
        stage.ledger.reconciled(ref(f"vol-{number}"), at=stage.now, due_at=None, waiting=waiting)
    counts: list[int] = []
    concurrency = stage.ledger.concurrency
    monkeypatch.setattr(stage.ledger, "concurrency", lambda: counts.append(1) or concurrency())
    sweep_until(stage, stage.now + MINUTE)
    assert len(counts) == 1
    assert len(queued(stage)) == 30


def test_a_set_gets_its_turn_when_all_of_it_fits_and_costs_no_reconciliation_before() -> None:
    stage = Stage(rules=rules(max_in_flight=4, max_in_flight_per_az=4, limits={"mode": Mode.AUTO}))
    stage.instance = instance(baseline_iops=400_000, baseline_mibps=50_000.0)
    others = [
        stage.add(volume(ref=ref(f"vol-{n}"), tags=(), instance_ids=(f"i-{n + 2}",)))
        for n in range(2)
    ]
    for each in others:
        asked(stage, each)
    tags = (("headroom:group", "data"),)
    members = [stage.add(volume(ref=ref(f"vol-of-set-{n}"), tags=tags)) for n in range(3)]
    for each in members:
        asked(stage, each)
    stage.ledger.claim_scan(stage.now, NEVER_SCANNED)
    assert [one.waiting.slots_needed for one in stage.ledger.queue(9)] == [3, 3, 3]
    stage.unmeasured = {each.resource_id for each in members}  # whoever looks now fails
    sweep_until(stage, stage.now + 8 * MINUTE)
    assert not any(began(stage, each) for each in members)
    stage.unmeasured = set()
    for each in others:
        stage.loads[each.resource_id] = relieved()
    sweep_until(stage, stage.now + 30 * MINUTE)
    assert len({tuple(began(stage, each)) for each in members}) == 1
    assert all(began(stage, each) for each in members)
