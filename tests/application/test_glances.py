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
from headroom.ports import ScanPage
from tests.application.harness import Stage, calm
from tests.application.test_work import Queue, fleet_of
from tests.builders import NOW

TICK = timedelta(minutes=5)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def tick(
    stage: Stage, now: datetime, *, reconcile: bool = True, alarm_budget_usd: float = 0.0
) -> list[ResourceRef]:
    """One run of everything; who was put on the queue as a suspect."""
    stage.now = now
    queue = Queue()
    dispatch(stage.ports, queue, now, scan_every_s=300)
    due = queue.taken()
    while queue.pages:
        read_page(stage.ports, queue, queue.pages.pop(0), lambda: now, every_s=300, adaptive=True,
                  alarm_budget_usd=alarm_budget_usd)  # fmt: skip
    if reconcile:
        work(stage.ports, [*due, *queue.items], lambda: now)
    return [item.ref for item in queue.items]


def metrics_read(stage: Stage) -> Counter[str]:
    found: Counter[str] = Counter()
    for one in stage.glanced_at:
        assert one.metrics is not None
        found[one.view.volume.ref.resource_id] += len(one.metrics - {Metric.BALANCE, Metric.FREE})
    return found


def settled(stage: Stage, count: int = 6) -> datetime:
    """A fleet that was reconciled, two hours after the first scan; all calm."""
    fleet_of(stage, count)
    stage.loads = {name: calm() for name in stage.loads}
    for number in range(25):
        tick(stage, NOW + number * TICK)
    stage.glanced_at.clear()
    return NOW + 25 * TICK


def test_what_is_quiet_costs_one_metric_an_hour(stage: Stage) -> None:
    start = settled(stage)
    for number in range(24):
        assert tick(stage, start + number * TICK) == []
    assert set(metrics_read(stage).values()) == {2}, "two hours"


def test_what_is_pressed_is_found_within_the_hour_and_glanced_at_every_five_minutes(
    stage: Stage,
) -> None:
    start = settled(stage)
    stage.pressed = {"vol-0003"}
    stage.loads["vol-0003"] = calm()
    found = [n for n in range(24) if any(r.resource_id == "vol-0003" for r in
             tick(stage, start + n * TICK, reconcile=True))]  # fmt: skip
    assert found[0] <= LONGEST / TICK
    gaps = [b - a for a, b in itertools.pairwise(found)]
    assert gaps == sorted(gaps), "looked at ever more rarely while nothing changes"
    times = sum(one.view.volume.ref.resource_id == "vol-0003" for one in stage.glanced_at)
    assert times >= 24 - found[0]


def test_a_glance_that_is_not_answered_is_repeated_in_the_next_run(stage: Stage) -> None:
    start = settled(stage, 1)
    stage.unmeasured = {"vol-0000"}
    for number in range(13):
        tick(stage, start + number * TICK)
    assert len(stage.glanced_at) >= 3, "at once, then half as often each time"


