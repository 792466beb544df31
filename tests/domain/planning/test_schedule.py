"""The best schedule of the day, against every schedule there is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.planning.schedule import CHANGE_USD, LOCKED_HOURS, MOST_CHANGES, schedule_cost
from headroom.domain.workload import HOURS, Forecast, Level

SHORT = 7
"""Hours in which anything can be changed, so that every schedule can be written down."""


@dataclass(frozen=True)
class Day:
    """Minutes and dollars of each hour and level; changes are possible in the first hours only."""

    reacting: tuple[tuple[float, ...], ...]
    locked: tuple[tuple[float, ...], ...]
    reaction_usd: tuple[tuple[float, ...], ...]
    prices: tuple[float, ...]
    free: tuple[int, ...]
    reachable: tuple[bool, ...]
    usd_per_minute: float
    only_from: Mapping[int, Sequence[int]] = field(default_factory=dict)
    locked_hours: int = LOCKED_HOURS
    late_hours: int = 0
    ends: tuple[float, ...] | None = None
    heights: tuple[float, ...] = (1.0, 1.0, 1.0)
    last_for_raises: bool = False
    raise_locked_hours: int = 0
    chosen: int = 0
    more_usd: float = 0.0

    @property
    def levels(self) -> tuple[Level, ...]:
        return tuple(
            Level(iops=height, mibps=1, usd_per_hour=usd)
            for height, usd in zip(self.heights, self.prices, strict=False)
        )

    def schedule_cost(self, current: int = 0) -> tuple[float, tuple[float, ...], int | None]:
        seen = Forecast(
            reacting_minutes=self.reacting, locked_minutes=self.locked,
            reaction_usd=self.reaction_usd, seen_minutes=(0.0,) * len(self.prices),
        )  # fmt: skip
        found = schedule_cost(
            seen, self.levels, current=current, reachable=self.reachable, free=self.free,
            usd_per_minute=self.usd_per_minute, only_from=self.only_from,
            locked_hours=self.locked_hours, late_hours=self.late_hours, ends=self.ends,
            last_for_raises=self.last_for_raises, raise_locked_hours=self.raise_locked_hours,
            chosen=self.chosen, more_usd=self.more_usd,
        )  # fmt: skip
        return found.stay, found.change, found.next_hour

    def cost(self, schedule: Sequence[int | None], current: int = 0) -> float | None:
        """USD of going to a level at the start of some hours; None if the rules forbid it."""
        level, used, since, total = current, 0, HOURS, 0.0
        lasts = self.locked_hours
        for hour in range(HOURS):
            to = schedule[hour] if hour < len(schedule) else None
            if to is not None:
                first = hour == 0  # what is asked for now is judged by the guardrails, not here
                if used == MOST_CHANGES or since < lasts:
                    return None
                allowed = self.reachable[to] and level in self.only_from.get(to, (level,))
                left = self.free[hour] - used
                lowers = self.heights[to] < self.heights[level]
                if not first and (left <= 0 or not allowed):
                    return None
                if not first and self.last_for_raises and left == 1 and lowers:
                    return None
                coming = self.locked[hour : hour + self.late_hours]
                short = [sum(minutes) for minutes in zip(*coming, strict=True)] or [0.0] * 3
                missed = self.usd_of(short[level], short) - self.usd_of(short[to], short)
                total += CHANGE_USD + max(0.0, missed)
                beyond = self.heights[to] > self.heights[self.chosen]
                longer = self.raise_locked_hours if first and beyond and not lowers else 0
                lasts = max(self.locked_hours, longer)
                level, used, since = to, used + 1, 0
            waiting = self.usd_of(self.locked[hour][level], self.locked[hour])
            reacting = self.usd_of(self.reacting[hour][level], self.locked[hour])
            reacting += self.reaction_usd[hour][level]
            in_flight, out_of_slots = since < lasts, self.free[hour] - used <= 0
            no_raise = in_flight or out_of_slots or self.late_hours
            total += waiting if no_raise else min(waiting, reacting)
            total += self.prices[level]
            since += 1
        return total if self.ends is None else total + self.ends[level]

    def usd_of(self, minutes: float, at_level: Sequence[float]) -> float:
        """The worth of minutes of an hour that is short for so many at each level while no raise follows."""
        would_serve = max(0.0, minutes - at_level[self.chosen])
        return minutes * self.usd_per_minute + would_serve * self.more_usd

    def schedules(self, head: int | None) -> Iterator[tuple[int | None, ...]]:
        """Every schedule that begins with `head`, and changes in the first hours only."""
        choice = (None, *range(len(self.prices)))
        for rest in product(choice, repeat=SHORT - 1):
            yield (head, *rest)

    def best(self, head: int | None, current: int = 0) -> float:
        costs = (self.cost(each, current) for each in self.schedules(head))
        return min(cost for cost in costs if cost is not None)


@st.composite
def days(draw: st.DrawFn, levels: int = 3) -> Day:
    minutes = st.sampled_from([0.0, 0.0, 1.0, 5.0, 16.0, 60.0])

    def rows(of: st.SearchStrategy[float]) -> tuple[tuple[float, ...], ...]:
        some = [tuple(draw(of) for _ in range(levels)) for _ in range(SHORT)]
        return (*some, *(((0.0,) * levels,) * (HOURS - SHORT)))

    first = draw(st.integers(0, 4))
    free = [min(4, first + draw(st.integers(0, 1)) * (hour > 2)) for hour in range(SHORT)]
    reachable = tuple(draw(st.booleans()) for _ in range(levels))
    far = levels - 1  # the last level cannot be reached from each of the others
    some = draw(st.sampled_from([None, (), (0,), (1,), (0, 1)])) if reachable[far] else None
    return Day(
        reacting=rows(minutes),
        locked=rows(minutes),
        reaction_usd=rows(st.sampled_from([0.0, 0.0, 0.05])),
        prices=tuple(draw(st.sampled_from([0.0, 0.01, 0.05, 0.2])) for _ in range(levels)),
        free=(*free, *([0] * (HOURS - SHORT))),
        reachable=reachable,
        only_from={} if some is None else {far: some},
        usd_per_minute=draw(st.sampled_from([0.01, 0.1, 1.0])),
        locked_hours=draw(st.sampled_from([LOCKED_HOURS, 3, SHORT, HOURS])),
        late_hours=draw(st.sampled_from([0, 0, 1, 3])),
        ends=draw(st.sampled_from([None, (0.0, -3.0, 0.4), (-0.2, 0.0, -0.2)])),
        heights=draw(st.sampled_from([(1.0, 2.0, 3.0), (2.0, 1.0, 2.0), (3.0, 2.0, 1.0)])),
        last_for_raises=draw(st.booleans()),
        raise_locked_hours=draw(st.sampled_from([0, 0, 3, 5, HOURS])),
        chosen=draw(st.integers(0, levels - 1)),
        more_usd=draw(st.sampled_from([0.0, 0.0, 0.05, 0.7])),
    )


@settings(max_examples=30, deadline=None)
@given(day=days(), current=st.integers(0, 2))
def test_what_staying_and_each_change_cost_is_the_best_of_every_schedule(
    day: Day, current: int
) -> None:
    stay, change, _ = day.schedule_cost(current)
    assert stay == pytest.approx(day.best(None, current))
    for level, usd in enumerate(change):
        assert usd == pytest.approx(day.best(level, current))


@settings(max_examples=30, deadline=None)
@given(day=days())
def test_the_next_change_is_the_first_hour_in_which_every_best_schedule_that_stays_changes(
    day: Day,
) -> None:
    _, _, next_hour = day.schedule_cost()
    for hour in range(1, SHORT):
        waits = [s for s in day.schedules(None) if all(to is None for to in s[:hour])]
        now = [c for s in waits if s[hour] is not None and (c := day.cost(s)) is not None]
        later = [c for s in waits if s[hour] is None and (c := day.cost(s)) is not None]
        if min(now, default=1e9) < min(later) - 1e-9:
            assert next_hour == hour
            return
    assert next_hour is None


def flat(minutes: Sequence[float], prices: Sequence[float], **changes: object) -> Day:
    """The same minutes in every hour, whether a raise can follow or not."""
    same = (tuple(minutes),) * HOURS
    base: dict[str, object] = {
        "reacting": same, "locked": same, "reaction_usd": ((0.0,) * len(prices),) * HOURS,
        "prices": tuple(prices), "free": (3,) * HOURS, "reachable": (True,) * len(prices),
        "usd_per_minute": 0.1,
    }  # fmt: skip
    return Day(**{**base, **changes})  # type: ignore[arg-type]


@settings(max_examples=50, deadline=None)
@given(day=days())
def test_one_slot_more_never_costs_more(day: Day) -> None:
    more = replace(day, free=tuple(n + 1 for n in day.free))
    assert more.schedule_cost()[0] <= day.schedule_cost()[0] + 1e-9
    for less, same in zip(more.schedule_cost()[1], day.schedule_cost()[1], strict=True):
        assert less <= same + 1e-9


def test_a_load_that_comes_at_eight_is_met_by_a_change_in_that_hour_and_not_before() -> None:
    rows = tuple((60.0, 0.0) if 8 <= hour < 12 else (0.0, 0.0) for hour in range(HOURS))
    day = flat((0, 0), (0.0, 0.05), reacting=rows, locked=rows)
    stay, change, next_hour = day.schedule_cost()
    assert next_hour == 8
    assert stay == pytest.approx(4 * 0.05 + 2 * CHANGE_USD)  # up at eight, down again at noon
    assert change[1] > stay


@pytest.mark.parametrize(
    ("usd_per_hour", "expected"),
    [
        (0.001, 22 * 0.001 + 1 * CHANGE_USD),  # cheaper to hold than to go down and up again
        (0.100, 4 * 0.100 + 3 * CHANGE_USD),
    ],
)
def test_between_two_bursts_it_goes_down_only_where_that_pays(
    usd_per_hour: float, expected: float
) -> None:
    busy = (2, 3, 22, 23)
    rows = tuple((60.0, 0.0) if hour in busy else (0.0, 0.0) for hour in range(HOURS))
    day = flat((0, 0), (0.0, usd_per_hour), reacting=rows, locked=rows)
    assert day.schedule_cost()[0] == pytest.approx(expected)


def test_no_more_changes_are_planned_than_a_day_has_slots_for() -> None:
    busy = (2, 3, 9, 10, 16, 17, 23)
    rows = tuple((60.0, 0.0) if hour in busy else (0.0, 0.0) for hour in range(HOURS))
    day = flat((0, 0), (0.0, 1.0), reacting=rows, locked=rows, free=(9,) * HOURS)
    up_down_up = 3 * CHANGE_USD
    assert day.schedule_cost()[0] == pytest.approx(
        min(22 * 1.0 + CHANGE_USD, 17 * 1.0 + up_down_up)
    )


def test_a_change_that_saves_less_than_a_slot_is_worth_is_not_planned() -> None:
    tiny = flat((0, 0), (CHANGE_USD / 2 / HOURS, 0.0))
    assert tiny.schedule_cost()[2] is None
    assert tiny.schedule_cost()[1][1] > tiny.schedule_cost()[0]
    enough = flat((0, 0), (CHANGE_USD * 2 / HOURS, 0.0))
    assert enough.schedule_cost()[1][1] < enough.schedule_cost()[0]


def test_what_may_not_be_reached_is_never_planned_for_later() -> None:
    rows = tuple((60.0, 0.0) if hour == 8 else (0.0, 0.0) for hour in range(HOURS))
    day = flat((0, 0), (0.0, 0.01), reacting=rows, locked=rows, reachable=(True, False))
    stay, _, next_hour = day.schedule_cost()
    assert next_hour is None
    assert stay == pytest.approx(6.0)


@pytest.mark.parametrize(("slots", "planned"), [(3, 6), (1, None)])
def test_what_takes_two_changes_is_begun_early_if_slots_are_left(
    slots: int, planned: int | None
) -> None:
    """The load of eight o'clock needs level 2, and only level 1 leads there."""
    rows = tuple((60.0, 50.0, 0.0) if hour == 8 else (0.0,) * 3 for hour in range(HOURS))
    day = flat(
        (0, 0, 0), (0.0, 0.01, 0.02), reacting=rows, locked=rows, only_from={2: (1,)},
        reachable=(True, slots > 1, True), free=(slots,) * HOURS,
    )  # fmt: skip
    assert day.schedule_cost()[2] == planned


