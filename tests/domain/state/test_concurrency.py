"""Places, AWS's quotas, and the order of the queue."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.catalog import BY_NAME, QUOTAS, quota_limit
from headroom.domain.decision import Hold, decide, queue_entry_of
from headroom.domain.guardrails import GUARDRAILS, Case, Guardrail, Verdict
from headroom.domain.policy import parse_window
from headroom.domain.resources import VolumeType
from headroom.domain.state import (
    BlastRadius,
    ConcurrencyState,
    InFlight,
    QueueEntry,
    after_change_ended,
    after_change_started,
    available_concurrency,
    hourly_limit_clears_at,
    quota_usage,
)
from headroom.domain.state.concurrency import HOUR, LONGEST, Settling
from tests.builders import NOW, decision_input, gp2, gp3, io, policy, ref, resource_state
from tools.guardrails.entry import Base
from tools.guardrails.page import base_case

RULES = dict(GUARDRAILS)


def change(number: int, zone: str = "a", minutes: int = 0, **more: object) -> InFlight:
    base = InFlight(
        resource=f"r{number}", decision_id=f"d{number}", zone=zone,
        since=NOW - timedelta(minutes=minutes),
    )  # fmt: skip
    return replace(base, **more)  # type: ignore[arg-type]


def quota(case: Case, *under_way: InFlight, **concurrency: object) -> Verdict:
    seen = replace(ConcurrencyState(in_flight=under_way), **concurrency)  # type: ignore[arg-type]
    held = replace(case, resource_state=replace(case.resource_state, concurrency=seen))
    return RULES[Guardrail.REGIONAL_QUOTA](held)


def planned(origin: object, target: object) -> Case:
    case = base_case(Base.RAISE)
    return replace(case, plan=replace(case.plan, origin=origin, target=target))


@pytest.mark.parametrize(
    ("origin", "target", "counts"),
    [
        (gp3(100), gp3(100, 6000), {"gp3_gib": 100}),
        (gp2(400), gp3(500), {"gp2_gib": 500, "gp3_gib": 500}),
        (io(VolumeType.IO2, 400, 9000), io(VolumeType.IO2, 400, 5000),
         {"io2_gib": 400, "io2_iops": 9000}),
        (io(VolumeType.IO1, 400, 3000), io(VolumeType.IO2, 400, 5000),
         {"io1_gib": 400, "io1_iops": 3000, "io2_gib": 400, "io2_iops": 5000}),
    ],
)  # fmt: skip
def test_a_change_counts_towards_the_quotas_of_the_old_type_and_the_new(
    origin: object, target: object, counts: dict[str, int]
) -> None:
    assert dict(quota_usage(origin, target)) == counts  # type: ignore[arg-type]


def test_aws_s_own_numbers_are_the_defaults_and_the_owners_go_before_them() -> None:
    assert quota_limit("io2_gib", ()) == 20 * 1024
    assert quota_limit("gp3_gib", ()) == quota_limit("standard_gib", ()) == 500 * 1024
    assert (quota_limit("io1_iops", ()), quota_limit("io2_iops", ())) == (500_000, 100_000)
    assert quota_limit("io2_gib", (("io2_tib", 60),)) == 60 * 1024
    assert "gp3_iops" not in QUOTAS
    assert len(BY_NAME) == len(QUOTAS) == 9


def test_a_quota_blocks_when_ours_under_way_leave_no_room_and_clears_with_them() -> None:
    case = planned(io(iops=10_000), io(iops=20_000))
    full = change(1, counts=(("io2_iops", 80_001),))
    verdict = quota(case, full)
    assert (verdict.value, verdict.limit, verdict.unit) == (100_001, 100_000, "IOPS")
    assert not verdict.allows
    assert verdict.temporary
    assert "L-35B31D98" in verdict.detail
    assert quota(case, replace(full, counts=(("io2_iops", 80_000),))).allows
    raised = replace(case, policy=replace(case.policy, quotas=(("io2_iops", 200_000),)))
    assert quota(raised, full).allows
    settling = Settling(until=NOW + HOUR, counts=(("io2_iops", 80_001),))
    assert not quota(case, settling=(settling,)).allows
    assert quota(case, settling=(replace(settling, until=NOW),)).allows


def test_a_change_that_alone_is_above_a_quota_is_blocked_for_good_and_says_what_to_do() -> None:
    verdict = quota(planned(io(size=30_000), io(size=30_000, iops=9_000)))
    assert not verdict.allows
    assert not verdict.temporary
    assert "say so in regional_quotas" in verdict.detail


def test_changes_that_settle_are_summed_up_by_the_hour() -> None:
    concurrency = ConcurrencyState()
    for number in range(30):
        begun = change(number, counts=(("gp3_gib", 10),))
        concurrency = after_change_started(concurrency, begun)
        concurrency = after_change_ended(
            concurrency, f"d{number}", NOW + timedelta(minutes=number), landed=True,
            nothing_done=False, completed=False, quota_full_until=None, types=(),
        )  # fmt: skip
    assert len(concurrency.settling) == 1
    assert concurrency.quota_in_use("gp3_gib", "", NOW + timedelta(hours=6)) == 300
    assert concurrency.quota_in_use("gp3_gib", "", NOW + timedelta(hours=7)) == 0
    later = after_change_started(concurrency, replace(change(99), since=NOW + timedelta(hours=8)))
    assert later.settling == ()


def test_the_hour_frees_when_the_oldest_that_is_too_many_is_an_hour_old() -> None:
    starts = tuple(NOW - timedelta(minutes=m) for m in (61, 50, 40, 30))
    concurrency = ConcurrencyState(starts=starts)
    assert hourly_limit_clears_at(concurrency, 4, NOW) is None
    assert hourly_limit_clears_at(concurrency, 3, NOW) == NOW + timedelta(minutes=10)
    assert hourly_limit_clears_at(concurrency, 1, NOW) == NOW + timedelta(minutes=30)


ENTRIES = st.lists(
    st.builds(
        change, st.integers(0, 9), st.sampled_from("abc"), st.sampled_from([1, 30, 59, 60, 3_000])
    ),
    max_size=9, unique_by=lambda c: c.resource,
)  # fmt: skip


@given(ENTRIES, st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
def test_there_is_room_exactly_when_the_guardrails_would_allow_one_more(
    under_way: list[InFlight], in_flight: int, per_az: int, per_hour: int
) -> None:
    concurrency = ConcurrencyState(
        in_flight=tuple(under_way), starts=tuple(sorted(change.since for change in under_way))
    )
    limits = BlastRadius(
        max_in_flight=in_flight, max_in_flight_per_az=per_az, max_changes_per_hour=per_hour
    )
    found = available_concurrency(concurrency, limits, NOW)
    case = base_case(Base.RAISE)
    zone = "a"
    volume = replace(case.observation.volume, availability_zone=zone)
    held = replace(
        case,
        observation=replace(case.observation, volume=volume),
        resource_state=replace(case.resource_state, concurrency=concurrency),
        policy=replace(case.policy, max_in_flight=in_flight, max_in_flight_per_az=per_az,
                       max_changes_per_hour=per_hour),
    )  # fmt: skip
    allowed = all(
        RULES[g](held).allows
        for g in (
            Guardrail.MAX_IN_FLIGHT, Guardrail.MAX_IN_FLIGHT_PER_AZ,
            Guardrail.MAX_CHANGES_PER_HOUR,
        )
    )  # fmt: skip
    assert allowed is (found.free > 0 and zone not in found.full_zones)
    assert all(c.since > NOW - LONGEST for c in concurrency.in_flight_elsewhere("", NOW))


WAITS = st.builds(
    QueueEntry,
    since=st.integers(0, 10**6).map(lambda s: NOW + timedelta(seconds=s)),
    starved_minutes=st.one_of(st.integers(0, 1), st.integers(0, 200_000)),
    saves=st.booleans(),
)


@given(WAITS, WAITS)
def test_the_rank_sorts_by_starved_minutes_and_then_by_how_long_one_waits(
    one: QueueEntry, other: QueueEntry
) -> None:
    def key(w: QueueEntry) -> tuple[int, bool, datetime]:
        return -min(w.starved_minutes, 99_999), w.saves, w.since

    assert (one.rank < other.rank) is (key(one) < key(other))


def test_who_waits_for_more_than_places_and_hours_is_in_no_queue() -> None:
    closed = {"change_windows": (parse_window("Sun 00:00-24:00 UTC"),)}
    waits = decide(decision_input(rules=policy(**closed)))
    assert isinstance(waits.answer, Hold)
    place = queue_entry_of(waits)
    assert place is not None
    assert place.not_before == waits.answer.until
    assert place.starved_minutes == waits.demand.pressed_minutes > 0
    again = decide(
        decision_input(
            rules=policy(**closed), stand=resource_state(queued_since=NOW - timedelta(hours=3))
        )
    )
    assert queue_entry_of(again) == replace(place, since=NOW - timedelta(hours=3))
    slots = resource_state(retry_not_before=NOW + timedelta(minutes=30))
    assert queue_entry_of(decide(decision_input(rules=policy(**closed), stand=slots))) is None
    assert queue_entry_of(decide(decision_input())) is None


def test_which_place_is_missing_is_no_news() -> None:
    rules = replace(policy(), max_in_flight=1, max_changes_per_hour=1)
    others = ConcurrencyState(in_flight=(change(1),))
    begun = ConcurrencyState(starts=(NOW - timedelta(minutes=5),))
    signatures = {
        decide(decision_input(rules=rules, stand=resource_state(concurrency=concurrency))).signature
        for concurrency in (
            others,
            begun,
            ConcurrencyState(in_flight=others.in_flight, starts=begun.starts),
        )
    }
    assert {s.blocking for s in signatures} == {("places",)}
    assert len(signatures) == 1
    assert ref("vol-1").arn not in {c.resource for c in others.in_flight}