def test_who_is_enrolled_now_is_reconciled_in_the_next_run(stage: Stage) -> None:
    start = settled(stage, 2)
    assert tick(stage, start) == []
    vol = stage.volumes["vol-0001"]
    stage.volumes["vol-0001"] = replace(vol, tags=(("headroom", "observe"),))
    assert [one.resource_id for one in tick(stage, start + TICK)] == ["vol-0001"]
    assert tick(stage, start + 2 * TICK) == [], "once"


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("news", ["a mode", "pressure"])
def test_what_a_reader_found_that_died_is_news_to_the_one_that_reads_the_page_again(
    stage: Stage, news: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = settled(stage, 2)
    assert tick(stage, start) == []
    if news == "a mode":
        stage.volumes["vol-0001"] = replace(
            stage.volumes["vol-0001"], tags=(("headroom", "observe"),)
        )
    else:
        start += LONGEST
        stage.pressed = {"vol-0001"}

    def die(*_: object, **__: object) -> bool:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(stage.ports.state_store, "mark_due", die)
        with pytest.raises(Killed):
            tick(stage, start + TICK)
    progress = stage.ports.work.scan_progress()
    assert progress.started_at is not None
    (page,) = progress.open
    queue, again = Queue(), start + TICK + timedelta(minutes=1)
    read_page(stage.ports, queue, ScanPage(scan=progress.started_at, kind=page.kind, number=page.number),
              lambda: again, every_s=300, adaptive=True)  # fmt: skip
    assert [one.ref.resource_id for one in queue.items] == ["vol-0001"]


def test_a_policy_that_cannot_be_read_for_a_while_makes_no_work(stage: Stage) -> None:
    start, rules = settled(stage, 3), stage.rules
    stage.rules = PolicyUnreadable(reason="denied")
    assert [tick(stage, start + n * TICK) for n in range(14)] == [[]] * 14
    stage.rules = rules
    assert [tick(stage, start + n * TICK) for n in range(14, 28)] == [[]] * 14


def test_a_new_policy_is_applied_to_what_is_in_trouble_at_once(stage: Stage) -> None:
    start = settled(stage, 2)
    stage.pressed = {"vol-0001"}
    for number in range(60):  # by now it is reconciled every hours only
        tick(stage, start + number * TICK)
    assert tick(stage, start + 60 * TICK) == []
    stage.rules = replace(stage.rules, version="another")
    assert [r.resource_id for r in tick(stage, start + 61 * TICK)] == ["vol-0001"]
    assert tick(stage, start + 62 * TICK) == []


def test_what_is_off_is_not_glanced_at(stage: Stage) -> None:
    fleet_of(stage, 2, tags=(("headroom", "off"),))
    assert tick(stage, NOW) == []
    assert stage.glanced_at == []


def test_a_state_that_cannot_be_read_is_as_if_there_was_none(stage: Stage) -> None:
    (ref,) = fleet_of(stage, 1)
    tick(stage, NOW)
    client = stage.ledger._client
    client.update_item(
        TableName="state", Key=stage.ledger._work_key(ref), UpdateExpression="SET #glance = :no",
        ExpressionAttributeNames={"#glance": "glance"},
        ExpressionAttributeValues={":no": {"S": "{"}},
    )  # fmt: skip
    known = stage.ledger.glanced([ref])[ref.arn]
    assert known.state is None
    before = len(stage.glanced_at)
    tick(stage, NOW + TICK)
    assert len(stage.glanced_at) > before
    state = stage.ledger.glanced([ref])[ref.arn].state
    assert state is not None
    assert replace(state, next_at=NOW) != state


def test_with_every_volume_new_the_first_scan_spreads_the_first_reconciliations(
    stage: Stage,
) -> None:
    fleet_of(stage, 4)
    stage.loads = {name: calm() for name in stage.loads}
    stage.pressed = {"vol-0001"}
    assert {r.resource_id for r in tick(stage, NOW, reconcile=False)} >= {"vol-0001"}


def test_every_enrolled_volume_is_planned_an_alarm_as_far_as_the_budget_goes(stage: Stage) -> None:
    start = settled(stage)
    other = stage.volumes["vol-0004"]
    stage.volumes["vol-0004"] = replace(other, tags=(("headroom", "observe"),))
    tick(stage, start, alarm_budget_usd=9)
    enrolled = set(stage.volumes) - {"vol-0004"}
    assert watched(stage) == dict.fromkeys(enrolled, 0.1), "the other is only watched"
    stage.volumes["vol-0003"] = replace(stage.volumes["vol-0003"], instance_ids=())
    tick(stage, start + TICK, alarm_budget_usd=9)
    assert set(watched(stage)) == enrolled - {"vol-0003"}, "it was detached"


def test_a_volume_whose_pressure_was_seen_late_comes_first(stage: Stage) -> None:
    start = settled(stage)
    stage.pressed = {"vol-0003"}
    for number in range(13):
        tick(stage, start + number * TICK)
    tick(stage, start + 13 * TICK, alarm_budget_usd=0.1)
    ((name, score),) = watched(stage).items()
    assert name == "vol-0003"
    assert 0.6 <= score <= 1.1


def watched(stage: Stage) -> dict[str, float]:
    """The score of every volume that is planned an alarm."""
    return {one.alarm.resource_id: one.score for one in stage.ledger.alarm_plan().watched}