def test_a_raise_that_the_owners_cooldown_keeps_for_long_is_priced_for_all_of_that() -> None:
    """Twelve minutes of shortfall in the first hour, and a raise at ten cents an hour serves ten of them."""
    first = ((12.0, 2.0), *(((0.0, 0.0),) * (HOURS - 1)))
    day = flat((0, 0), (0.0, 0.1), reacting=first, locked=first, heights=(1.0, 2.0, 3.0))
    for hours, usd in ((LOCKED_HOURS, LOCKED_HOURS * 0.1), (12, 12 * 0.1), (HOURS, HOURS * 0.1)):
        _, change, _ = replace(day, raise_locked_hours=hours).schedule_cost()
        back = CHANGE_USD if hours < HOURS else 0.0
        assert change[1] == pytest.approx(2 * 0.1 + usd + CHANGE_USD + back)
    theirs = replace(day, raise_locked_hours=12, chosen=1)
    assert theirs.schedule_cost() == replace(day, chosen=1).schedule_cost(), (
        "what was lowered comes back"
    )
    lowered = replace(day, raise_locked_hours=12).schedule_cost(current=1)[1][0]
    assert lowered == day.schedule_cost(current=1)[1][0], "it may be raised again at once"


def test_a_minute_is_worth_more_only_where_what_the_owner_chose_would_serve_it() -> None:
    """Eight o'clock is short for 60, 20 and 0 minutes at the levels, of which the owner chose the second."""
    rows = tuple((60.0, 20.0, 0.0) if hour == 8 else (0.0,) * 3 for hour in range(HOURS))
    day = flat((0, 0, 0), (0.0, 0.0, 0.0), reacting=rows, locked=rows, free=(0,) * HOURS)
    day = replace(day, chosen=1, more_usd=0.4)
    assert day.schedule_cost(0)[0] == pytest.approx(60 * 0.1 + 40 * 0.4)
    assert day.schedule_cost(1)[0] == pytest.approx(20 * 0.1)
    assert day.schedule_cost(2)[0] == 0


