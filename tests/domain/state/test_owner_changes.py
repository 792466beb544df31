"""What an owner's own change moves: never what Headroom added, whatever the order of changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.catalog import catalogue_prices
from headroom.domain.resources import Configuration, VolumeType
from headroom.domain.state import (
    BY_HEADROOM,
    KnownModification,
    Reserved,
    StoredState,
    after_modifications,
    micro_usd,
    unknown_modification,
    usd,
)
from headroom.domain.state.owner_changes import owners_settings
from tests.builders import NOW, REGION, gp3, modification, resource_state

PRICES = catalogue_prices(REGION)
LIMIT = Decimal(100)
GP2 = Configuration(volume_type=VolumeType.GP2, size_gib=500, iops=None, throughput_mibps=None)


def io2(size: int, iops: int) -> Configuration:
    return Configuration(
        volume_type=VolumeType.IO2, size_gib=size, iops=iops, throughput_mibps=None
    )


@pytest.mark.parametrize(
    ("owner", "before", "after", "expected"),
    [
        (gp3(500, 3_000, 125), gp3(500, 12_000, 125), gp3(501, 12_000, 125), gp3(501, 3_000, 125)),
        (gp3(500, 3_000, 125), gp3(500, 12_000, 125), gp3(500, 13_000, 125), gp3(500, 4_000, 125)),
        (gp3(500, 3_000, 125), gp3(500, 12_000, 125), gp3(500, 5_000, 125), gp3(500, 3_000, 125)),
        (gp3(500, 6_000, 125), gp3(500, 12_000, 125), gp3(500, 4_000, 125), gp3(500, 4_000, 125)),
        (gp3(500, 3_000, 500), gp3(500, 12_000, 500), gp3(500, 12_000, 125), gp3(500, 3_000, 125)),
        (gp3(500, 9_000, 125), gp3(500, 3_000, 125), gp3(500, 5_000, 125), gp3(500, 5_000, 125)),
        (gp3(500, 9_000, 125), gp3(500, 3_000, 125), gp3(600, 3_000, 125), gp3(600, 9_000, 125)),
        (gp3(500, 3_000, 125), gp3(500, 6_000, 125), io2(500, 6_000), io2(500, 3_000)),
        (GP2, gp3(500, 6_000, 250), gp3(501, 6_000, 250), replace(GP2, size_gib=501)),
        (GP2, GP2, gp3(500, 6_000, 250), gp3(500, 6_000, 250)),
    ],
    ids=[
        "growth leaves the IOPS that were added", "a raise adds only itself",
        "a reduction first takes what was added", "a reduction below their own is theirs",
        "their own throughput says nothing of the IOPS", "a raise of what was lowered is theirs",
        "what was lowered is still theirs", "another type leaves what was added",
        "a change of type by Headroom stays Headroom's", "a change of type of their own",
    ],
)  # fmt: skip
def test_what_the_owner_set(
    owner: Configuration, before: Configuration, after: Configuration, expected: Configuration
) -> None:
    assert owners_settings(owner, before, after) == expected


def owner_change(minutes: int, before: Configuration, after: Configuration) -> KnownModification:
    at = NOW + timedelta(minutes=minutes)
    return KnownModification(started_at=at, by="other", origin=before, target=after)


RAISED = gp3(500, 12_000, 125)
STATE = StoredState(
    enrolment_usd=PRICES.monthly(gp3(500, 3_000, 125)), in_force_micro_usd=45_000_000,
    owner_configuration=gp3(500, 3_000, 125),
)  # fmt: skip


def test_growing_a_volume_again_and_again_frees_nothing() -> None:
    state, shape = STATE, RAISED
    for day in range(5):
        larger = replace(shape, size_gib=shape.size_gib + 1)
        change = owner_change(day, shape, larger)
        state = after_modifications(state, [change], now=NOW, full_until=None, prices=PRICES)
        again = after_modifications(state, [change], now=NOW, full_until=None, prices=PRICES)
        assert again is state  # seen twice, it counts once
        assert state.in_force_micro_usd == 45_000_000
        assert state.enrolment_usd == PRICES.monthly(gp3(501 + day, 3_000, 125))
        shape = larger


def test_what_the_owner_raises_for_a_while_frees_nothing_of_what_headroom_added() -> None:
    ours = KnownModification(
        started_at=NOW - timedelta(hours=9), by=BY_HEADROOM, origin=gp3(500, 3_000, 125),
        target=RAISED,
    )  # fmt: skip
    state, more = replace(STATE, modifications=(ours,)), replace(RAISED, iops=16_000)
    for hour in range(3):
        for minute, (before, after) in enumerate([(RAISED, more), (more, RAISED)]):
            change = owner_change(60 * hour + 5 * minute, before, after)
            state = after_modifications(state, [change], now=NOW, full_until=None, prices=PRICES)
            assert state.in_force_micro_usd == 45_000_000
    assert state.enrolment_usd == PRICES.monthly(gp3(500, 3_000, 125))


def test_a_change_between_two_reads_is_followed_too() -> None:
    ours = KnownModification(
        started_at=NOW - timedelta(hours=9), by=BY_HEADROOM, origin=gp3(500, 3_000, 125),
        target=RAISED,
    )  # fmt: skip
    state = replace(STATE, modifications=(ours,))
    change = owner_change(0, gp3(500, 1_000, 125), gp3(501, 1_000, 125))
    state = after_modifications(state, [change], now=NOW, full_until=None, prices=PRICES)
    assert state.owner_configuration == gp3(501, 1_000, 125)
    assert state.in_force_micro_usd == 0


@pytest.mark.parametrize("owner", [None, replace(GP2, volume_type=VolumeType.STANDARD)])
def test_without_a_known_baseline_everything_stays_counted(owner: Configuration | None) -> None:
    state = replace(STATE, owner_configuration=owner)
    without = replace(PRICES, gib={VolumeType.GP3: PRICES.gib[VolumeType.GP3]})
    change = owner_change(0, RAISED, gp3(501, 12_000, 125))
    state = after_modifications(state, [change], now=NOW, full_until=None, prices=without)
    assert state.in_force_micro_usd == 45_000_000
    assert state.enrolment_usd == PRICES.monthly(change.target) - 45  # type: ignore[arg-type]


def test_a_baseline_that_was_lost_is_what_the_owner_sets_once_nothing_is_added() -> None:
    state = replace(STATE, owner_configuration=None, in_force_micro_usd=0)
    change = owner_change(0, RAISED, gp3(500, 4_000, 125))
    moved = after_modifications(state, [change], now=NOW, full_until=None, prices=PRICES)
    assert moved.owner_configuration == change.target
    assert moved.enrolment_usd == PRICES.monthly(gp3(500, 4_000, 125))


LONG_AGO = timedelta(days=40)


@pytest.mark.parametrize(
    ("known", "theirs"),
    [
        ({"last_act_at": NOW - LONG_AGO}, False),
        ({"owner_configuration": RAISED}, False),
        ({"owner_configuration": gp3(500, 3_000, 125)}, True),
        ({"earlier_modification": owner_change(0, RAISED, RAISED)}, False),
        ({"earlier_modification": owner_change(-90, RAISED, RAISED)}, True),
    ],
    ids=["perhaps Headroom's", "from before enrolment", "since enrolment", "known", "a later one"],
)
def test_a_change_of_long_ago_is_the_owners_unless_it_was_counted(
    known: dict[str, Any], theirs: bool
) -> None:
    if "earlier_modification" in known:
        one = known["earlier_modification"]
        known = {"earlier_modification": replace(one, started_at=one.started_at - LONG_AGO)}
    shown = modification(RAISED, started_at=NOW - LONG_AGO)
    state = resource_state(enrolment_usd=Decimal(1), **known)
    assert (unknown_modification(state, shown, NOW) is not None) == theirs


@pytest.mark.parametrize(
    ("state", "missing"),
    [
        (replace(STATE, enrolment_usd=None), {}),
        (STATE, {"origin": None}),
        (STATE, {"target": None}),
    ],
    ids=["not enrolled", "from what", "to what"],
)
def test_a_change_of_which_something_is_not_known_moves_nothing(
    state: StoredState, missing: dict[str, Any]
) -> None:
    change = replace(owner_change(0, RAISED, gp3(501, 12_000, 125)), **missing)
    moved = after_modifications(state, [change], now=NOW, full_until=None, prices=PRICES)
    assert moved == replace(state, modifications=(change,))


@pytest.mark.parametrize(
    ("after", "counted"),
    [(io2(500, 12_000), 45), (io2(500, 3_500), 45), (io2(500, 3_000), 0), (GP2, 0)],
    ids=["what was added is kept", "a part of it", "none of it", "the type has no such number"],
)
def test_another_type_frees_what_was_added_only_if_none_of_it_is_left(
    after: Configuration, counted: int
) -> None:
    state = after_modifications(
        STATE, [owner_change(0, RAISED, after)], now=NOW, full_until=None, prices=PRICES
    )
    back = owner_change(1, after, RAISED)
    again = after_modifications(state, [back], now=NOW, full_until=None, prices=PRICES)
    for each, shape in ((state, after), (again, RAISED)):
        assert usd(each.resource_micro_usd) == counted
        assert each.enrolment_usd == PRICES.monthly(shape) - counted


def io1(size: int, iops: int) -> Configuration:
    return replace(io2(size, iops), volume_type=VolumeType.IO1)


def ours(origin: Configuration, target: Configuration) -> KnownModification:
    at = NOW - timedelta(hours=9)
    return KnownModification(started_at=at, by=BY_HEADROOM, origin=origin, target=target)


def played(
    owner: Configuration, there: Configuration, *steps: Configuration, before: Configuration | None = None
) -> StoredState:  # fmt: skip
    """Headroom led from the owner's configuration to `there`; then the owner made changes, the first from `before`."""
    first, now = PRICES.monthly(owner), PRICES.monthly(there)
    state = StoredState(
        enrolment_usd=first, owner_configuration=owner, last_act_at=NOW - timedelta(hours=9),
        in_force_micro_usd=max(0, micro_usd(now - first)), modifications=(ours(owner, there),),
    )  # fmt: skip
    shape = before or there
    for minute, after in enumerate(steps):
        change = owner_change(minute, shape, after)
        state = after_modifications(state, [change], now=NOW, full_until=None, prices=PRICES)
        shape = after
    return state


