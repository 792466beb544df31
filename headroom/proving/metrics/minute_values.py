"""Columns of published values by the minute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle, islice

Values = dict[str, float | None]
Column = tuple[float | None, ...]


class MinuteValues:
    """Columns of values for consecutive minutes; a minute without values is None in all."""

    def __init__(self, names: Sequence[str]) -> None:
        self.columns: dict[str, list[float | None]] = {name: [] for name in names}
        self.first: int | None = None

    def put(self, minute: int, values: Values) -> None:
        """Set one minute, later than all before it."""
        self._fill_up_to(minute)
        for name, column in self.columns.items():
            column.append(values.get(name))

    def extend(self, minute: int, columns: Mapping[str, list[float | None]]) -> None:
        """Set the minutes from `minute` on, later than all before them."""
        self._fill_up_to(minute)
        for name, column in self.columns.items():
            column.extend(columns[name])

    def _fill_up_to(self, minute: int) -> None:
        """Let `minute` be the next one, after minutes without values where some were left out."""
        if self.first is None:
            self.first = minute
        gap = minute - self.first - len(next(iter(self.columns.values())))
        if gap < 0:
            raise ValueError(f"minute {minute} was put after a later one")
        if gap:
            for column in self.columns.values():
                column.extend([None] * gap)

    def repeat(self, count: int, every: int = 1) -> None:
        """Set the next minutes like the last `every`, again and again."""
        for column in self.columns.values():
            if count == 1:  # as in nearly every minute of a simulation
                column.append(column[-every])
            else:
                column.extend(islice(cycle(column[-every:]), count))

    def forget(self, before: int) -> None:
        """Drop the minutes before this one."""
        if self.first is not None and before > self.first:
            for column in self.columns.values():
                del column[: before - self.first]
            self.first = before

    def cut(self, name: str, first: int, count: int, visible: int) -> tuple[float | None, ...]:
        """`count` values from minute `first`; from minute `visible` on they are None."""
        if self.first is None:
            return (None,) * count
        column, offset, end = self.columns[name], self.first, first + count
        if offset <= first and end <= visible and end <= offset + len(column):
            return tuple(column[first - offset : end - offset])
        low = min(max(first, offset), first + count)
        high = max(low, min(first + count, visible, offset + len(column)))
        middle = column[low - offset : high - offset]
        return (None,) * (low - first) + tuple(middle) + (None,) * (first + count - high)
