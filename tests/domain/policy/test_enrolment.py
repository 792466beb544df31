"""Silence enrols no database: what names no kind only takes permission away."""

from __future__ import annotations

from dataclasses import fields, replace
from decimal import Decimal

import pytest
from hypothesis import given

from headroom.domain.policy import (
    RDS_CEILINGS,
    CodeOwned,
    EffectiveLimits,
    Limits,
    Mode,
    Policy,
    Rule,
    Selector,
    TagsMay,
    defaults_for,
    limits_for,
)
from headroom.domain.policy.enrolment import at_most
from headroom.domain.policy.limits import TRADE_OFF_SETTINGS, no_wider
from headroom.domain.resources import Kind, Volume, VolumeType
from headroom.policy import parse_policy
from tests.builders import ref, volume
from tests.policy.test_text import DOCUMENTS

AUTO, OBSERVE = Mode.AUTO, Mode.OBSERVE


def database(*tags: tuple[str, str], kind: Kind = Kind.RDS) -> Volume:
    return volume(ref=replace(ref("orders"), kind=kind), tags=tags)


def rule(kind: Kind | None = None, **settings: object) -> Rule:
    return Rule(selector=Selector(kind=kind), settings=tuple(sorted(settings.items())))


def of(*rules: Rule, tags: tuple[tuple[str, str], ...] = (), kind: Kind = Kind.RDS,
       **defaults: object) -> EffectiveLimits:  # fmt: skip
    policy = Policy(
        version="",
        defaults=replace(Limits(), **defaults),
        rules=rules,  # type: ignore[arg-type]
    )
    return limits_for(policy, database(*tags, kind=kind))


RDS = Kind.RDS


@pytest.mark.parametrize("kind", [Kind.RDS, Kind.AURORA])
@pytest.mark.parametrize("mode", [Mode.APPROVE, Mode.AUTO])
@pytest.mark.parametrize("rules", [(), (rule(mode=AUTO),), (rule(Kind.EBS, mode=AUTO),)])
def test_no_database_is_enrolled_by_what_names_no_kind(
    kind: Kind, mode: Mode, rules: tuple[Rule, ...]
) -> None:
    found = of(*rules, mode=mode, kind=kind)
    assert (found.limits.mode, found.enrolled) == (OBSERVE, False)
    assert f"nothing that enrols it names kind: {kind.value}" in found.mode_from
    (note,) = found.notes
    assert note.endswith(f"without naming kind: {kind.value}, which allows a database nothing")


def test_a_rule_of_one_kind_of_database_is_not_for_the_other() -> None:
    assert not of(rule(RDS, mode=AUTO), kind=Kind.AURORA).enrolled


@pytest.mark.parametrize("mode", [Mode.APPROVE, Mode.AUTO])
def test_a_database_is_enrolled_by_a_rule_that_names_it_or_by_its_own_tag(mode: Mode) -> None:
    by_rule, by_tag = of(rule(RDS, mode=mode)), of(tags=(("headroom", mode.value),), mode=AUTO)
    assert (by_rule.limits.mode, by_rule.mode_from, by_rule.notes) == (mode, "rule 1", ())
    assert (by_tag.limits.mode, by_tag.mode_from, by_tag.notes) == (mode, "tag", ())


def test_where_tags_may_only_narrow_no_tag_enrols_a_database() -> None:
    assert not of(tags=(("headroom", "auto"),), mode=AUTO, tags_may=TagsMay.NARROW).enrolled


def test_what_names_no_kind_does_not_let_the_tags_of_databases_widen() -> None:
    found = of(tags=(("headroom:max-iops", "64000"),), tags_may=TagsMay.WIDEN)
    assert (found.limits.tags_may, found.limits.max_iops) == (TagsMay.ENROL, 64_000)
    found = of(tags=(("headroom:max-iops", "80000"),), tags_may=TagsMay.WIDEN)
    assert found.limits.max_iops == 64_000


@pytest.mark.parametrize(
    ("rules", "mode"),
    [
        ((rule(RDS, mode=AUTO), rule(mode=OBSERVE)), OBSERVE),
        ((rule(RDS, mode=AUTO), rule(mode=Mode.APPROVE)), Mode.APPROVE),
        ((rule(RDS, mode=OBSERVE), rule(mode=AUTO)), OBSERVE),
        ((rule(mode=Mode.OFF), rule(RDS, mode=AUTO)), AUTO),
        ((rule(RDS, max_iops=4_000), rule(mode=AUTO)), OBSERVE),
        ((rule(mode=Mode.OFF),), Mode.OFF),
    ],
)
def test_later_rules_without_a_kind_only_narrow_what_was_said_by_name(
    rules: tuple[Rule, ...], mode: Mode
) -> None:
    assert of(*rules, mode=AUTO).limits.mode is mode