@pytest.mark.parametrize(
    ("owner", "there", "after", "expected", "counted"),
    [
        (io1(400, 3_000), gp3(400, 12_000, 500), gp3(400, 16_000, 500), gp3(400, 16_000, 500), 0),
        (replace(GP2, size_gib=400), gp3(400, 3_000, 125), gp3(400, 16_000, 1_000), gp3(400, 16_000, 1_000), 0),
        (replace(GP2, size_gib=400), gp3(400, 3_000, 125), gp3(410, 3_000, 125), replace(GP2, size_gib=410), 0),
        (replace(GP2, size_gib=100), gp3(100, 12_000, 125), gp3(100, 16_000, 125), gp3(100, 7_000, 125), 45),
        (replace(GP2, size_gib=100), gp3(100, 12_000, 125), gp3(100, 5_000, 125), gp3(100, 3_000, 125), 10),
        (replace(GP2, size_gib=100), gp3(100, 12_000, 125), io2(100, 3_000), io2(100, 3_000), 0),
        (replace(GP2, size_gib=400), gp3(400, 3_000, 125), io2(400, 5_000), io2(400, 5_000), 0),
        (gp3(400, 9_000, 125), gp3(400, 3_000, 125), io2(400, 5_000), io2(400, 5_000), 0),
    ],
    ids=[
        "numbers of a cheaper type", "gp2, which has none", "size alone leaves the type",
        "what was added stays", "what was added goes first", "none of it is left", "another type", "what was lowered",
    ],
)  # fmt: skip
def test_who_sets_numbers_of_a_type_that_headroom_chose_takes_it_over(
    owner: Configuration, there: Configuration, after: Configuration, expected: Configuration,
    counted: int,
) -> None:  # fmt: skip
    state = played(owner, there, after)
    assert state.owner_configuration == expected
    assert usd(state.in_force_micro_usd) == counted
    assert state.enrolment_usd == PRICES.monthly(expected)


