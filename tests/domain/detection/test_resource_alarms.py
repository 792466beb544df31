"""Alarms on single resources: who deserves one, on what, and laws of the plan."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.detection import (
    AlarmPlan,
    Candidate,
    GlanceState,
    Metric,
    Trouble,
    after_glance,
    alarm_of,
    deserves,
    may_have_alarm,
    most_alarms,
    planned,
    published_as,
    troubles_of,
)
from headroom.domain.resources import Configuration, Kind
from tests.builders import NOW, gp2, gp3, volume
from tests.domain.detection.test_next_glance import QUIET, seen

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
KNOWN = replace(QUIET, checked=True)


def glanced(before: GlanceState | None, pressed: int, now: datetime) -> GlanceState:
    glance = seen(iops_exceeded_minutes=pressed, throughput_exceeded_minutes=0, longest_queue=0.0)
    return after_glance(
        gp3(), before, glance, troubles_of(gp3(), glance), now, name="vol-1", rest_read=True
    )


@pytest.mark.parametrize(
    ("before", "pressed", "late"),
    [
        (None, 5, 0.0),  # nobody knows since when
        (QUIET, 5, 1.0),  # an hour at most
        (replace(QUIET, at=NOW - 6 * MINUTE), 5, 0.1),
        (QUIET, 0, 0.0),
        (replace(QUIET, late=2.0, at=NOW - 7 * DAY), 0, 1.0),  # half after a week
        # Pressure that goes on is no onset; that of another limit in the same hour is none either.
        (replace(QUIET, troubles=(Trouble.IOPS,), trouble_at=NOW - 30 * MINUTE), 5, 0.0),
        (replace(QUIET, troubles=(Trouble.QUEUE,), trouble_at=NOW - 30 * MINUTE), 5, 0.0),
        (replace(QUIET, troubles=(Trouble.SPACE,), trouble_at=NOW - 30 * MINUTE), 5, 1.0),
    ],
)
def test_how_late_pressure_was_seen_adds_up_and_fades(
    before: GlanceState | None, pressed: int, late: float
) -> None:
    assert glanced(before, pressed, NOW).late == pytest.approx(late, abs=0.01)


def test_what_was_wrong_last_is_remembered_after_it_calmed() -> None:
    state = glanced(QUIET, 5, NOW)
    for hour in range(1, 30):
        state = glanced(state, 0, NOW + hour * HOUR)
    assert state.troubles == (Trouble.IOPS,)
    assert state.active(NOW + 30 * HOUR) == ()


@pytest.mark.parametrize(
    ("configuration", "state", "metric", "threshold", "instance"),
    [
        (gp3(), replace(KNOWN, troubles=(Trouble.IOPS, Trouble.QUEUE)), Metric.IOPS_CHECK, 1.0, "i-1"),
        (gp3(), replace(KNOWN, troubles=(Trouble.THROUGHPUT,)), Metric.THROUGHPUT_CHECK, 1.0, "i-1"),
        (gp3(), replace(KNOWN, troubles=(Trouble.QUEUE,)), Metric.QUEUE, 32.0, ""),
        # Where no check is published, the queue at the limit; gp3() has 3,000 IOPS.
        (gp3(), replace(QUIET, troubles=(Trouble.IOPS,)), Metric.QUEUE, 6.0, ""),
        (gp2(100), replace(KNOWN, troubles=(Trouble.CREDITS, Trouble.IOPS)), Metric.BALANCE, 70.0, ""),
        # A volume that was gp2 when its credits ended.
        (gp3(), replace(KNOWN, troubles=(Trouble.CREDITS, Trouble.IOPS)), Metric.IOPS_CHECK, 1.0, "i-1"),
        # Nothing was wrong yet: credits where every limit spends them, else the queue.
        (gp2(100), KNOWN, Metric.BALANCE, 70.0, ""),
        (gp2(1_000), KNOWN, Metric.QUEUE, 6.0, ""),
        (gp3(), KNOWN, Metric.QUEUE, 6.0, ""),
    ],
)  # fmt: skip
def test_the_alarm_watches_what_was_wrong_last(
    configuration: Configuration,
    state: GlanceState,
    metric: Metric,
    threshold: float,
    instance: str,
) -> None:
    alarm = alarm_of(replace(volume(configuration), instance_ids=("i-1",)), state)
    assert (alarm.metric, alarm.threshold, alarm.instance_id) == (metric, threshold, instance)


@pytest.mark.parametrize(
    ("kind", "name", "attached", "silent", "may"),
    [
        (Kind.EBS, "vol-1", ("i-1",), 0, True),
        (Kind.EBS, "vol-1", (), 0, False),
        (Kind.EBS, "vol-1", ("i-1",), 8, False),
        (Kind.RDS, "billing", (), 0, True),
        (Kind.RDS, "cluster:billing", ("billing-instance-2",), 0, True),
        (Kind.RDS, "cluster:billing", (), 0, False),
        (Kind.AURORA, "billing", (), 0, False),
    ],
)
def test_an_alarm_is_for_storage_that_publishes_metrics_of_its_own(
    kind: Kind, name: str, attached: tuple[str, ...], silent: int, may: bool
) -> None:
    one = volume(gp3())
    one = replace(one, ref=replace(one.ref, kind=kind, resource_id=name), instance_ids=attached)
    assert may_have_alarm(one, replace(QUIET, silent=silent)) is may


def candidate(name: str, score: float, threshold: float = 1.0) -> Candidate:
    one = replace(volume(gp3()), instance_ids=("i-1",))
    one = replace(one, ref=replace(one.ref, resource_id=name))
    alarm = alarm_of(one, replace(KNOWN, troubles=(Trouble.IOPS,)))
    return Candidate(
        kind=Kind.EBS, resource_id=name, score=score,
        alarm=replace(alarm, threshold=threshold) if score else None,
    )  # fmt: skip


def names(plan: AlarmPlan) -> set[str]:
    return {one.alarm.resource_id for one in plan.watched}


def test_a_cluster_has_an_alarm_on_its_writer_as_long_as_that_is_its_writer() -> None:
    one = volume(gp3())
    ref = replace(one.ref, kind=Kind.RDS, resource_id="cluster:billing")
    one = replace(one, ref=ref, instance_ids=("billing-instance-2", "billing-instance-1"))
    assert published_as(one) == alarm_of(one, KNOWN).resource_id == "billing-instance-2"
    assert published_as(replace(one, instance_ids=())) == ""
    assert published_as(volume(gp3())) == volume(gp3()).ref.resource_id


def test_late_pressure_comes_before_what_was_never_seen_and_value_counts() -> None:
    """`deserves` in order: the usual value, a week-old hour late, and ten times the value."""
    scores = [deserves(QUIET, 1.0), deserves(replace(QUIET, late=0.5), 1.0), deserves(QUIET, 10.0)]
    assert scores == pytest.approx([0.1, 0.6, 1.0])


def test_places_that_the_budget_leaves_go_to_what_was_never_in_trouble_and_stay() -> None:
    quiet = [candidate(name, 0.1) for name in "abc"]
    plan = planned(AlarmPlan(), quiet, NOW, most=2)
    assert names(plan) == {"a", "b"}
    late = [*quiet, candidate("d", 0.6)]
    assert names(planned(plan, late, NOW + HOUR, most=3)) == {"a", "b", "d"}
    after = planned(plan, late, NOW + DAY, most=2)
    assert "d" in names(after)
    calm = [*quiet, candidate("d", 0.12)]
    assert names(planned(after, calm, NOW + 30 * DAY, most=2)) == names(after), "no better use"
    gone = [*quiet[1:], candidate("a", 0.0), candidate("d", 0.0)]
    assert names(planned(after, gone, NOW + 30 * DAY, most=2)) == {"b", "c"}


def test_who_clearly_deserves_it_more_takes_an_alarm_after_a_day() -> None:
    plan = planned(AlarmPlan(), [candidate("a", 1.0), candidate("b", 3.0)], NOW, most=1)
    assert names(plan) == {"b"}
    assert planned(plan, [candidate("c", 9.0)], NOW + HOUR, most=1) is plan, "too soon"
    assert planned(plan, [candidate("c", 4.0)], NOW + DAY, most=1) is plan, "not clearly"
    assert names(planned(plan, [candidate("c", 5.0)], NOW + DAY, most=1)) == {"c"}


def test_what_a_complete_scan_did_not_list_is_gone() -> None:
    plan = planned(AlarmPlan(), [candidate("a", 1.0)], NOW, most=9)
    elsewhere = [candidate("b", 0.0)]
    assert planned(plan, elsewhere, NOW + DAY, most=9) is plan, "no scan was complete"
    assert planned(plan, elsewhere, NOW + DAY, most=9, scanned=NOW + 5 * HOUR) is plan
    assert names(planned(plan, elsewhere, NOW + DAY, most=9, scanned=NOW + 7 * HOUR)) == set()


def test_the_version_moves_with_the_alarms_and_not_with_their_scores() -> None:
    plan = planned(AlarmPlan(), [candidate("a", 1.0)], NOW, most=9)
    assert plan.version == 1
    assert planned(plan, [candidate("a", 2.0)], NOW + HOUR, most=9) is plan, "nothing is written"
    rescored = planned(plan, [candidate("a", 2.0)], NOW + 4 * HOUR, most=9)
    assert (rescored.version, rescored.watched[0].score) == (1, 2.0)
    assert planned(plan, [candidate("a", 2.0, threshold=2.0)], NOW + HOUR, most=9).version == 2


def test_a_budget_pays_for_an_alarm_each_ten_cents() -> None:
    assert [most_alarms(usd) for usd in (0, 0.05, 0.1, 0.3, 2, 100)] == [0, 0, 1, 3, 20, 1000]


pages = st.lists(
    st.lists(
        st.builds(candidate, st.sampled_from("abcdefgh"), st.sampled_from((0.0, 0.2, 0.4, 1.0, 5.0))),
        max_size=8, unique_by=lambda each: each.resource_id,
    ),
    max_size=12,
)  # fmt: skip


@given(pages=pages, most=st.integers(0, 4), step=st.sampled_from((MINUTE, HOUR, DAY)))
def test_there_are_never_more_alarms_than_paid_for_nor_for_those_that_may_have_none(
    pages: list[list[Candidate]], most: int, step: timedelta
) -> None:
    plan, now = AlarmPlan(), NOW
    for page in pages:
        now += step
        after = planned(plan, page, now, most=most)
        assert len(after.watched) <= most
        assert not names(after) & {each.resource_id for each in page if each.alarm is None}
        assert planned(after, page, now, most=most) is after, "the same page again changes nothing"
        assert after.version - plan.version == (
            {one.alarm for one in after.watched} != {one.alarm for one in plan.watched}
        )
        plan = after
