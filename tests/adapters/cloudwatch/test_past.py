"""Earlier days are read once; after that only what is new, with the same result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.adapters.cloudwatch import past
from headroom.adapters.cloudwatch.metric_data import Query, Window, window
from headroom.adapters.cloudwatch.past import AGAIN, WHOLE_EVERY, PastReads
from headroom.domain.resources import Series
from headroom.ports import ReadFailed

NOW = datetime.fromisoformat("2026-01-05T00:00:00+00:00")
DAY = timedelta(days=1)
PERIOD = timedelta(minutes=5)


def query(name: str) -> Query:
    return Query(namespace="AWS/EBS", metric=name, dimensions=(), statistic="Sum")


READS, WRITES = query("VolumeReadOps"), query("VolumeWriteOps")


class Published:
    """What CloudWatch has, by metric and instant, and how many periods were asked of it."""

    def __init__(self) -> None:
        self.points: dict[tuple[str, datetime], float] = {}
        self.periods: list[int] = []
        self.fails = False

    def put(self, at: datetime, value: float, metric: str = "VolumeReadOps") -> None:
        self.points[metric, at] = value

    def read(self, queries: Iterable[Query], span: Window) -> Mapping[Query, Series]:
        if self.fails:
            raise ReadFailed("GetMetricData: throttled")
        self.periods.append(span.periods)
        times = [span.start + n * PERIOD for n in range(span.periods)]
        return {
            one: Series(
                start=span.start, period_s=300,
                values=tuple(self.points.get((one.metric, at)) for at in times),
            )
            for one in queries
        }  # fmt: skip


def day(now: datetime) -> Window:
    return window(now, length=DAY, period_s=300)


WAITS = st.lists(st.timedeltas(timedelta(0), timedelta(hours=9)), min_size=1, max_size=8)
LATE = st.timedeltas(timedelta(0), AGAIN - PERIOD)


@given(WAITS, st.lists(st.tuples(st.integers(-300, 300), LATE), max_size=30))
def test_whenever_it_is_read_it_is_what_cloudwatch_has(
    waits: list[timedelta], points: list[tuple[int, timedelta]]
) -> None:
    """Points are published up to two hours after their time."""
    published, kept, now = Published(), PastReads(), NOW
    for wait in waits:
        now += wait
        for place, late in points:
            at = NOW + place * PERIOD
            if at + PERIOD + late <= now:
                published.put(at, float(place))
        found = kept.read(published.read, [READS, WRITES], day(now))
        assert found == published.read([READS, WRITES], day(now))


def test_what_is_new_is_a_fraction_of_the_whole() -> None:
    published, kept = Published(), PastReads()
    for minutes in (0, 5, 10, 60):
        kept.read(published.read, [READS], day(NOW + timedelta(minutes=minutes)))
    assert published.periods == [288, 25, 25, 34]


def test_after_some_hours_all_is_read_again() -> None:
    published, kept = Published(), PastReads()
    kept.read(published.read, [READS], day(NOW))
    very_late = NOW - timedelta(hours=12)
    published.put(very_late, 7.0)
    for hours, seen in ((1, None), (5, None), (6, 7.0)):
        now = NOW + timedelta(hours=hours)
        values = kept.read(published.read, [READS], day(now))[READS].values
        assert values[int((very_late - day(now).start) / PERIOD)] == seen
    assert timedelta(hours=6) == WHOLE_EVERY


@pytest.mark.parametrize("queries", [[WRITES], [READS, WRITES], [WRITES, READS]])
def test_another_question_is_answered_by_itself(queries: list[Query]) -> None:
    published, kept = Published(), PastReads()
    published.put(NOW - PERIOD, 3.0)
    kept.read(published.read, [READS], day(NOW))
    found = kept.read(published.read, queries, day(NOW))
    assert found == published.read(queries, day(NOW))
    assert published.periods[1] == 288


def test_an_earlier_instant_is_read_whole() -> None:
    published, kept = Published(), PastReads()
    kept.read(published.read, [READS], day(NOW))
    kept.read(published.read, [READS], day(NOW - timedelta(minutes=30)))
    assert published.periods == [288, 288]


def test_what_fails_is_raised_and_forgets_nothing() -> None:
    published, kept = Published(), PastReads()
    kept.read(published.read, [READS], day(NOW))
    published.fails = True
    with pytest.raises(ReadFailed):
        kept.read(published.read, [READS], day(NOW + PERIOD))
    published.fails = False
    kept.read(published.read, [READS], day(NOW + PERIOD))
    assert published.periods == [288, 25]


def test_what_was_asked_longest_ago_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "MOST", 2)
    published, kept = Published(), PastReads()
    for one in (query("a"), query("b"), query("a"), query("c"), query("a"), query("b")):
        kept.read(published.read, [one], day(NOW))
    whole = [count == 288 for count in published.periods]
    assert whole == [True, True, False, True, False, True]


def test_nothing_published_is_no_number() -> None:
    published, kept = Published(), PastReads()
    for _ in range(2):
        values = kept.read(published.read, [READS], day(NOW))[READS].values
    assert set(values) == {None}
    assert nan not in values
