"""A policy of a hub is taken if it makes sense and exceeds no hard cap, and refused otherwise."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.policy import HardCaps, PolicyError, beyond_caps, hard_caps_of, limits_for
from headroom.policy import canonical_json, default_policy, parse_policy, received_policy
from tests.builders import ACCOUNT, REGION, volume


def received(document: Any, caps: Any = None) -> str:
    text = document if isinstance(document, str) else json.dumps(document)
    found = received_policy(text, hard_caps_of(caps or {}, "test"), ACCOUNT, REGION)
    return found.version


def test_without_caps_the_default_policy_is_taken_as_it_is() -> None:
    assert received(canonical_json(default_policy())) == default_policy().version


@pytest.mark.parametrize(
    ("document", "caps", "says"),
    [
        ({"defaults": {"mode": "auto"}}, {"mode": "approve"},
         "defaults: mode auto is more than the hard cap approve"),
        ({"defaults": {"max_iops": 9_000}}, {"max_iops": 8_999}, "defaults: max_iops 9000"),
        ({"defaults": {"max_iops": {"ebs": 4_000, "rds": 9_000}}}, {"max_iops": 4_000},
         "defaults of databases: max_iops 9000"),
        ({"rules": [{"match": {"tags": {"team": "a"}}, "set": {"growth": True}}]},
         {"growth": False}, "rule 1: growth True is more than the hard cap False"),
        ({"defaults": {"types": ["gp3", "io2"]}}, {"types": ["gp3"]}, "defaults: types"),
        ({"account": {"price_increase_usd_per_month": 500}},
         {"account_price_increase_usd_per_month": 400}, r"account: an increase of \$500"),
        ({}, {"max_iops": 8_000}, "defaults: max_iops 16000"),
        ("{", {}, "is not JSON"),
        ({"defaults": {"max_ipos": 1}}, {}, "max_ipos"),
        ({"rules": [{"match": {"tags": {"": "x"}}, "set": {"mode": "auto"}}]}, {}, "can never match"),
        ({"rules": [{"match": {"tags": {f"team-{n}": "x" * 60}}, "set": {"mode": "auto"}}
                    for n in range(60)]}, {}, "4,096 is the most"),
    ],
)  # fmt: skip
def test_what_is_invalid_or_too_broad_is_refused_in_one_sentence(
    document: Any, caps: Any, says: str
) -> None:
    with pytest.raises(PolicyError, match=says) as refused:
        received(document, caps)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("place", [{"account": ["222222222222"]}, {"region": ["eu-west-1"]}])
def test_rules_for_other_places_do_not_count(place: Any) -> None:
    rule = {"match": {**place, "tags": {"a": "b"}}, "set": {"max_iops": 64_000}}
    document = {"defaults": {"max_iops": 4_000}, "rules": [rule]}
    assert received(document, {"max_iops": 4_000}) == received({"defaults": {"max_iops": 4_000}})


@given(
    cap=st.integers(100, 64_000),
    default=st.integers(3_000, 64_000),
    rule=st.integers(3_000, 64_000),
)
def test_a_policy_that_is_taken_gives_no_resource_more_than_the_caps(
    cap: int, default: int, rule: int
) -> None:
    caps = HardCaps(settings=(("max_iops", cap),))
    rules = [{"match": {"type": ["gp3"]}, "set": {"max_iops": rule}}]
    policy = parse_policy({"defaults": {"max_iops": default}, "rules": rules}, source="test")
    if not list(beyond_caps(policy, caps)):
        assert limits_for(policy, volume()).limits.max_iops <= cap
