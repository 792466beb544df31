"""Earlier days as a warm worker remembers them: read whole once, then extended by what is new."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from math import isnan, nan
from threading import Lock

from headroom.adapters.cloudwatch.metric_data import Query, Window
from headroom.domain.resources import Series

AGAIN = timedelta(hours=2)
"""How far before what is new is read again: metrics may be published late."""
WHOLE_EVERY = timedelta(hours=6)
"""After which all is read again, in case CloudWatch published something later still."""
MOST = 1_200
"""Metrics that are remembered, those of 100 resources: 12 of 14 days take 0.4 MB."""

Read = Callable[[Iterable[Query], Window], Mapping[Query, Series]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    span: Window
    values: tuple[array[float], ...]
    """Of each query; NaN where nothing was published."""
    whole: Window
    """The grid that was last read whole."""


class PastReads:
    """What was read of earlier days in this process, by what was asked."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Query, ...], _Kept] = OrderedDict()
        self._lock = Lock()

    def read(self, read: Read, queries: Iterable[Query], span: Window) -> Mapping[Query, Series]:
        """A series for every query, all on the grid of `span`; `read` reads what is not remembered.

        Whatever `read` raises is raised, and what was remembered stays.
        """
        asked = tuple(dict.fromkeys(queries))
        with self._lock:
            kept = self._kept.get(asked)
        news = None if kept is None else _news(kept, span)
        if kept is None or news is None:
            found, whole = read(asked, span), span
        else:
            new, whole = read(asked, news), kept.whole
            skip = _periods(kept.span, span)
            count = span.periods - news.periods
            found = {
                query: Series(
                    start=span.start, period_s=span.period_s,
                    values=(*_values(known[skip : skip + count]), *new[query].values),
                )
                for query, known in zip(asked, kept.values, strict=True)
            }  # fmt: skip
        numbers = tuple(
            array("d", [nan if v is None else v for v in found[query].values]) for query in asked
        )
        with self._lock:
            self._kept[asked] = _Kept(span=span, values=numbers, whole=whole)
            self._kept.move_to_end(asked)
            while len(self._kept) > 1 and sum(map(len, self._kept)) > MOST:
                self._kept.popitem(last=False)
        return found


def _news(kept: _Kept, span: Window) -> Window | None:
    """What of the grid is to be read; None if all of it is."""
    again = int(AGAIN.total_seconds()) // span.period_s
    known = _periods(span, kept.span) + kept.span.periods - again
    if (
        kept.span.period_s != span.period_s
        or kept.span.start > span.start
        or not 0 < known < span.periods
        or not timedelta(0) <= span.end - kept.whole.end < WHOLE_EVERY
    ):
        return None
    start = span.start + timedelta(seconds=known * span.period_s)
    return replace(span, start=start, periods=span.periods - known)


def _periods(one: Window, other: Window) -> int:
    """Periods from the start of one grid to that of another."""
    return int((other.start - one.start).total_seconds()) // one.period_s


def _values(numbers: array[float]) -> tuple[float | None, ...]:
    return tuple(None if isnan(number) else number for number in numbers)
