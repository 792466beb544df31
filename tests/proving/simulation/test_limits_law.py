"""The law of limits: no act goes beyond what policy and tags allow, over random ones and loads."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headroom.domain.catalog import why_invalid
from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import Act, decide
from headroom.domain.policy import Mode, Policy, TagsMay, limits_for
from headroom.domain.policy.tags import tag_settings
from headroom.domain.resources import Configuration, VolumeType
from headroom.policy import parse_policy
from headroom.proving.policy_tests import described_volume
from headroom.proving.policy_tests.situation import (
    LedgerFacts,
    Situation,
    SituationLoad,
    decision_input,
    prices_of,
)
from tests.builders import REGION, gp2, gp3, io, ref, volume
from tests.domain.policy.test_tags import TAGS
from tests.policy.test_text import RULES, SETTINGS

VOLUMES = st.sampled_from(
    [gp3(400), gp3(100, 6_000, 250), gp2(400), io(VolumeType.IO1, 100, 2_000)]
)
LOADS = st.builds(
    SituationLoad,
    iops=st.sampled_from([9_000.0, 5_000.0, 500.0, 12_000.0, 40_000.0]),
    io_kib=st.sampled_from([4.0, 16.0, 128.0]),
    minutes=st.sampled_from([10, 30]),
    before_iops=st.sampled_from([50.0, 1_000.0]),
    days=st.sampled_from([0, 1]),
)
LEDGERED = st.builds(
    LedgerFacts,
    resource_increase_usd=st.sampled_from([Decimal(0), Decimal(40)]),
    account_increase_usd=st.sampled_from([Decimal(0), Decimal(900), Decimal(1_990)]),
    paused=st.sampled_from([False, False, False, True]),
    failures=st.sampled_from([0, 0, 0, 4, 5]),
)
WILLING = {"mode": "auto", "relief_value_usd_per_minute": 5}
"""Where nothing else is said acts are wanted, or the law would be about little."""
DOCUMENTS = st.fixed_dictionaries(
    {
        "defaults": SETTINGS.map(lambda s: {**WILLING, **s})
        | SETTINGS.map(lambda s: {**s, **WILLING, "slots_reserve": 1})
        | st.just(WILLING),
        "rules": st.just([]) | st.lists(RULES, max_size=2),
    }
)
SOUND = TAGS.filter(lambda tags: limits_for(Policy(version=""), volume(tags=tags)).problem is None)
FEW_TAGS = st.just(()) | st.just((("headroom", "auto"),)) | SOUND | TAGS
MAY_ACT = (Mode.AUTO, Mode.APPROVE)
"""With `approve` an act waits for a person; `off` and `observe` have none."""
acts: list[Configuration] = []


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(DOCUMENTS, FEW_TAGS, VOLUMES, LOADS, LEDGERED)
def check_an_act_stays_within_every_limit(
    document: object,
    tags: tuple[tuple[str, str], ...],
    configuration: Configuration,
    load: SituationLoad,
    ledger_facts: LedgerFacts,
) -> None:
    policy = parse_policy(document, source="policy")
    seen = described_volume(ref(), configuration, dict(tags))
    effective = limits_for(policy, seen)
    decision = decide(
        decision_input(Situation(volume=seen, load=load, ledger_facts=ledger_facts), policy)
    )
    if not isinstance(decision.answer, Act):
        return
    plan, limits = decision.answer.plan, effective.limits
    target, before = plan.target, plan.origin
    acts.append(target)
    assert effective.problem is None
    assert limits.mode in MAY_ACT
    assert not ledger_facts.paused
    assert ledger_facts.failures < 5
    assert limits.slots_reserve < 4
    assert why_invalid(target) is None
    assert target.size_gib >= before.size_gib
    assert target.size_gib == before.size_gib or limits.growth
    assert target.size_gib <= max(limits.max_size_gib, before.size_gib)
    assert target.volume_type in (*limits.types, before.volume_type)
    now = capability(before)  # what is not raised may stay above a ceiling
    assert capability(target).sustained_iops <= max(limits.max_iops, now.sustained_iops)
    assert (target.throughput_mibps or 0) <= max(limits.max_throughput_mibps, now.sustained_mibps)
    prices = prices_of(REGION).after_discount(limits.discount_percent)
    dearer = prices.monthly(target) - prices.monthly(before)
    increase = ledger_facts.resource_increase_usd + dearer
    assert dearer <= 0 or increase <= 0 or increase <= limits.price_increase_usd
    others = max(Decimal(0), ledger_facts.account_increase_usd - ledger_facts.resource_increase_usd)
    assert dearer <= 0 or others + increase <= policy.account_increase_usd
    lowers = capability(target).sustained_iops < capability(before).sustained_iops
    assert limits.give_back or not lowers
    tag_says = {one.field: one.value for one in tag_settings(tags)}
    if limits.tags_may is not TagsMay.WIDEN:  # what the tag says, whatever the policy does
        assert (target.iops or 0) <= tag_says.get("max_iops", 10**9)  # type: ignore[operator]
        assert tag_says.get("mode", Mode.AUTO) in MAY_ACT
        assert dearer <= 0 or increase <= tag_says.get("price_increase_usd", Decimal(10**9))  # type: ignore[operator]


def test_no_act_goes_beyond_what_policy_and_tags_allow() -> None:
    acts.clear()
    check_an_act_stays_within_every_limit()
    assert len(acts) >= 5, "the law was about next to nothing"