@pytest.mark.parametrize(
    ("owner", "there", "missed", "after", "expected"),
    [
        (io2(400, 5_000), io2(400, 11_000), io2(400, 40_000), io2(400, 14_000), io2(400, 8_000)),
        (io2(400, 5_000), io2(400, 11_000), io2(400, 40_000), io2(400, 2_000), io2(400, 2_000)),
        (io2(400, 64_000), io2(400, 1_000), io2(400, 60_000), io2(400, 4_000), io2(400, 4_000)),
        (gp3(400, 3_000, 125), gp3(400, 12_000, 125), gp3(400, 16_000, 500), gp3(400, 12_000, 125), gp3(400, 3_000, 125)),
        (gp3(400, 6_000, 125), gp3(400, 3_000, 125), gp3(400, 8_000, 125), gp3(400, 16_000, 125), gp3(400, 16_000, 125)),
        (gp3(400, 3_000, 125), gp3(400, 12_000, 125), io2(400, 3_000), gp3(400, 5_000, 125), gp3(400, 5_000, 125)),
    ],
)  # fmt: skip
def test_a_change_that_nobody_saw_is_the_owners(
    owner: Configuration, there: Configuration, missed: Configuration, after: Configuration,
    expected: Configuration,
) -> None:  # fmt: skip
    state = played(owner, there, after, before=missed)
    assert state.owner_configuration == expected
    assert usd(state.in_force_micro_usd) == max(0, PRICES.monthly(after) - PRICES.monthly(expected))


def test_what_is_not_known_of_another_type_counts_no_longer_once_none_of_it_can_be_left() -> None:
    first, there = gp3(400, 3_000, 125), gp3(400, 12_000, 188)
    for back, counted in ((io2(400, 1_000), 47.52), (replace(GP2, size_gib=400), 0), (first, 0)):
        state = played(first, there, io2(400, 5_000), back)
        assert float(usd(state.in_force_micro_usd)) == pytest.approx(counted)
        if not counted:
            assert state.owner_configuration == back
            assert state.enrolment_usd == PRICES.monthly(back)


