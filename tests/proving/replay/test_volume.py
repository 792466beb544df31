"""A volume's past under a policy: what would have been done, what it had cost, and what not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest

from headroom.domain.catalog import catalogue_prices
from headroom.domain.policy import Limits, Mode, Policy, Rule, Selector, limits_for
from headroom.domain.resources import Configuration, Volume, VolumeActivity, VolumeType
from headroom.ports import StorageView
from headroom.proving.replay import (
    NotReplayed,
    Replayed,
    largest_configuration,
    replay_volume,
    why_not_replayable,
)
from headroom.proving.replay.demand import reconstruct_load
from headroom.proving.replay.playback import ReplayedChange, play_exact, play_vectorized
from headroom.proving.replay.volume import policy_in_auto_mode
from headroom.proving.trials import Conditions, run_engine
from headroom.proving.workloads import LoadSeries
from tests.builders import (
    NOW,
    REGION,
    activity,
    gp2,
    gp3,
    instance,
    instance_activity,
    policy,
    volume,
)
from tests.proving.histories import lived, published
from tests.proving.series import load_series_of

PRICES = catalogue_prices(REGION)
EVENING = [800.0] * 180 + [6_000.0] * 120 + [500.0] * 180


def view(configuration: Configuration, **changes: object) -> StorageView:
    return StorageView(volume=volume(configuration, **changes), modification=None, instance=None)


def replayed(
    load_series: LoadSeries,
    configuration: Configuration,
    *,
    rules: Policy | None = None,
    skip_min: int = 0,
    draw: bool = False,
    **changes: object,
) -> Replayed:
    past = published(lived(load_series, configuration))
    since = load_series.start + timedelta(minutes=skip_min)
    return replay_volume(
        view(configuration, **changes), [(past, None)], rules or policy(), PRICES, since=since,
        draw=draw,
    )  # fmt: skip


def test_a_volume_that_starved_would_have_been_raised_and_relieved() -> None:
    made = load_series_of(EVENING)
    found = replayed(made, gp3(400))
    truth = lived(made, gp3(400)).starved.sum()
    assert found.left_alone.starved_minutes == pytest.approx(truth, rel=0.05)
    change = found.headroom.changes[0]
    assert change.origin == gp3(400)
    assert (change.target.iops or 0) > 6_000
    assert made.start + timedelta(minutes=180) < change.at < made.start + timedelta(minutes=200)
    assert found.avoided_minutes > 0.8 * truth
    assert (found.headroom.aws_refusals, found.headroom.guardrail_violations) == (0, 0)


def test_what_the_rebuilt_load_makes_the_engine_do_is_what_the_real_one_would_have() -> None:
    made = load_series_of(EVENING)
    found = replayed(made, gp3(400))
    real = run_engine(made, gp3(400), Conditions())
    ours, external = found.headroom.changes[0], real.changes[0]
    assert ours.target.volume_type is external.target.volume_type
    assert ours.target.iops == pytest.approx(external.target.iops, rel=0.25)
    assert found.headroom.starved_minutes == pytest.approx(int(real.starved.sum()), abs=10)


def test_a_volume_that_never_starved_is_left_alone_at_no_cost() -> None:
    found = replayed(load_series_of([200.0] * 600), gp3(400))
    assert found.headroom.changes == ()
    assert found.left_alone.starved_minutes == found.headroom.starved_minutes == 0
    assert found.usd_change == 0
    assert found.headroom.usd_per_month_end == found.usd_per_month == Decimal("32.00")


def test_money_is_by_the_second_and_a_change_is_paid_from_its_start() -> None:
    made = load_series_of(EVENING)
    found = replayed(made, gp3(400))
    month = Decimal(730 * 60)
    assert found.left_alone.storage_usd == pytest.approx(Decimal(32) * made.minutes / month)
    more = 0.0
    for change in found.headroom.changes:
        left = made.minutes - (change.at - made.start).total_seconds() / 60
        more += float(change.usd_change) * left / (730 * 60)
    assert more > 0
    assert float(found.usd_change) == pytest.approx(more)
    last = found.headroom.changes[-1]
    assert found.headroom.usd_per_month_end == PRICES.monthly(last.target)


def test_the_mode_counts_as_auto_and_the_owners_limits_hold() -> None:
    limited = policy(mode=Mode.OBSERVE, max_iops=4_000)
    found = replayed(load_series_of(EVENING), gp3(400), rules=limited, tags=())
    assert found.headroom.changes
    assert all((c.target.iops or 0) <= 4_000 for c in found.headroom.changes)


def test_days_before_the_replay_are_known_and_not_counted() -> None:
    made = load_series_of(EVENING * 2)
    second = replayed(made, gp3(400), skip_min=480)
    truth = lived(made, gp3(400)).starved[480:].sum()
    assert second.known.minutes == 480
    assert second.left_alone.starved_minutes == pytest.approx(truth, rel=0.05)
    assert all(c.at >= made.start + timedelta(minutes=480) for c in second.headroom.changes)
    assert second.left_alone.storage_usd == pytest.approx(Decimal(32) * 480 / Decimal(730 * 60))


def test_an_hdd_volume_is_simulated_by_the_exact_physics() -> None:
    st1 = Configuration(volume_type=VolumeType.ST1, size_gib=500, iops=None, throughput_mibps=None)
    past = activity([20.0] * 240, io_kib=1_024, iops_check=0, mibps_check=0)
    found = replay_volume(view(st1), [(past, None)], policy(), PRICES, since=past.read_iops.start)
    assert found.known.measured == 240
    assert found.left_alone.storage_usd == pytest.approx(Decimal("22.50") * 240 / Decimal(730 * 60))


def test_five_volumes_on_a_small_instance_are_not_raised_beyond_what_it_sustains() -> None:
    """One of them is at its 3,000 IOPS for two hours; the four others take 800 each."""
    made = load_series_of(EVENING)
    past = published(lived(made, gp3(400)))
    served = [r + w for r, w in zip(past.read_iops.values, past.write_iops.values, strict=True)]
    mibps = [r + w for r, w in zip(past.read_mibps.values, past.write_mibps.values, strict=True)]
    together = instance_activity(
        [n + 4 * 800.0 for n in served], [m + 4 * 12.5 for m in mibps], end=past.read_iops.end
    )
    others = ("vol-2", "vol-3", "vol-4", "vol-5")

    def targets(baseline_iops: int) -> list[int]:
        seen = replace(view(gp3(400)), instance=instance(
            baseline_iops=baseline_iops, maximum_iops=baseline_iops, volumes=others
        ))  # fmt: skip
        found = replay_volume(seen, [(past, together)], policy(), PRICES, since=made.start)
        return [change.target.iops or 0 for change in found.headroom.changes]

    assert targets(6_200) == []  # the instance has 3,000 left for it, its own limit
    assert max(targets(9_000)) == 9_000 - 4 * 800
    assert max(targets(30_000)) > 6_000


@pytest.mark.parametrize("configuration", [gp3(400), gp2(400)])
def test_both_physics_give_the_same_replay(configuration: Configuration) -> None:
    made = load_series_of([500.0] * 60 + [4_000.0] * 30 + [400.0] * 60)
    past = published(lived(made, configuration))
    reconstructed = reconstruct_load(
        [(past, None)], volume(configuration), None, None, since=made.start + timedelta(minutes=20)
    )
    assert reconstructed is not None
    rules = policy_in_auto_mode(policy(), volume(configuration))
    one, other = (
        play(volume(configuration), reconstructed, rules, PRICES, draw=True)
        for play in (play_vectorized, play_exact)
    )
    assert one.left_alone == other.left_alone
    assert one.headroom.starved_minutes == other.headroom.starved_minutes
    assert [(c.at, c.target) for c in one.headroom.changes] == [
        (c.at, c.target) for c in other.headroom.changes
    ]
    assert one.headroom.storage_usd == other.headroom.storage_usd
    assert one.timeline is not None
    assert other.timeline is not None
    assert one.timeline.start == other.timeline.start
    for name in ("offered_iops", "served_iops", "served_mibps", "usd_per_month", "starved"):
        assert np.allclose(
            getattr(one.timeline, name), getattr(other.timeline, name), rtol=1e-6, equal_nan=True
        ), name


@pytest.mark.parametrize(
    ("changes", "rules", "why"),
    [
        ({"managed_by": "Amazon EKS"}, policy(), "managed by Amazon EKS"),
        ({"multi_attach": True}, policy(), "Multi-Attach"),
        ({"on_outpost": True}, policy(), "Outpost"),
        ({"tags": (("headroom", "off"),)}, policy(), "off"),
        ({"tags": ()}, policy(mode=Mode.OFF), "off"),
    ],
)
def test_a_volume_that_headroom_leaves_alone_is_not_replayed_with_a_reason(
    changes: dict[str, object], rules: Policy, why: str
) -> None:
    with pytest.raises(NotReplayed, match=why):
        replayed(load_series_of([100.0] * 30), gp3(400), rules=rules, **changes)


def test_a_volume_without_history_is_not_replayed_with_a_reason() -> None:
    past: VolumeActivity = activity([None] * 30)
    with pytest.raises(NotReplayed, match="nothing measured"):
        replay_volume(view(gp3()), [(past, None)], policy(), PRICES, since=past.read_iops.start)


def test_a_type_without_a_price_is_not_replayed_with_a_reason() -> None:
    past = activity([10.0] * 30)
    without = replace(PRICES, gib={VolumeType.GP2: Decimal("0.10")})
    with pytest.raises(NotReplayed, match="no gp3 price"):
        replay_volume(view(gp3()), [(past, None)], policy(), without, since=past.read_iops.start)


def tagged(*tags: tuple[str, str]) -> Volume:
    return volume(gp3(), tags=tags)


RULES = Policy(
    version="test",
    defaults=Limits(mode=Mode.OBSERVE),
    rules=(
        Rule(selector=Selector(tags=(("team", "data"),)), settings=(("max_iops", 5_000),)),
        Rule(selector=Selector(tags=(("team", "web"),)), settings=(("mode", Mode.OFF),)),
        Rule(
            selector=Selector(volume_types=(VolumeType.IO2,)),
            settings=(("mode", Mode.APPROVE), ("max_iops", 9_000)),
        ),
    ),
)


@pytest.mark.parametrize(
    ("tags", "kind", "mode", "max_iops"),
    [
        ((("team", "data"),), VolumeType.GP3, Mode.AUTO, 5_000),
        ((("team", "data"),), VolumeType.IO2, Mode.AUTO, 9_000),
        ((), VolumeType.GP3, Mode.AUTO, 16_000),
        ((), VolumeType.IO2, Mode.AUTO, 9_000),
        ((("team", "web"), ("headroom", "observe")), VolumeType.GP3, Mode.AUTO, 16_000),
        ((("team", "web"),), VolumeType.GP3, Mode.OFF, 16_000),
        ((("headroom:max-iops", "6000"),), VolumeType.GP3, Mode.AUTO, 6_000),
        ((("team", "data"), ("headroom:max-iops", "6000")), VolumeType.GP3, Mode.AUTO, 5_000),
        ((("team", "data"), ("headroom:max-iops", "6000")), VolumeType.IO2, Mode.AUTO, 6_000),
    ],
)
def test_the_policy_is_the_volumes_own_also_after_a_change_of_type(
    tags: tuple[tuple[str, str], ...], kind: VolumeType, mode: Mode, max_iops: int
) -> None:
    """What is judged in a replay carries no tags: the rules for its tags must hold all the same."""
    plain = policy_in_auto_mode(RULES, tagged(*tags))
    later = volume(replace(gp3(), volume_type=kind), tags=())
    limits = limits_for(plain, later).limits
    assert (limits.mode, limits.max_iops) == (mode, max_iops)


def test_a_volume_with_invalid_tags_is_not_replayed() -> None:
    view = StorageView(
        volume=tagged(("headroom:max-iop", "6000")), modification=None, instance=None
    )
    assert "did you mean headroom:max-iops" in (why_not_replayable(view, policy()) or "")


def test_increases_that_were_in_force_together_are_summed_in_the_order_of_time() -> None:
    one = replayed(load_series_of([100.0] * 30), gp3(400))
    first = ReplayedChange(
        at=NOW, origin=gp3(400), target=gp3(400, 6_000), usd_change=Decimal(0), reason="starved"
    )

    def at(minute: int, usd: int) -> Replayed:
        moved = replace(first, at=NOW + timedelta(minutes=minute), usd_change=Decimal(usd))
        return replace(one, headroom=replace(one.headroom, changes=(moved,)))

    assert largest_configuration([at(0, 40), at(10, 60)]) == 100
    assert largest_configuration([at(0, 40), at(10, -30), at(20, 20)]) == 40
    assert largest_configuration([]) == 0
