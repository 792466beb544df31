"""Laws of the physics, for any load."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.catalog.ebs import MIB, capability
from headroom.domain.resources import Configuration
from headroom.proving.physics import Attachment
from headroom.proving.workloads import Steps, Stretch, open_load
from tests.proving.build import T0, configuration, gp2, gp3, instance, offered, play, served

CONFIGURATIONS = (
    gp2(1), gp2(100), gp2(250), gp2(400), gp2(1_200), gp3(), gp3(100, 6_000, 400),
    configuration("io1", 100, 800), configuration("io2", 100, 20_000),
    configuration("st1", 500), configuration("sc1", 1_024),
)  # fmt: skip
HUNG: tuple[Attachment | None, ...] = (
    None, instance(2_000, 60, most_iops=9_000, most_mibps=300), instance(4_000, 100),
)  # fmt: skip
PART = st.tuples(
    st.integers(1, 400).map(float), st.integers(0, 12_000).map(float),
    st.sampled_from([4.0, 16.0, 64.0, 256.0, 1_000.0]),
)  # fmt: skip
PARTS = st.lists(PART, min_size=1, max_size=8)
MINUTES = 20
Parts = list[tuple[float, float, float]]


def shaped(parts: Parts, pieces: int = 1) -> Steps:
    """The parts, each cut in equal pieces, and an idle rest."""
    stretches = [
        Stretch(duration_s=seconds / pieces, load=open_load(iops=iops, io_kib=kib))
        for seconds, iops, kib in parts
        for _ in range(pieces)
    ]
    rest = Stretch(duration_s=86_400, load=open_load(iops=0, io_kib=4))
    return Steps(T0, [*stretches, rest])


@settings(max_examples=60, deadline=None)
@given(parts=PARTS, what=st.sampled_from(CONFIGURATIONS), attachment_settings=st.sampled_from(HUNG))
def test_what_is_offered_is_served_or_waits(
    parts: Parts, what: Configuration, attachment_settings: Attachment | None
) -> None:
    facts = play(shaped(parts), what, MINUTES, attachment=attachment_settings)
    assert offered(facts) == pytest.approx(served(facts) + facts[-1].backlog_end, abs=0.01)
    for fact in facts:
        assert fact.served_ops == pytest.approx(sum(w.ops for w in fact.latencies), abs=1e-3)
        assert fact.served_ops == pytest.approx(fact.served_read_ops + fact.served_write_ops)


@settings(max_examples=60, deadline=None)
@given(parts=PARTS, what=st.sampled_from(CONFIGURATIONS), attachment_settings=st.sampled_from(HUNG))
def test_nothing_is_served_above_a_limit_and_credits_stay_in_their_bucket(
    parts: Parts, what: Configuration, attachment_settings: Attachment | None
) -> None:
    can = capability(what)
    for fact in play(shaped(parts), what, MINUTES, attachment=attachment_settings):
        size = fact.served_read_bytes + fact.served_write_bytes
        assert fact.ebs_iops <= can.burst_iops * (1 + 1e-9)
        assert size / 60 <= can.burst_mibps * MIB * (1 + 1e-9)
        if attachment_settings is not None:
            assert size / 60 <= attachment_settings.limits.maximum_mibps * MIB * (1 + 1e-9)
            assert 0 <= (fact.instance_io_balance_percent or 0) <= 100
        assert 0 <= (fact.burst_balance_percent or 0) <= 100
        assert 0 <= fact.queue_seen_avg <= 1024 * (1 + 1e-9)
        assert fact.delayed_ops <= fact.due_ops * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(
    parts=PARTS, what=st.sampled_from(CONFIGURATIONS), attachment_settings=st.sampled_from(HUNG),
    pieces=st.integers(2, 5),
)  # fmt: skip
def test_a_finer_resolution_of_the_same_load_changes_nothing(
    parts: Parts, what: Configuration, attachment_settings: Attachment | None, pieces: int
) -> None:
    coarse = play(shaped(parts), what, MINUTES, attachment=attachment_settings)
    fine = play(shaped(parts, pieces), what, MINUTES, attachment=attachment_settings)
    for a, b in zip(coarse, fine, strict=True):
        assert a.served_ops == pytest.approx(b.served_ops, abs=0.01)
        assert a.backlog_end == pytest.approx(b.backlog_end, abs=0.01)
        assert a.queue_seen_avg == pytest.approx(b.queue_seen_avg, abs=0.01)
        assert a.delayed_ops == pytest.approx(b.delayed_ops, abs=0.1)
        assert (a.burst_balance_percent or 0) == pytest.approx(b.burst_balance_percent or 0)


@settings(max_examples=60, deadline=None)
@given(
    parts=PARTS, iops=st.integers(3_000, 9_000), more=st.integers(0, 4_000),
    mibps=st.integers(125, 500), extra=st.integers(0, 250), attachment_settings=st.sampled_from([None, HUNG[2]]),
)  # fmt: skip
def test_a_larger_limit_never_serves_less(
    parts: Parts,
    iops: int,
    more: int,
    mibps: int,
    extra: int,
    attachment_settings: Attachment | None,
) -> None:
    small = play(shaped(parts), gp3(100, iops, mibps), MINUTES, attachment=attachment_settings)
    large = play(
        shaped(parts), gp3(100, iops + more, mibps + extra), MINUTES, attachment=attachment_settings
    )
    so_far = 0.0
    for a, b in zip(small, large, strict=True):
        so_far += b.served_ops - a.served_ops
        assert so_far >= -0.01
        assert b.backlog_end <= a.backlog_end + 0.01


@settings(max_examples=40, deadline=None)
@given(parts=PARTS)
def test_no_minute_is_starved_on_a_volume_that_is_never_the_limit(parts: Parts) -> None:
    vast = configuration("io2", 1_000, 256_000)
    within = [(seconds, iops / 4, kib) for seconds, iops, kib in parts]
    for attachment_settings in HUNG:
        assert not any(
            f.starved for f in play(shaped(within), vast, MINUTES, attachment=attachment_settings)
        )
