"""Adaptive scans: few metrics of what is due, and work for what deserves it."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from headroom.application import dispatch, read_page, work
from headroom.domain.detection import LONGEST, Metric
from headroom.domain.policy import PolicyUnreadable
from headroom.domain.resources import ResourceRef
from headroom.policy import parse_policy
from headroom.ports import ScanPage, WorkItem
from tests.application.harness import Harness, calm
from tests.application.test_work import Queue, fleet_of
from tests.builders import NOW

TICK = timedelta(minutes=5)


@pytest.fixture
def harness() -> Harness:
    return Harness()


def tick(
    harness: Harness, now: datetime, *, reconcile: bool = True, alarm_budget_usd: float = 0.0
) -> list[ResourceRef]:
    """One run of everything; who was put on the queue as a suspect."""
    harness.now = now
    queue = Queue()
    dispatch(harness.ports, queue, now, scan_every_s=300)
    due = queue.taken()
    while queue.pages:
        read_page(harness.ports, queue, queue.pages.pop(0), lambda: now, every_s=300, adaptive=True,
                  alarm_budget_usd=alarm_budget_usd)  # fmt: skip
    if reconcile:
        work(harness.ports, [*due, *queue.items], lambda: now)
    return [item.ref for item in queue.items]


def metrics_read(harness: Harness) -> Counter[str]:
    found: Counter[str] = Counter()
    for one in harness.glanced_at:
        assert one.metrics is not None
        found[one.view.volume.ref.resource_id] += len(one.metrics - {Metric.BALANCE, Metric.FREE})
    return found


def settled(harness: Harness, count: int = 6) -> datetime:
    """A fleet that was reconciled, two hours after the first scan; all calm."""
    fleet_of(harness, count)
    harness.loads = {name: calm() for name in harness.loads}
    for number in range(25):
        tick(harness, NOW + number * TICK)
    harness.glanced_at.clear()
    return NOW + 25 * TICK


def test_what_is_quiet_costs_one_metric_an_hour(harness: Harness) -> None:
    start = settled(harness)
    for number in range(24):
        assert tick(harness, start + number * TICK) == []
    assert set(metrics_read(harness).values()) == {2}, "two hours"


def test_what_is_pressed_is_found_within_the_hour_and_glanced_at_every_five_minutes(
    harness: Harness,
) -> None:
    start = settled(harness)
    harness.pressed = {"vol-0003"}
    harness.loads["vol-0003"] = calm()
    found = [n for n in range(24) if any(r.resource_id == "vol-0003" for r in
             tick(harness, start + n * TICK, reconcile=True))]  # fmt: skip
    assert found[0] <= LONGEST / TICK
    gaps = [b - a for a, b in itertools.pairwise(found)]
    assert gaps == sorted(gaps), "glanced at ever more rarely while nothing changes"
    times = sum(one.view.volume.ref.resource_id == "vol-0003" for one in harness.glanced_at)
    assert times >= 24 - found[0]


def test_a_glance_that_is_not_answered_is_repeated_in_the_next_run(harness: Harness) -> None:
    start = settled(harness, 1)
    harness.unmeasured = {"vol-0000"}
    woken = [one for n in range(13) for one in tick(harness, start + n * TICK)]
    assert len(harness.glanced_at) >= 3, "at once, then half as often each time"
    assert [one.resource_id for one in woken] == ["vol-0000"], "read alone, it fails alone"


def test_who_is_enrolled_now_is_reconciled_in_the_next_run(harness: Harness) -> None:
    start = settled(harness, 2)
    assert tick(harness, start) == []
    vol = harness.volumes["vol-0001"]
    harness.volumes["vol-0001"] = replace(vol, tags=(("headroom", "observe"),))
    assert [one.resource_id for one in tick(harness, start + TICK)] == ["vol-0001"]
    assert tick(harness, start + 2 * TICK) == [], "once"


@pytest.mark.parametrize(("days_ahead", "woken"), [(2, True), (30, False)])
def test_who_has_an_event_in_a_new_policy_is_reconciled_in_the_next_run(
    harness: Harness, days_ahead: int, woken: bool
) -> None:
    """Weeks ahead it need not: the weekly reconciliation comes first, and plans its own time."""
    start = settled(harness, 2)
    tagged = harness.volumes["vol-0001"]
    harness.volumes["vol-0001"] = replace(tagged, tags=(*tagged.tags, ("team", "shop")))
    when = f"once {start + timedelta(days=days_ahead):%Y-%m-%d %H:%M} UTC"
    event = {
        "name": "launch", "when": when, "for": "2h", "iops": 9_000,
        "match": {"tags": {"team": "shop"}},
    }  # fmt: skip
    rules = {"version": 1, "known_events": [event], "defaults": {"mode": "auto"}}
    harness.rules = parse_policy(rules, source="test")
    found = [one.resource_id for n in range(3) for one in tick(harness, start + n * TICK)]
    assert found == (["vol-0001"] if woken else []), "once"


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("news", ["a mode", "pressure"])
def test_what_a_reader_found_that_died_is_news_to_the_one_that_reads_the_page_again(
    harness: Harness, news: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = settled(harness, 2)
    assert tick(harness, start) == []
    if news == "a mode":
        harness.volumes["vol-0001"] = replace(
            harness.volumes["vol-0001"], tags=(("headroom", "observe"),)
        )
    else:
        start += LONGEST
        harness.pressed = {"vol-0001"}

    def die(*_: object, **__: object) -> bool:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(harness.ports.state_store, "mark_due", die)
        with pytest.raises(Killed):
            tick(harness, start + TICK)
    progress = harness.ports.work.scan_progress()
    assert progress.started_at is not None
    (page,) = progress.open
    queue, again = Queue(), start + TICK + timedelta(minutes=1)
    read_page(harness.ports, queue, ScanPage(scan=progress.started_at, kind=page.kind, number=page.number),
              lambda: again, every_s=300, adaptive=True)  # fmt: skip
    assert [one.ref.resource_id for one in queue.items] == ["vol-0001"]


def test_a_policy_that_cannot_be_read_for_a_while_makes_no_work(harness: Harness) -> None:
    start, rules = settled(harness, 3), harness.rules
    harness.rules = PolicyUnreadable(reason="denied")
    assert [tick(harness, start + n * TICK) for n in range(14)] == [[]] * 14
    harness.rules = rules
    assert [tick(harness, start + n * TICK) for n in range(14, 28)] == [[]] * 14


def test_a_new_policy_is_applied_to_what_is_in_trouble_at_once(harness: Harness) -> None:
    start = settled(harness, 2)
    harness.pressed = {"vol-0001"}
    for number in range(60):  # by now it is reconciled every hours only
        tick(harness, start + number * TICK)
    assert tick(harness, start + 60 * TICK) == []
    harness.rules = replace(harness.rules, version="another")
    assert [r.resource_id for r in tick(harness, start + 61 * TICK)] == ["vol-0001"]
    assert tick(harness, start + 62 * TICK) == []


def test_what_is_off_is_not_glanced_at(harness: Harness) -> None:
    fleet_of(harness, 2, tags=(("headroom", "off"),))
    assert tick(harness, NOW) == []
    assert harness.glanced_at == []


def test_a_state_that_cannot_be_read_is_as_if_there_was_none(harness: Harness) -> None:
    (ref,) = fleet_of(harness, 1)
    tick(harness, NOW)
    client = harness.ledger._client
    client.update_item(
        TableName="state", Key=harness.ledger._work_key(ref), UpdateExpression="SET #glance = :no",
        ExpressionAttributeNames={"#glance": "glance"},
        ExpressionAttributeValues={":no": {"S": "{"}},
    )  # fmt: skip
    known = harness.ledger.glanced([ref])[ref.arn]
    assert known.state is None
    before = len(harness.glanced_at)
    tick(harness, NOW + TICK)
    assert len(harness.glanced_at) > before
    state = harness.ledger.glanced([ref])[ref.arn].state
    assert state is not None
    assert replace(state, next_at=NOW) != state


def test_with_every_volume_new_the_first_scan_spreads_the_first_reconciliations(
    harness: Harness,
) -> None:
    fleet_of(harness, 4)
    harness.loads = {name: calm() for name in harness.loads}
    harness.pressed = {"vol-0001"}
    assert {r.resource_id for r in tick(harness, NOW, reconcile=False)} >= {"vol-0001"}


def test_every_enrolled_volume_is_planned_an_alarm_as_far_as_the_budget_goes(
    harness: Harness,
) -> None:
    start = settled(harness)
    other = harness.volumes["vol-0004"]
    harness.volumes["vol-0004"] = replace(other, tags=(("headroom", "observe"),))
    tick(harness, start, alarm_budget_usd=9)
    enrolled = set(harness.volumes) - {"vol-0004"}
    assert watched(harness) == dict.fromkeys(enrolled, 0.1), "the other is only watched"
    harness.volumes["vol-0003"] = replace(harness.volumes["vol-0003"], instance_ids=())
    tick(harness, start + TICK, alarm_budget_usd=9)
    assert set(watched(harness)) == enrolled - {"vol-0003"}, "it was detached"


def test_a_volume_whose_pressure_was_seen_late_comes_first(harness: Harness) -> None:
    start = settled(harness)
    harness.pressed = {"vol-0003"}
    for number in range(13):
        tick(harness, start + number * TICK)
    tick(harness, start + 13 * TICK, alarm_budget_usd=0.1)
    ((name, score),) = watched(harness).items()
    assert name == "vol-0003"
    assert 0.6 <= score <= 1.1


def watched(harness: Harness) -> dict[str, float]:
    """The score of every volume that is planned an alarm."""
    return {one.alarm.resource_id: one.score for one in harness.ledger.alarm_plan().watched}


def test_what_is_switched_off_is_reconciled_once_more_and_again_once_it_is_on(
    harness: Harness,
) -> None:
    start = settled(harness, 2)
    ref, tags = harness.volumes["vol-0000"].ref, harness.volumes["vol-0000"].tags
    harness.volumes["vol-0000"] = replace(harness.volumes["vol-0000"], tags=(("headroom", "off"),))
    assert [tick(harness, start + n * TICK) for n in range(4)] == [[ref], [], [], []]
    harness.volumes["vol-0000"] = replace(harness.volumes["vol-0000"], tags=tags)
    assert [tick(harness, start + n * TICK) for n in range(4, 6)] == [[ref], []]


def test_what_was_reconciled_within_the_minute_is_woken_by_the_next_scan(harness: Harness) -> None:
    start = settled(harness, 2)
    volume = harness.volumes["vol-0000"]
    recent = start - timedelta(seconds=30)
    work(harness.ports, [WorkItem(ref=volume.ref, trigger="alarm", since=recent)], lambda: recent)
    harness.volumes["vol-0000"] = replace(volume, tags=(("headroom", "off"),))
    assert [tick(harness, start + n * TICK) for n in range(3)] == [[], [volume.ref], []]
