"""Laws of growth for free space, whatever the database, its past and its owner's limits."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.catalog.rds import band_of, full_copy, why_refused
from headroom.domain.decision import Act, Decision, decide
from headroom.domain.policy import Mode
from headroom.domain.resources import Configuration, Deployment, Engine, VolumeType
from tests.builders import activity, database_policy, decision_input
from tests.domain.databases import rds
from tests.domain.filling import facts, filling

ENGINES = (Engine.POSTGRESQL, Engine.MYSQL, Engine.MARIADB)
BUSY = activity(
    [6_000.0] * 150 + [12_000.0] * 30, queue=[1.0] * 150 + [900.0 + 600 * i for i in range(30)],
    iops_check=None, mibps_check=None, latency_ms=[1.0] * 150 + [300.0] * 30,
)  # fmt: skip


@st.composite
def storages(draw: st.DrawFn) -> Configuration:
    kind = draw(st.sampled_from([VolumeType.GP3, VolumeType.GP2, VolumeType.IO1, VolumeType.IO2]))
    size = draw(st.one_of(st.integers(100, 399), st.integers(400, 3_000)))
    deployment = draw(st.sampled_from([Deployment.SINGLE_AZ, Deployment.MULTI_AZ]))
    bare = rds(kind, size, engine=draw(st.sampled_from(ENGINES)), deployment=deployment)
    band = band_of(bare)
    assert band is not None
    if not band.iops:
        return bare
    low = max(band.iops[0].low, int(band.iops_per_gib[0] * size) + 1)
    high = min(40_000, int(band.iops_per_gib[1] * size))
    iops = draw(st.integers(low, max(low, high)))
    mibps = max(500, iops * 16 // 1024 + 1) if band.mibps else None
    return rds(
        kind, size, iops, mibps, engine=bare.database.engine, deployment=deployment  # type: ignore[union-attr]
    )  # fmt: skip


LIMITS = st.fixed_dictionaries(
    {
        "mode": st.just(Mode.AUTO), "grow_space": st.sampled_from([True, True, True, False]), "growth": st.booleans(),
        "full_copy": st.booleans(), "max_size_gib": st.sampled_from([16_384, 16_384, 500]),
        "max_iops": st.sampled_from([64_000, 64_000, 16_000]),
        "price_increase_usd": st.sampled_from([Decimal(5_000), Decimal(40)]),
        "free_space_percent": st.integers(1, 50), "space_horizon_days": st.integers(2, 90),
        "slots_reserve": st.sampled_from([1, 1, 1, 4]),
    }
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    storage=storages(), limits=LIMITS, share=st.floats(0.0, 0.3), daily=st.sampled_from([-0.01, 0.0, 0.01, 0.05, 0.2]),
    days=st.sampled_from([3.0, 0.5]), busy=st.booleans(),
    most=st.sampled_from([None, None, None, 1.05, 3.0]), pending=st.sampled_from([False, False, False, True]),
)  # fmt: skip
def test_growth_for_space_keeps_every_limit(
    storage: Configuration, limits: dict[str, object], share: float, daily: float, days: float,
    busy: bool, most: float | None, pending: bool,
) -> None:  # fmt: skip
    size = storage.size_gib
    owner = None if most is None else int(size * most)
    about = facts(max_allocated_gib=owner, pending=("DBInstanceClass",) if pending else ())

    def free(hours: float) -> float:
        return min(float(size), max(0.0, size * (share + daily * hours / 24)))

    seen = filling(storage, free, days=days, about=about, load=BUSY if busy else None)
    decision: Decision = decide(decision_input(seen, rules=database_policy(**limits)))
    assert decision == decide(decision_input(seen, rules=database_policy(**limits)))
    for judged in decision.judgements:
        assert judged.plan.target.size_gib >= size
    if not isinstance(decision.answer, Act):
        return
    plan = decision.answer.plan
    assert not pending
    assert why_refused(storage, plan.target) is None
    assert plan.price_change_usd <= limits["price_increase_usd"]  # type: ignore[operator]
    if plan.target.size_gib > size:
        assert owner is None
        assert limits["grow_space"] or limits["growth"]
        assert plan.target.size_gib <= limits["max_size_gib"]  # type: ignore[operator]
        copied = full_copy(storage, plan.target)
        assert not copied or (limits["full_copy"] and limits["growth"])
    if plan.growth is not None:
        assert limits["grow_space"]
        assert decision.space is not None
        assert decision.space.short
        assert plan.target.database == storage.database
        if plan.growth.alone:
            assert plan.target.volume_type is storage.volume_type
            assert (plan.target.iops or 0) >= (storage.iops or 0)
