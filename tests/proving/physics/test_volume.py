"""The physics of one volume against AWS's documented arithmetic."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.catalog.ebs import MIB
from headroom.domain.catalog.ebs.limits import GP2_CREDITS
from headroom.domain.resources import Configuration
from headroom.proving.awsrules import Delays
from headroom.proving.physics import Attachment, MinuteFacts, VolumePhysics
from headroom.proving.workloads import IDLE, Steps, Stretch, closed_load, open_load
from tests.proving.build import (
    MINUTE,
    T0,
    configuration,
    gp2,
    gp3,
    instance,
    loop,
    offered,
    play,
    served,
    steady,
    steps,
    volume,
)

# gp2's bucket: EBS User Guide, "General Purpose SSD volumes"


@pytest.mark.parametrize(
    ("size_gib", "baseline", "burst_s"),
    [
        (1, 100, 1_862),
        (33, 100, 1_862),
        (100, 300, 2_000),
        (334, 1_002, 2_703),
        (750, 2_250, 7_200),
    ],
)
def test_gp2_bursts_from_a_full_bucket_as_long_as_aws_documents(
    size_gib: int, baseline: int, burst_s: int
) -> None:
    minutes = 150
    facts = play(steady(3_000), gp2(size_gib), minutes)
    at_burst = (served(facts) - baseline * 60 * minutes) / (3_000 - baseline)
    assert at_burst == pytest.approx(GP2_CREDITS / (3_000 - baseline), abs=1e-6)
    assert round(at_burst) == burst_s
    assert facts[-1].served_ops == pytest.approx(60 * baseline)


@pytest.mark.parametrize(
    ("size_gib", "refill_s"), [(1, 54_000), (100, 18_000), (334, 5_389), (750, 2_400)]
)
def test_an_idle_gp2_bucket_fills_in_the_time_aws_documents(size_gib: int, refill_s: int) -> None:
    facts = play(steady(0), gp2(size_gib), refill_s // 60 + 2, burst_balance_percent=0)
    full_after = next(i for i, f in enumerate(facts) if f.burst_balance_percent == 100)
    assert full_after == -(-refill_s // 60) - 1
    share = facts[9].burst_balance_percent
    assert share == pytest.approx(100 * 600 / (GP2_CREDITS / max(100, 3 * size_gib)))


def test_a_gp2_volume_of_1000_gib_has_no_bucket_and_sustains_its_baseline() -> None:
    facts = play(steady(3_000), gp2(1_000), 200)
    assert served(facts) == pytest.approx(3_000 * 200 * 60)
    assert facts[-1].burst_balance_percent is None


def test_operations_above_256_kib_cost_several_credits() -> None:
    facts = play(steady(400, io_kib=512), gp2(400), 1)
    assert facts[0].ebs_iops == pytest.approx(800)
    assert facts[0].served_ops == pytest.approx(400 * 60)


@pytest.mark.parametrize(
    ("size_gib", "mibps"), [(100, 128.0), (170, 128.0), (171, 250.0), (333, 250.0), (334, 250.0)]
)
def test_gp2_throughput_with_credits_follows_the_size(size_gib: int, mibps: float) -> None:
    facts = play(steady(2_000, io_kib=256), gp2(size_gib), 1)
    assert facts[0].limit_mibps == mibps
    assert facts[0].served_read_bytes + facts[0].served_write_bytes == pytest.approx(
        mibps * MIB * 60
    )
    assert facts[0].throughput_exceeded == 1


def test_without_credits_a_middle_sized_gp2_gives_what_its_baseline_earns() -> None:
    facts = play(steady(2_000, io_kib=256), gp2(250), 5, burst_balance_percent=0)
    assert facts[-1].ebs_iops == pytest.approx(750)
    assert facts[-1].limit_mibps == facts[-1].limit_iops / 4 == 187.5
    served = facts[-1].served_read_bytes + facts[-1].served_write_bytes
    assert served == pytest.approx(facts[-1].limit_mibps * MIB * 60)


# HDD


@pytest.mark.parametrize(
    ("kind", "size_gib", "base", "burst"),
    [
        ("st1", 1_024, 40, 250),
        ("st1", 2_048, 80, 500),
        ("st1", 12_800, 500, 500),
        ("sc1", 1_024, 12, 80),
        ("sc1", 16_384, 192, 250),
    ],
)
def test_hdd_volumes_burst_and_sustain_what_their_size_gives(
    kind: str, size_gib: int, base: float, burst: float
) -> None:
    what = configuration(kind, size_gib)
    full = play(steady(1_000, io_kib=1_024), what, 1)
    empty = play(steady(1_000, io_kib=1_024), what, 1, burst_balance_percent=0)
    assert full[0].served_ops == pytest.approx(60 * burst)
    assert empty[0].served_ops == pytest.approx(60 * base)
    assert full[0].throughput_exceeded == 1
    assert full[0].iops_exceeded == 0


def test_a_tebibyte_of_st1_bursts_until_its_tebibyte_of_credits_is_spent() -> None:
    facts = play(steady(250, io_kib=1_024), configuration("st1", 1_024), 120)
    burst_s = (served(facts) - 40 * 7_200) / (250 - 40)
    assert burst_s == pytest.approx(1_048_576 / (250 - 40))


def test_a_small_random_operation_on_hdd_costs_a_mebibyte_unless_it_is_sequential() -> None:
    what = configuration("st1", 1_024)
    random = play(steady(1_000, io_kib=64), what, 1)
    merged = play(steady(1_000, io_kib=64, sequential=True), what, 1)
    assert random[0].served_ops == pytest.approx(60 * 250)
    assert random[0].iops_exceeded == 1
    assert merged[0].served_ops == pytest.approx(60 * 1_000)
    assert merged[0].ebs_iops == pytest.approx(62.5)


# Types without a bucket


@pytest.mark.parametrize(
    ("what", "iops", "mibps"),
    [
        (gp3(), 3_000, 125),
        (gp3(100, 6_000, 250), 6_000, 250),
        (configuration("io1", 100, 1_000), 1_000, 250),
        (configuration("io1", 800, 40_000), 40_000, 625),
        (configuration("io2", 100, 10_000), 10_000, 2_500),
        (configuration("io2", 100, 50_000), 50_000, 4_000),
    ],
)
def test_provisioned_types_serve_their_iops_and_their_throughput(
    what: Configuration, iops: int, mibps: float
) -> None:
    small = play(steady(100_000, io_kib=4), what, 1)[0]
    large = play(steady(100_000, io_kib=256), what, 1)[0]
    assert small.served_ops == pytest.approx(60 * iops)
    assert (small.iops_exceeded, small.throughput_exceeded) == (1, 0)
    assert large.served_ops == pytest.approx(60 * 4 * mibps)
    assert large.throughput_exceeded or (what.volume_type == "io2" and large.iops_exceeded)


# Backlog, latency, starvation


def test_an_open_load_above_the_limit_builds_a_backlog_that_drains_afterwards() -> None:
    facts = play(steps((600, 4_000, 16), (1_200, 1_000, 16)), gp3(), 30)
    assert facts[9].backlog_end == pytest.approx(600_000)
    assert [f.starved for f in facts] == [True] * 15 + [False] * 15
    assert offered(facts) == pytest.approx(served(facts))
    longest = max(w.high_ms for f in facts for w in f.latencies)
    assert longest == pytest.approx(200_000.5), "the last of 2.4 million leaves at second 800"


def test_waits_are_first_come_first_served() -> None:
    facts = play(steps((60, 6_000, 16), (120, 0, 16)), gp3(), 3)
    first, second = facts[0].latencies, facts[1].latencies
    assert first[0].low_ms == pytest.approx(0.5)
    assert first[0].high_ms == pytest.approx(30_000.5)
    assert second[-1].high_ms == pytest.approx(60_000.5)
    assert facts[2].latency_ms_avg is None


def test_a_backlog_keeps_the_sizes_it_came_with() -> None:
    facts = play(steps((60, 6_000, 4), (60, 100, 256), (60, 0, 4)), gp3(), 3)
    small, large = 6_000 * 60 * 4_096, 100 * 60 * 262_144
    moved = sum(f.served_read_bytes + f.served_write_bytes for f in facts)
    assert moved == pytest.approx(small + large)


def test_the_device_reports_no_more_than_its_queue_limit() -> None:
    facts = play(steady(6_000), gp3(), 10, queue_limit=100)
    assert facts[-1].queue_seen_avg == pytest.approx(100)
    assert facts[-1].backlog_end > 1_000_000


def test_a_closed_loop_waits_by_littles_law() -> None:
    facts = play(loop(256, 4, 0.5), gp3(), 1)
    assert facts[0].served_ops == pytest.approx(180_000)
    assert facts[0].latency_ms_avg == pytest.approx(1_000 * 256 / 3_000)
    assert facts[0].queue_seen_avg == pytest.approx(256)
    assert facts[0].starved


@pytest.mark.parametrize("outstanding", [300, 250_000])
def test_workers_behind_a_backlog_wait_until_it_is_worked_off(outstanding: int) -> None:
    """A minute of twice what gp3 gives: each worker's first operation takes a minute longer."""
    pool = closed_load(outstanding=outstanding, io_kib=16, service_ms=0.5)
    facts = play(
        Steps(
            T0,
            [
                Stretch(duration_s=60, load=open_load(iops=6_000, io_kib=16)),
                Stretch(duration_s=600, load=pool),
            ],
        ),
        gp3(),
        5,
    )
    assert facts[2].served_ops == facts[3].served_ops == pytest.approx(180_000)
    waited = sum(
        wait.ops * (wait.low_ms + wait.high_ms) / 2 for fact in facts[2:] for wait in fact.latencies
    )
    at_rest = 1_000 * outstanding / 3_000
    assert waited == pytest.approx(3 * 180_000 * at_rest + outstanding * 60_000)
    assert facts[4].latency_ms_avg == pytest.approx(at_rest)