@pytest.mark.parametrize(
    ("name", "wider", "narrower"),
    [
        ("max_size_gib", 65_536, 1_000),
        ("price_increase_usd", Decimal(9_000), Decimal(10)),
        ("growth", True, False),
        ("types", (VolumeType.GP3, VolumeType.IO2, VolumeType.IO1), (VolumeType.GP3,)),
        ("largest_step", 100.0, 2.0),
        ("slots_reserve", 0, 2),
        ("give_back", True, False),
        ("give_back_after_days", 0.0, 7.0),
        ("revert_wait_minutes", 0, 7 * 24 * 60),
        ("roll_back_ineffective", True, False),
        ("infrastructure_as_code", CodeOwned.ACT, CodeOwned.LEAVE),
        ("approve_above_usd", None, Decimal(5)),
    ],
)
def test_ceilings_and_money_count_for_databases_where_they_narrow(
    name: str, wider: object, narrower: object
) -> None:
    usual = 1.0 if name == "give_back_after_days" else getattr(Limits(), name)
    for said in ({name: wider}, {name: narrower}):
        by_default, by_rule = of(**said), of(rule(**said))
        kept = usual if said[name] == wider else narrower
        assert getattr(by_default.limits, name) == getattr(by_rule.limits, name) == kept
        by_name = of(rule(RDS, **said))
        assert getattr(by_name.limits, name) == said[name]
        assert by_name.notes == ()


@pytest.mark.parametrize(
    ("said", "ebs", "rds"),
    [
        ({}, 16_000, 64_000),
        ({"max_iops": 16_000}, 16_000, 16_000),
        ({"max_iops": 8_000}, 8_000, 8_000),
        ({"max_iops": 80_000}, 80_000, 64_000),
        ({"max_iops": {"ebs": 8_000}}, 8_000, 64_000),
        ({"max_iops": {"rds": 20_000}}, 16_000, 20_000),
        ({"max_iops": {"ebs": 8_000, "rds": 80_000}}, 8_000, 80_000),
    ],
)
def test_a_ceiling_of_the_defaults_is_by_kind_and_one_number_widens_none_of_databases(
    said: object, ebs: int, rds: int
) -> None:
    policy = parse_policy({"defaults": said}, source="policy")
    assert limits_for(policy, volume()).limits.max_iops == ebs
    assert limits_for(policy, database()).limits.max_iops == rds
    narrowing = replace(policy, rules=(rule(max_iops=4_000),))
    assert limits_for(narrowing, database()).limits.max_iops == 4_000
    widening = replace(policy, rules=(rule(max_iops=100_000),))
    assert limits_for(widening, database()).limits.max_iops == rds
    named = replace(policy, rules=(rule(RDS, max_iops=100_000),))
    assert limits_for(named, database()).limits.max_iops == 100_000


def test_what_was_not_followed_is_said_once_for_each_place() -> None:
    found = of(rule(max_iops=80_000), mode=AUTO, growth=True)
    assert found.notes == (
        "defaults set mode auto (it is observe), growth true (it is false) without naming kind: rds, "
        "which allows a database nothing",
        "rule 1 sets max_iops 80,000 (it is 64,000) without naming kind: rds, which allows a "
        "database nothing",
    )
    assert dict(found.origins) == {"mode": "shipped value", "growth": "shipped value"}
    settled = rule(RDS, mode=AUTO, growth=True, max_iops=80_000)
    assert of(rule(max_iops=80_000), settled, mode=AUTO, growth=True).notes == ()


@given(DOCUMENTS)
def test_whatever_a_policy_says_without_a_kind_a_database_gets_no_more_than_was_shipped(
    document: object,
) -> None:
    policy = parse_policy(document, source="policy")
    unnamed = replace(
        policy,
        rules=tuple(r for r in policy.rules if r.selector.kind is not Kind.RDS),
        rds_ceilings=RDS_CEILINGS,
    )
    limits = limits_for(unnamed, database()).limits
    valued_plans = {name: getattr(Limits(), name) for name in TRADE_OFF_SETTINGS}
    shipped = replace(Limits(), **dict(RDS_CEILINGS))  # type: ignore[arg-type]
    assert no_wider(replace(limits, **valued_plans), shipped)  # type: ignore[arg-type]
    assert limits.mode in (Mode.OFF, OBSERVE)


@given(DOCUMENTS, DOCUMENTS)
def test_a_rule_without_a_kind_widens_nothing_whatever_was_said_before(
    document: object, more: object
) -> None:
    policy = parse_policy(document, source="policy")
    added = tuple(
        replace(r, selector=Selector()) for r in parse_policy(more, source="policy").rules
    )
    before = limits_for(policy, database()).limits
    after = limits_for(replace(policy, rules=policy.rules + added), database()).limits
    for name in {f.name for f in fields(Limits)} - TRADE_OFF_SETTINGS:
        asked, got = getattr(before, name), getattr(after, name)
        assert at_most(name, asked, got) == got


@given(DOCUMENTS)
def test_volumes_are_read_as_before(document: object) -> None:
    policy = parse_policy(document, source="policy")
    seen = volume(tags=())
    limits = policy.defaults
    for one in policy.rules:
        if one.selector.matches(seen):
            limits = replace(limits, **dict(one.settings))  # type: ignore[arg-type]
    if limits.give_back_after_days is None:
        limits = replace(limits, give_back_after_days=limits.usual_days(Kind.EBS))
    assert limits_for(policy, seen).limits == limits
    assert defaults_for(Kind.EBS, policy.defaults, policy.rds_ceilings) == policy.defaults


def test_who_lets_tags_only_narrow_for_databases_has_none_enrolled_by_a_tag_of_a_stack() -> None:
    tags = (("headroom", "auto"),)
    strict = rule(RDS, tags_may=TagsMay.NARROW)
    assert not of(strict, tags=tags).enrolled
    assert of(strict, rule(RDS, mode=AUTO), tags=tags).enrolled
    seen = volume(tags=tags)
    assert limits_for(Policy(version="", rules=(strict,)), seen).enrolled
