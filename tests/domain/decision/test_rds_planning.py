"""Databases go through the planner, the weighing and the guardrails that volumes go through."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.catalog.ebs import capability
from headroom.domain.catalog.rds import why_refused
from headroom.domain.decision import Act, Decision, Escalate, Hold, Reason, decide
from headroom.domain.guardrails import Guardrail
from headroom.domain.planning import Plan
from headroom.domain.resources import (
    Configuration,
    Deployment,
    Engine,
    Kind,
    Observation,
    ResourceRef,
    Span,
    ValidStorage,
    VolumeType,
    digest,
)
from headroom.serialization import decision_from_json, decision_to_json, stored, to_json
from tests.builders import (
    ACCOUNT,
    NOW,
    REGION,
    activity,
    database_policy,
    decision_input,
    gp2,
    gp3,
    instance,
    observation,
    volume,
)
from tests.domain.databases import rds

GP2, GP3, IO1, IO2 = VolumeType.GP2, VolumeType.GP3, VolumeType.IO1, VolumeType.IO2


def starved(configuration: Configuration, limit: float, **changes: object) -> Observation:
    """A database at its limit for half an hour, a queue growing behind it."""
    load = activity(
        [limit / 2] * 30 + [limit] * 30,
        queue=[1.0] * 30 + [900.0 + limit / 20 * i for i in range(30)],
        iops_check=None, mibps_check=None,
        latency_ms=[1.0] * 30 + [300.0] * 30,
        balance=0.0 if configuration.volume_type is GP2 else None,
    )  # fmt: skip
    ref = ResourceRef(kind=Kind.RDS, account_id=ACCOUNT, region=REGION, resource_id="orders")
    return observation(
        load,
        volume(configuration, ref=ref),
        instance=replace(
            instance(baseline_iops=40_000, baseline_mibps=1_200.0), volume_ids=("orders",)
        ),
        **changes,
    )


def decided(seen: Observation, **limits: object) -> Decision:
    wide = {"max_iops": 64_000, "types": (GP3, IO1, IO2), "price_increase_usd": Decimal(5_000)}
    rules = replace(database_policy(**{**wide, **limits}), account_increase_usd=Decimal(10_000))
    return decide(decision_input(seen, rules=rules))


def test_a_striped_gp2_database_out_of_credits_is_moved_to_gp3_priced_beside_the_others() -> None:
    decision = decided(starved(rds(GP2, 500), 1_500))
    assert isinstance(decision.answer, Act)
    plan = decision.answer.plan
    assert (plan.target.volume_type, plan.target.size_gib) == (GP3, 500)
    # Four gp2 volumes of 125 GiB have 512 MiB/s today: nobody used the 12 above what gp3 includes.
    assert (plan.target.iops, plan.target.throughput_mibps) == (12_000, 500)
    assert plan.target.database == plan.origin.database
    assert (plan.reversible, plan.full_copy) == (True, False)
    assert plan.price_change_usd == 0
    beside = {j.plan.target.volume_type: j for j in decision.judgements}
    assert beside.keys() == {GP3, IO1, GP2}
    grown = beside[GP2]
    assert (grown.plan.target.size_gib, grown.plan.price_change_usd) == (825, Decimal("37.375"))
    assert {v.guardrail for v in grown.blocking} == {
        Guardrail.TYPES, Guardrail.GROWTH, Guardrail.COST_BENEFIT,
    }  # fmt: skip


def test_growing_across_the_threshold_is_a_full_copy_flagged_and_left_to_a_person() -> None:
    decision = decided(starved(rds(GP3, 300), 3_000), growth=True)
    crossing = [j for j in decision.judgements if j.plan.target.size_gib >= 400]
    assert crossing
    for judged in crossing:
        assert judged.plan.full_copy
        assert not judged.plan.reversible
        assert "copies all data" in judged.plan.why
        assert "cannot be undone" in judged.plan.why
        assert Guardrail.FULL_COPY in {v.guardrail for v in judged.blocking}
    answer = decision.answer
    assert not (isinstance(answer, Act) and answer.plan.full_copy)
    alone = decided(starved(rds(GP3, 300), 3_000), growth=True, types=(GP3,)).answer
    assert isinstance(alone, Escalate)
    assert alone.remedy == (
        "a person may change it to gp3 400 GiB 12000 IOPS 500 MiB/s ($11.50 a month more): "
        "RDS would copy all data, which takes hours and cannot be undone"
    )


def test_a_database_below_the_threshold_gets_what_it_can_get_without_a_copy() -> None:
    decision = decided(starved(rds(GP3, 300), 3_000))
    assert isinstance(decision.answer, Act)
    taken = decision.answer.plan
    assert taken.target.volume_type in (IO1, IO2)
    assert taken.target.size_gib == 300
    # What a person could have for far less stands beside it.
    copied = min((j.plan for j in decision.judgements if j.plan.full_copy), key=_usd)
    assert copied.price_change_usd == Decimal("11.50")
    assert copied.meets_need
    assert taken.price_change_usd > 50 * copied.price_change_usd


def _usd(plan: Plan) -> Decimal:
    return plan.monthly_usd


@pytest.mark.parametrize("engine", [Engine.ORACLE, Engine.SQL_SERVER, Engine.DB2])
def test_an_engine_without_a_known_price_is_not_acted_on(engine: Engine) -> None:
    decision = decided(starved(rds(GP3, 150, engine=engine), 3_000))
    assert decision.current_usd is None
    assert isinstance(decision.answer, Hold | Escalate)
    assert decision.answer.reason is Reason.PRICE_UNKNOWN


def test_a_cluster_buys_no_iops_whose_price_is_unknown() -> None:
    clustered = rds(GP3, 500, 12_000, deployment=Deployment.CLUSTER)
    decision = decided(starved(clustered, 12_000))
    assert decision.current_usd == Decimal("172.5")
    assert not isinstance(decision.answer, Act)


def test_what_aws_says_of_the_instance_bounds_every_plan() -> None:
    valid = (
        ValidStorage(
            volume_type=GP3,
            size_gib=(Span(low=500, high=500),),
            iops=(Span(low=12_000, high=16_000),),
            mibps=(Span(low=500, high=1_000),),
        ),
    )
    seen = starved(rds(GP3, 500, 12_000, 500), 12_000, valid=valid)
    plans = [j.plan for j in decided(seen).judgements]
    assert plans
    assert all(p.target.volume_type is GP3 and (p.target.iops or 0) <= 16_000 for p in plans)


@settings(max_examples=60, deadline=None)
@given(
    engine=st.sampled_from([Engine.MYSQL, Engine.MARIADB, Engine.POSTGRESQL]),
    start=st.sampled_from(
        [(GP2, 100, None, None), (GP2, 390, None, None), (GP2, 500, None, None),
         (GP2, 1_500, None, None), (GP3, 20, None, None), (GP3, 399, None, None),
         (GP3, 400, 12_000, 500), (GP3, 900, 20_000, 700), (IO1, 300, 5_000, None),
         (IO1, 800, 30_000, None), (IO2, 500, 3_000, None)]
    ),
    share=st.floats(0.2, 1.0),
    growth=st.booleans(),
    multi_az=st.booleans(),
)  # fmt: skip
def test_every_plan_for_a_database_is_one_that_rds_would_accept(
    engine: Engine, start: tuple[VolumeType, int, int | None, int | None], share: float,
    growth: bool, multi_az: bool,
) -> None:  # fmt: skip
    deployment = Deployment.MULTI_AZ if multi_az else Deployment.SINGLE_AZ
    origin = rds(*start, engine=engine, deployment=deployment)
    limit = {GP2: 3 * start[1], GP3: start[2] or 3_000}.get(start[0], start[2] or 0)
    decision = decided(starved(origin, limit * share), growth=growth, types=(GP2, GP3, IO1, IO2))
    for judged in decision.judgements:
        target = judged.plan.target
        assert why_refused(origin, target) is None, f"{origin} -> {target}"
        assert target != origin
        assert target.size_gib >= origin.size_gib
        assert judged.plan.reversible == (target.size_gib == origin.size_gib)
    if isinstance(decision.answer, Act):
        assert not decision.answer.plan.full_copy
        assert growth or not decision.answer.plan.grows


def test_a_decision_about_a_database_is_the_same_there_and_back() -> None:
    seen = starved(
        rds(GP2, 500), 1_500,
        valid=(ValidStorage(volume_type=GP3, iops=(Span(low=12_000, high=64_000),)),),
    )  # fmt: skip
    decision = decided(seen)
    again = decision_from_json(decision_to_json(decision))
    assert again == stored(decision)
    assert (again.observation.valid, again.answer) == (seen.valid, decision.answer)


def test_what_is_stored_and_digested_of_a_volume_knows_nothing_of_databases() -> None:
    assert to_json(gp3(100)) == (
        '{"iops":3000,"size_gib":100,"throughput_mibps":125,"volume_type":"gp3"}'
    )
    assert "valid" not in to_json(observation())
    # The digest of before databases were known: ids that were given stay.
    assert digest(gp3(100), gp2(400)) == (
        "bf8a86182e9efef9e0ee16f46da4f4c43d16af02f6f3a66434c5683322f2da1f"
    )
    assert digest(rds(GP2, 400)) != digest(gp2(400))


def _quiet(configuration: Configuration, share: float, days: int) -> Observation:
    """A database that did `share` of what it may for as many days, and does it now."""
    can = capability(configuration)
    level = max(50.0, can.sustained_iops * share)
    balance = 100.0 if configuration.volume_type is GP2 else None
    seen = starved(configuration, 1_000)
    checks: dict[str, None] = {"iops_check": None, "mibps_check": None}
    earlier = activity(
        [level] * (288 * days), balance=balance, end=NOW, period_s=300, io_kib=8, **checks
    )
    return replace(
        seen,
        activity=activity([level] * 180, balance=balance, io_kib=8, **checks),
        history=replace(earlier, busiest_iops=earlier.read_iops, busiest_mibps=earlier.read_mibps),
    )


@settings(max_examples=20, deadline=None)
@given(
    engine=st.sampled_from([Engine.MYSQL, Engine.MARIADB, Engine.POSTGRESQL]),
    start=st.sampled_from(
        [(GP2, 390, None, None), (GP2, 900, None, None), (GP2, 5_000, None, None),
         (GP3, 400, 40_000, 2_000), (GP3, 900, 20_000, 700), (GP3, 500, 12_000, 500),
         (IO1, 300, 15_000, None), (IO1, 800, 30_000, None), (IO2, 500, 30_000, None)]
    ),
    share=st.floats(0.0, 0.6),
    days=st.integers(2, 9),
)  # fmt: skip
def test_what_a_quiet_database_gives_back_is_no_less_than_its_engine_takes(
    engine: Engine, start: tuple[VolumeType, int, int | None, int | None], share: float, days: int
) -> None:
    origin = rds(*start, engine=engine)
    decision = decided(_quiet(origin, share, days))
    for judged in decision.judgements:
        assert why_refused(origin, judged.plan.target) is None
    if isinstance(decision.answer, Act):
        plan = decision.answer.plan
        assert plan.target.size_gib == origin.size_gib
        assert plan.price_change_usd <= 0
        assert plan.capability.sustained_iops >= capability(origin).sustained_iops * share


def test_striped_gp3_gives_back_to_what_its_four_volumes_include_and_no_further() -> None:
    seen = _quiet(rds(GP3, 900, 40_000, 2_000), 0.02, 9)
    for ceiling in (1_000, 2_000):  # what is above it today may be lowered too
        answer = decided(seen, max_throughput_mibps=ceiling).answer
        assert isinstance(answer, Act)
        assert (answer.plan.target.iops, answer.plan.target.throughput_mibps) == (12_000, 500)
        assert answer.plan.price_change_usd == Decimal("-680.00")


def test_a_copy_that_saves_is_not_said_to_be_for_a_load() -> None:
    """io1 with 100 IOPS of load: gp3 of 400 GiB has more of everything, and costs less."""
    low = replace(
        starved(rds(IO1, 100, 1_000), 1_000),
        activity=activity([100.0] * 60, iops_check=None, mibps_check=None),
    )
    decision = decided(low, types=(GP3,))
    plan = decision.plan
    assert plan is not None
    assert plan.sustains_more
    assert plan.price_change_usd < 0
    assert f"held (no pressure); would take {plan.target}" in decision.summary