def test_a_pool_that_comes_again_waits_for_its_own_backlog_only() -> None:
    pool = closed_load(outstanding=30_000, io_kib=16, service_ms=0.5)
    quiet = Stretch(duration_s=60, load=IDLE)
    busy = Stretch(duration_s=60, load=open_load(iops=4_000, io_kib=16))
    behind = Stretch(duration_s=60, load=pool)
    facts = play(Steps(T0, [busy, Stretch(duration_s=25, load=pool), quiet, behind]), gp3(), 4)
    longest = max(wait.high_ms for wait in facts[2].latencies + facts[3].latencies)
    assert longest == pytest.approx(1_000 * 30_000 / 3_000)


def test_a_closed_loop_nothing_limits_is_not_starved() -> None:
    facts = play(loop(250, 16, 100), configuration("io1", 400, 5_000), 1)
    assert facts[0].served_ops == pytest.approx(60 * 2_500)
    assert facts[0].latency_ms_avg == pytest.approx(100)
    assert not facts[0].starved
    assert facts[0].iops_exceeded == 0


@pytest.mark.parametrize(("burst_s", "exceeded"), [(0.4, 0), (1.5, 1)])
def test_the_check_sees_seconds_inside_the_minute(burst_s: float, exceeded: int) -> None:
    calm = 100.0
    facts = play(steps((30, calm, 16), (burst_s, 3_100, 16), (3_600, calm, 16)), gp3(), 1)
    assert facts[0].iops_exceeded == exceeded
    assert facts[0].ebs_iops < 0.1 * 3_000


