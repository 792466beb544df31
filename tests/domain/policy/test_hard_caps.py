"""Hard caps stand above the policy, its rules, tags and approvals."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.catalog import catalogue_prices
from headroom.domain.decision import Act, decide
from headroom.domain.guardrails import Guardrail
from headroom.domain.policy import (
    HARD_CAP,
    HardCaps,
    Limits,
    Mode,
    Policy,
    PolicyError,
    Rule,
    Selector,
    TagsMay,
    discount_of,
    hard_caps_of,
    limits_for,
    owner_prices,
    with_caps,
)
from headroom.domain.policy.hard_caps import ACCOUNT_CAP, CAPPABLE, RESOURCE_TAG_CAP
from headroom.domain.policy.limits import NARROWER, no_wider
from headroom.domain.resources import VolumeType
from headroom.policy import default_policy
from tests.builders import REGION, decision_input, gp3, policy, starved_gp3, volume

EVERYTHING: dict[str, Any] = {
    "mode": "approve", "types": ["gp3"], "max_iops": 5_000, "max_throughput_mibps": 200,
    "max_size_gib": 500, "price_increase_usd_per_month": 12.5, "approve_above_usd_per_month": 3,
    "discount_percent": 5, "growth": False, "grow_space": False, "full_copy": False, "one_way": "never",
    "give_back": False, "aurora_restart": False, ACCOUNT_CAP: 40, RESOURCE_TAG_CAP: "team=db",
}  # fmt: skip
WIDE = Limits(
    mode=Mode.AUTO, types=tuple(VolumeType), max_iops=256_000, max_throughput_mibps=4_000,
    growth=True, full_copy=True, price_increase_usd=Decimal(9_000), grow_space=True,
    aurora_restart=True, discount_percent=75, tags_may=TagsMay.WIDEN,
)  # fmt: skip
GENEROUS_TAGS = (
    ("headroom", "auto"), ("headroom:max-iops", "64000"), ("headroom:discount-percent", "75"),
    ("team", "db"),
)  # fmt: skip


def caps(**said: Any) -> HardCaps:
    return hard_caps_of(said, "here")


def test_every_setting_that_can_be_capped_is_known_and_reads_back_from_its_text() -> None:
    assert set(EVERYTHING) == {*CAPPABLE, ACCOUNT_CAP, RESOURCE_TAG_CAP}
    found = caps(**EVERYTHING)
    assert hard_caps_of(str(found), "there") == found
    assert hard_caps_of(str(HardCaps()), "there") == HardCaps()


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("max_iops=3", "must be JSON"),
        ([1], "must be a mapping of caps"),
        ({"max_iop": 3}, "did you mean max_iops"),
        ({"cooldown": "1h"}, "unknown cap 'cooldown'"),
        ({"max_iops": "many"}, "max_iops is 'many'; it must be a whole number"),
        ({"types": ["gp4"]}, "allowed are"),
        ({"mode": "on"}, "known are off"),
        ({ACCOUNT_CAP: -1}, "USD per month"),
        ({RESOURCE_TAG_CAP: "aws:x"}, "KEY or KEY=VALUE"),
        ({RESOURCE_TAG_CAP: " "}, "KEY or KEY=VALUE"),
    ],
)
def test_bad_input_is_refused_in_one_sentence_that_names_its_place(
    said: object, problem: str
) -> None:
    with pytest.raises(PolicyError, match=r"^Context key hard_caps") as refusal:
        hard_caps_of(said, "Context key hard_caps")
    assert problem in str(refusal.value)


def test_without_caps_a_policy_stays_as_it_is_with_its_version() -> None:
    assert with_caps(default_policy(), HardCaps()) == default_policy()


@given(
    said=st.fixed_dictionaries({}, optional={n: st.just(v) for n, v in EVERYTHING.items()}),
    by_rule=st.booleans(),
    tags=st.sampled_from(((), GENEROUS_TAGS, (("headroom", "auto"), ("team", "web")))),
)
def test_no_default_rule_or_tag_exceeds_a_cap(
    said: dict[str, Any], by_rule: bool, tags: tuple[tuple[str, str], ...]
) -> None:
    found = caps(**said)
    wide = Rule(selector=Selector(), settings=(("max_iops", 256_000), ("mode", Mode.AUTO)))
    capped = with_caps(
        Policy(
            version="v", defaults=WIDE, rules=(wide,) * by_rule, account_increase_usd=Decimal(900)
        ),
        found,
    )
    effective = limits_for(capped, volume(gp3(), tags=tags))
    limits = effective.limits
    for name, cap in found.limits.items():
        assert NARROWER[name](getattr(limits, name), cap) == getattr(limits, name)
    assert capped.account_increase_usd <= Decimal(said.get(ACCOUNT_CAP, 900))
    if RESOURCE_TAG_CAP in said and ("team", "db") not in tags:
        assert limits.mode in (Mode.OFF, Mode.OBSERVE)
    uncapped = limits_for(replace(capped, caps=HardCaps()), volume(gp3(), tags=tags)).limits
    assert limits.discount_percent <= uncapped.discount_percent
    # Less of it raises less and lowers more: under give_back neither is narrower.
    assert no_wider(limits, replace(uncapped, discount_percent=limits.discount_percent))


@pytest.mark.parametrize("tags", [(), (("headroom:discount-percent", "75"),)])
@pytest.mark.parametrize(
    ("said", "most"),
    [
        ({"price_increase_usd_per_month": 20}, 0),
        ({"approve_above_usd_per_month": 20}, 0),
        ({ACCOUNT_CAP: 20}, 0),
        ({"price_increase_usd_per_month": 20, "discount_percent": 12.5}, 12.5),
        ({"discount_percent": 30}, 30),
        ({"max_iops": 9_000}, 75),
    ],
)
def test_caps_in_dollars_allow_no_discount_beyond_the_one_they_name(
    said: dict[str, Any], most: float, tags: tuple[tuple[str, str], ...]
) -> None:
    wide = policy(discount_percent=0.0 if tags else 75.0, tags_may=TagsMay.WIDEN)
    assert discount_of(with_caps(wide, caps(**said)), volume(tags=tags)) == most


def test_a_discount_buys_no_more_than_a_hard_cap_in_dollars_at_list_prices() -> None:
    cap = {"price_increase_usd_per_month": 20, ACCOUNT_CAP: 20}
    rules = with_caps(
        policy(mode=Mode.AUTO, discount_percent=75.0, relief_value_usd_per_minute=100.0),
        caps(**cap),
    )
    assert isinstance(rules, Policy)
    listed = catalogue_prices(REGION)
    paid = owner_prices(rules, volume(), listed)
    assert paid is not None
    act = decide(replace(decision_input(starved_gp3(), rules=rules), prices=paid)).answer
    assert isinstance(act, Act)
    assert listed.monthly(act.plan.target) - listed.monthly(act.plan.origin) <= 20


def test_what_a_cap_narrowed_names_it_as_its_origin() -> None:
    capped = with_caps(policy(max_iops=8_000, mode=Mode.AUTO), caps(max_iops=5_000, types=["gp3"]))
    effective = limits_for(capped, volume(gp3(), tags=()))
    assert dict(effective.origins) == {"max_iops": HARD_CAP, "types": HARD_CAP}
    assert effective.by_hard_cap == ("max_iops", "types")
    wider = with_caps(policy(max_iops=4_000), caps(max_iops=5_000))
    assert limits_for(wider, volume(gp3(), tags=())).by_hard_cap == ()


def test_caps_are_part_of_the_version_and_of_a_decisions_id() -> None:
    versions = {
        with_caps(default_policy(), caps(max_iops=iops)).version for iops in (3_000, 5_000)
    } | {default_policy().version}
    assert len(versions) == 3
    made = decision_input()
    assert isinstance(made.policy, Policy)
    under = replace(made, policy=with_caps(made.policy, caps(max_iops=99_999)))
    assert decide(under).decision_id != decide(made).decision_id


@pytest.mark.parametrize(
    ("said", "guardrail"),
    [
        ({"max_iops": 3_000}, Guardrail.MAX_IOPS),
        ({"price_increase_usd_per_month": 0}, Guardrail.PRICE_PER_RESOURCE),
        ({ACCOUNT_CAP: 0}, Guardrail.PRICE_PER_ACCOUNT),
        ({"mode": "observe"}, Guardrail.MODE),
        ({RESOURCE_TAG_CAP: "team=db"}, Guardrail.MODE),
    ],
)
def test_a_blocked_plan_names_the_cap_in_its_record(
    said: dict[str, Any], guardrail: Guardrail
) -> None:
    made = decision_input(starved_gp3())
    assert isinstance(made.policy, Policy)
    assert isinstance(decide(made).answer, Act)
    decision = decide(replace(made, policy=with_caps(made.policy, caps(**said))))
    assert not isinstance(decision.answer, Act)
    blocking = {v.guardrail: v for judged in decision.judgements for v in judged.blocking}
    assert "hard cap" in blocking[guardrail].detail


def test_no_plan_under_a_types_cap_changes_to_another_type() -> None:
    made = decision_input(starved_gp3(), rules=policy(types=(VolumeType.IO2,), mode=Mode.AUTO))
    assert isinstance(made.policy, Policy)
    decision = decide(replace(made, policy=with_caps(made.policy, caps(types=["gp3"]))))
    plan = decision.answer.plan if isinstance(decision.answer, Act) else None
    assert plan is None or plan.target.volume_type is VolumeType.GP3
