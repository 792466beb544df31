"""What the load of this moment would still lack at a level, and what earlier episodes say of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from headroom.domain.planning import Situation
from headroom.domain.planning.coming_hours import LEAD
from headroom.domain.planning.present_load import present_load
from headroom.domain.workload import Level, PresentLoad, Recurrence
from tests.builders import NOW, activity, observation, volume
from tests.domain.earlier import Load
from tests.domain.planning.test_value import LOW, pressed, situation

IRREGULAR = ((1, 3), (2, 17), (3, 20), (4, 6))
"""Days ago and hour of earlier episodes: none at this hour, and no rhythm."""
LEVELS = tuple(Level(iops, 1_000.0, 0.1) for iops in (3_000.0, 6_000.0, 12_000.0))


def episodes(iops: float) -> Load:
    """Four hours of `iops`, else 900."""

    def load(at: datetime) -> float:
        return iops if ((NOW - at).days, at.hour) in IRREGULAR else 900.0

    return load


def starved(load: Load | None, *, pool: float = 0.0) -> Situation:
    """At the 3,000 IOPS of gp3 for four minutes, with `load` seen free on earlier days."""
    found = situation(pressed(4, load))
    return replace(found, demand=replace(found.demand, pool=pool))


def of(found: Situation) -> PresentLoad:
    effect = found.observation.at + LEAD
    return present_load(found, LEVELS, Recurrence.of(found.past, effect))


def share(found: Situation) -> tuple[float, ...]:
    return of(found).shortfall_share


def test_a_present_load_is_expected_to_go_as_high_as_earlier_ones_did() -> None:
    none, low, high = (share(starved(load)) for load in (None, episodes(4_000), episodes(11_000)))
    assert (
        low[1] + 0.1 < none[1] < high[1] - 0.1
    )  # 6,000 IOPS were enough for the low ones, not for the high
    assert high[2] < none[2] - 0.1  # 12,000 were enough for all
    assert (
        none[0] < low[0] < high[0] <= 1
    )  # an hour of it at the present limit is late but for its first minutes


def test_a_load_that_was_hardly_above_the_present_limit_is_hardly_short_of_it() -> None:
    """Ten minutes at a twentieth more: half a minute waits at the end of each."""

    def spikes(at: datetime) -> float:
        return 3_150.0 if ((NOW - at).days, at.hour) in IRREGULAR and at.minute < 10 else 900.0

    none, hardly = (of(starved(load)) for load in (None, spikes))
    assert hardly.shortfall_share[0] < none.shortfall_share[0] / 2


def test_an_episode_is_expected_to_last_as_long_as_earlier_ones_did() -> None:
    """Four minutes so far. Those of earlier days lasted ten minutes, or four hours."""

    def spikes(at: datetime) -> float:
        return 4_000.0 if ((NOW - at).days, at.hour) in IRREGULAR and at.minute < 10 else 900.0

    def batches(at: datetime) -> float:
        return 9_000.0 if at.hour >= 20 else 900.0

    none, short, long = (of(starved(load)).minutes for load in (None, spikes, batches))
    assert short[0] < none[0] * 0.4
    assert long[0] > none[0] * 1.1
    assert long[2] > none[2] * 1.1
    assert long[20] < none[20]  # none of them lasted for a day


def test_a_pool_is_judged_by_itself_whatever_came_before() -> None:
    assert share(starved(episodes(11_000), pool=1.0)) == share(starved(None, pool=1.0))


def test_episodes_that_a_limit_held_back_do_not_say_how_high_they_went() -> None:
    touched = starved(episodes(11_000))
    past = touched.past
    held = {
        place: hour._replace(peak_iops=3_050.0, touched_minutes=30, limit_iops=3_000.0)
        for place, hour in past.busy.items()
    }
    assert share(replace(touched, past=replace(past, busy=held))) == share(starved(None))


def test_load_at_a_time_at_which_its_rhythm_has_none_may_go_higher_than_that() -> None:
    """4,000 IOPS every day at noon, which it is, or at six, when nothing is due."""
    none, due, not_due = (
        share(starved(load)) for load in (None, at_hour(NOW.hour), at_hour((NOW.hour + 6) % 24))
    )
    assert due[1] < none[1] - 0.1  # 6,000 IOPS are enough for what comes at this hour
    assert not_due[1] - due[1] > (none[1] - due[1]) / 2  # five days are little to know it by


def at_hour(hour: int) -> Load:
    return lambda at: 4_000.0 if at.hour == hour else 900.0


def test_what_was_at_a_limit_before_it_was_clear_is_not_the_load_of_now() -> None:
    clear = 10
    recent = activity(
        [3_000.0] * (180 - clear) + [300.0] * clear,
        iops_check=[1.0] * (180 - clear) + [0.0] * clear,
        queue=[500.0] * (180 - clear) + [0.5] * clear,
    )  # fmt: skip
    over = situation(observation(recent, volume(LOW)))
    assert over.demand.clear_minutes == clear
    assert of(over).shortfall_share == (0.0,) * len(LEVELS)


def after(*run: bool) -> float:
    """Minutes of the coming hour of a load that was at its limit in some of these last minutes."""
    rates = [900.0] * 150 + [3_000.0 if pressed else 900.0 for pressed in run]
    recent = activity(
        rates, iops_check=[float(rate >= 3_000) for rate in rates],
        queue=[500.0 if rate >= 3_000 else 0.5 for rate in rates],
    )  # fmt: skip
    return of(situation(observation(recent, volume(LOW)))).minutes[0]


def test_a_load_that_just_ended_is_expected_to_go_on_as_often_as_it_did_before() -> None:
    on, off = True, False
    lasting = after(*[on] * 12)
    assert after(*[on] * 12, off) == pytest.approx(lasting / 5)
    assert after(*[on] * 12, off, off, off) == pytest.approx(lasting / 5)
    often = after(*[on] * 4, off, off, *[on] * 4, off, off, *[on] * 4, off)
    assert often == pytest.approx(lasting * 3 / 7)


def test_a_load_that_has_lasted_as_long_as_all_before_it_is_expected_to_end() -> None:
    """Spikes of ten minutes, nearly eleven with what then waits. The eleventh is no reason to expect hours; the next is."""

    def spikes(at: datetime) -> float:
        return 4_000.0 if ((NOW - at).days, at.hour) in IRREGULAR and at.minute < 10 else 900.0

    def left(minutes: int) -> float:
        return sum(of(situation(pressed(minutes, spikes))).minutes)

    assert left(11) < left(5) * 2
    assert left(12) > left(11) * 2


@pytest.mark.parametrize("lasted", [20, 133, 170])
def test_a_load_is_none_of_the_earlier_ones_that_foretell_its_end(lasted: int) -> None:
    """Its finished hours are in the profile already."""

    def going_on(at: datetime) -> float:
        return 9_000.0 if at >= NOW - timedelta(minutes=lasted) else 900.0

    alone, seen = (of(situation(pressed(lasted, load))).minutes for load in (None, going_on))
    assert seen == pytest.approx(alone)