def test_at_the_limit_is_not_above_it() -> None:
    facts = play(steady(3_000), gp3(), 3)
    assert not any(f.iops_exceeded or f.starved or f.backlog_end for f in facts)


def test_one_percent_of_late_operations_is_not_starved_and_more_is() -> None:
    def starved(surge_s: float) -> bool:
        calm = (60 - surge_s) / 2
        return play(steps((calm, 3_000, 16), (surge_s, 3_001, 16), (600, 0, 16)), gp3(), 1)[
            0
        ].starved

    assert not starved(0.2)
    assert starved(2.0)


# The instance


def test_the_instance_limits_without_starving_the_volume() -> None:
    facts = play(steady(4_000), gp3(100, 6_000, 250), 30, attachment=instance(2_000, 1_000))
    assert served(facts) == pytest.approx(2_000 * 1_800)
    assert all(f.instance_iops_exceeded and not f.iops_exceeded for f in facts)
    assert not any(f.starved for f in facts)


def test_a_volume_tighter_than_its_instance_is_starved() -> None:
    facts = play(steady(8_000), gp3(), 10, attachment=instance(5_000, 1_000))
    assert all(f.starved and f.iops_exceeded and not f.instance_iops_exceeded for f in facts)


def test_an_instance_bursts_for_30_minutes_and_falls_to_its_baseline() -> None:
    attachment_settings = instance(1_000, 1_000, most_iops=3_000)
    facts = play(steady(5_000), gp3(100, 10_000, 250), 60, attachment=attachment_settings)
    assert [round(f.ebs_iops) for f in facts] == [3_000] * 30 + [1_000] * 30
    assert facts[29].instance_io_balance_percent == pytest.approx(0)
    assert facts[14].instance_io_balance_percent == pytest.approx(50)
    assert facts[0].instance_byte_balance_percent == 100


def test_an_instances_balance_refills_with_what_is_left_below_its_baseline() -> None:
    attachment_settings = instance(1_000, 1_000, most_iops=3_000)
    facts = play(
        steps((1_800, 3_000, 16), (7_200, 500, 16)), gp3(), 100, attachment=attachment_settings
    )
    filled = facts[89].instance_io_balance_percent
    assert filled == pytest.approx(100 * 3_600 * 500 / (1_800 * 2_000))


def test_the_load_of_other_volumes_comes_first() -> None:
    attachment_settings = instance(2_000, 1_000)
    busy = Attachment(limits=attachment_settings.limits, other_iops=1_500.0)
    facts = play(steady(1_000), gp3(), 5, attachment=busy)
    assert served(facts) == pytest.approx(500 * 300)
    assert all(f.instance_iops_exceeded for f in facts)