def test_what_is_reserved_for_no_open_chain_ends_with_it() -> None:
    state = replace(STATE, reserved=(Reserved(decision_id="overtaken", micro_usd=90_000_000),))
    change = owner_change(0, RAISED, gp3(501, 12_000, 125))
    moved = after_modifications(state, [change], now=NOW, full_until=None, prices=PRICES)
    assert moved.reserved == ()
    assert moved.resource_micro_usd == 45_000_000


@dataclass
class Volume:
    """A volume as a bookkeeper sees it: what is there, and how much of each number Headroom added."""

    there: Configuration
    added_iops: int = 0
    added_mibps: int = 0
    own_iops: int = 0
    """What the owner raised beyond what Headroom last left."""
    own_mibps: int = 0

    @property
    def without_headroom(self) -> Decimal:
        kind = self.there.volume_type
        mibps = None if kind is VolumeType.IO2 else (self.there.throughput_mibps or 0)
        return PRICES.monthly(
            replace(
                self.there, iops=(self.there.iops or 0) - self.added_iops,
                throughput_mibps=None if mibps is None else mibps - self.added_mibps,
            )
        )  # fmt: skip

    def owner_sets(self, after: Configuration) -> None:
        self.own_iops, self.added_iops = _left(
            self.own_iops, self.added_iops, (after.iops or 0) - (self.there.iops or 0)
        )
        self.own_mibps, self.added_mibps = _left(
            self.own_mibps, self.added_mibps,
            (after.throughput_mibps or 0) - (self.there.throughput_mibps or 0),
        )  # fmt: skip
        self.there = after


def _left(own: int, added: int, more: int) -> tuple[int, int]:
    """What is left of what the owner raised since Headroom did, and of what Headroom added; a reduction takes from them in this order."""
    if more >= 0:
        return own + more, added
    return max(0, own + more), max(0, added + min(0, own + more))


NUMBERS = st.tuples(
    st.sampled_from([3_000, 4_000, 6_000, 9_000, 16_000]), st.sampled_from([125, 250, 500, 1_000])
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ours"), NUMBERS),
        st.tuples(st.just("theirs"), NUMBERS),
        st.tuples(st.just("grown"), st.integers(1, 50)),
    ),
    max_size=12,
)


@given(steps=STEPS, kind=st.sampled_from([VolumeType.GP3, VolumeType.IO2]))
def test_no_sequence_of_changes_counts_less_than_headroom_added(
    steps: list[tuple[str, object]], kind: VolumeType
) -> None:
    """Headroom raises within its limit; what counts is never less than what it made dearer."""
    first = gp3(500, 3_000, 125) if kind is VolumeType.GP3 else io2(500, 3_000)
    volume = Volume(first)
    state = StoredState(enrolment_usd=PRICES.monthly(first), owner_configuration=first)
    for minute, (who, what) in enumerate(steps):
        before = volume.there
        if who == "grown":
            assert isinstance(what, int)
            after = replace(before, size_gib=before.size_gib + what)
        else:
            assert isinstance(what, tuple)
            after = replace(
                before, iops=what[0],
                throughput_mibps=what[1] if kind is VolumeType.GP3 else None,
            )  # fmt: skip
        if who == "ours":
            assert state.enrolment_usd is not None
            counted = micro_usd(PRICES.monthly(after) - state.enrolment_usd)
            more_iops = (after.iops or 0) - (before.iops or 0)
            more_mibps = (after.throughput_mibps or 0) - (before.throughput_mibps or 0)
            if counted > micro_usd(LIMIT) or more_iops < 0 or more_mibps < 0:
                continue  # no guardrail allows the one; the other is no raise
            mine = KnownModification(
                started_at=NOW + timedelta(minutes=minute),
                by=BY_HEADROOM,
                origin=before,
                target=after,
            )
            state = replace(
                state,
                in_force_micro_usd=max(0, counted),
                modifications=(*state.modifications, mine),
            )
            volume.there, volume.own_iops, volume.own_mibps = after, 0, 0
            volume.added_iops += more_iops
            volume.added_mibps += more_mibps
        elif after != before:
            state = after_modifications(
                state,
                [owner_change(minute, before, after)],
                now=NOW,
                full_until=None,
                prices=PRICES,
            )
            volume.owner_sets(after)
        made_dearer = PRICES.monthly(volume.there) - volume.without_headroom
        assert state.enrolment_usd is not None
        assert made_dearer <= usd(state.resource_micro_usd) <= LIMIT
        assert usd(state.resource_micro_usd) == max(
            0, PRICES.monthly(volume.there) - state.enrolment_usd
        )