def test_without_a_slot_nothing_is_planned_and_nothing_ends_starvation() -> None:
    day = flat((10, 0), (0.0, 0.01), reacting=((2.0, 0.0),) * HOURS, free=(0,) * HOURS)
    stay, _, next_hour = day.schedule_cost()
    assert next_hour is None
    assert stay == pytest.approx(24 * 10 * 0.1)


def test_a_slot_that_frees_later_is_used_then() -> None:
    free = (0,) * 5 + (1,) * (HOURS - 5)
    _, _, next_hour = flat((10, 0), (0.0, 0.01), free=free).schedule_cost()
    assert next_hour == 5


@pytest.mark.parametrize("hours", [LOCKED_HOURS, 9, HOURS])
def test_giving_back_now_pays_for_the_hours_in_which_no_raise_can_follow(hours: int) -> None:
    """What comes while the change is in flight starves for as long as it lasts."""
    reacting = ((0.0, 4.0),) * HOURS
    locked = ((0.0, 40.0),) * HOURS
    day = flat((0, 0), (0.6, 0.0), reacting=reacting, locked=locked, locked_hours=hours)
    _, change, _ = day.schedule_cost()
    held = hours * 40 * 0.1 + (HOURS - hours) * 4 * 0.1
    assert change[1] == pytest.approx(CHANGE_USD + held)