def test_starvation_by_the_volume_and_by_the_instance_are_distinguished() -> None:
    attachment_settings = instance(2_000, 1_000, most_iops=4_000)
    facts = play(steady(5_000), gp3(100, 3_500, 250), 60, attachment=attachment_settings)
    assert facts[0].starved, "the volume gives 3,500 where the instance would give 4,000"
    assert facts[0].iops_exceeded == 1
    assert facts[-1].instance_iops_exceeded == 1


# A change takes effect


def test_a_change_takes_effect_inside_the_minute() -> None:
    lifecycle = volume(gp3(), delays=Delays(effect=timedelta(seconds=90)))
    lifecycle.modify(T0, iops=6_000, throughput_mibps=250)
    facts = play(steady(6_000), lifecycle, 4)
    assert [round(f.ebs_iops) for f in facts] == [3_000, 4_500, 6_000, 6_000]
    assert [f.limit_iops for f in facts] == [3_000, 6_000, 6_000, 6_000]


def test_growing_gp2_keeps_its_credits_and_leaving_gp2_drops_them() -> None:
    grown = volume(gp2(400))
    grown.modify(T0, size_gib=834)
    facts = play(steady(2_500), grown, 12, burst_balance_percent=80)
    spent = (2_500 - 1_200) * 600
    assert facts[9].burst_balance_percent == pytest.approx(80 - 100 * spent / GP2_CREDITS)
    assert facts[11].burst_balance_percent == pytest.approx(facts[9].burst_balance_percent, abs=0.1)
    gone = volume(gp2(400))
    gone.modify(T0, volume_type="gp3")
    assert play(steady(100), gone, 11)[-1].burst_balance_percent is None


# Minutes that are as the one before


SHORT = Delays(modifying=timedelta(seconds=70), effect=timedelta(seconds=95), completed=3 * MINUTE)


@given(
    parts=st.lists(
        st.tuples(st.sampled_from([45, 60, 130, 600]), st.sampled_from([0, 300, 1_200, 5_000])),
        min_size=1, max_size=6,
    ),
    size=st.sampled_from([100, 400]),
    grown_at=st.integers(0, 900),
)  # fmt: skip
def test_a_minute_as_the_one_before_is_as_if_it_had_been_computed(
    parts: list[tuple[int, int]], size: int, grown_at: int
) -> None:
    load = steps(*((seconds, iops, 16) for seconds, iops in parts))

    def played(*, quick: bool) -> list[MinuteFacts]:
        physics, grows = VolumePhysics(load), volume(gp2(size), delays=SHORT)
        facts = []
        for i in range(40):
            if i == grown_at // 60:
                grows.modify(T0 + timedelta(seconds=grown_at), size_gib=2 * size)
            facts.append(physics.minute(T0 + i * MINUTE, grows))
            physics._steady = physics._steady if quick else None
        return facts

    assert played(quick=True) == played(quick=False)


# What was not measured


def test_unmeasured_time_offers_nothing_and_counts_nowhere() -> None:
    class Holes(Steps):
        def segments(self, start_s, end_s):  # type: ignore[no-untyped-def]
            found = super().segments(start_s, end_s)
            return [type(s)(start_s=s.start_s, end_s=s.end_s, load=None) if s.start_s >= 60 and
                    s.start_s < 120 else s for s in found]  # fmt: skip

    load = open_load(iops=6_000, io_kib=16)
    holes = Holes(T0, [Stretch(duration_s=60, load=load)] * 3)
    facts = play(holes, gp3(), 3)
    assert [f.unknown for f in facts] == [False, True, False]
    assert [f.offered_ops for f in facts] == [360_000, 0, 360_000]
    assert not facts[1].starved
    assert not facts[1].published
    assert facts[1].served_ops == pytest.approx(180_000), "the backlog is worked off meanwhile"


def test_a_load_that_begins_inside_a_minute_is_not_published_in_it() -> None:
    begun = Steps(T0 + timedelta(seconds=40), [Stretch(duration_s=80, load=IDLE)])
    physics = VolumePhysics(begun)
    first, second = (physics.minute(T0 + timedelta(minutes=i), volume(gp3())) for i in (0, 1))
    assert (first.measured_s, first.published, first.unknown) == (20, False, False)
    assert (second.measured_s, second.published) == (60, True)


def test_a_backlog_is_served_to_its_end_more_than_a_year_after_the_start() -> None:
    """The clock counts seconds from the start, in steps of 4 nanoseconds by then."""
    year = 400 * 86_400
    load = steps((year, 0, 16), (600, 4_001.3, 16), (3_600, 299.7, 16))
    physics = VolumePhysics(load)
    still, begin = volume(gp3()), year // 60
    facts = [physics.minute(T0 + (begin + i) * MINUTE, still) for i in range(70)]
    assert facts[-1].backlog_end == 0.0
    assert served(facts) == pytest.approx(600 * 4_001.3 + 3_600 * 299.7, rel=1e-6)
