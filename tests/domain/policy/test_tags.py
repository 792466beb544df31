"""What `headroom:*` tags on a volume do to the limits of the policy."""

from __future__ import annotations

from dataclasses import fields, replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.policy import (
    FRIENDLY,
    PRESETS,
    EffectiveLimits,
    Limits,
    Mode,
    OneWay,
    Policy,
    TagsMay,
    limits_for,
)
from headroom.domain.policy.limits import NARROWER, TRADE_OFF_SETTINGS, narrower, no_wider
from headroom.domain.policy.tags import BY_TAG, key_of, tag_settings
from headroom.domain.resources import VolumeType
from headroom.policy import parse_policy
from tests.builders import gp2, gp3, policy, volume
from tests.policy.test_text import DOCUMENTS, WINDOWS

TEXTS = {
    "mode": st.sampled_from(["off", "observe", "approve", "auto", " AUTO "]),
    "types": st.lists(
        st.sampled_from(["gp2", "gp3", "io1", "io2", "st1", "sc1"]), min_size=1, unique=True
    ).map(" ".join),
    "max_iops": st.integers(100, 256_000).map(str),
    "max_throughput_mibps": st.integers(1, 4_000).map(str),
    "max_size_gib": st.integers(1, 65_536).map(str),
    "growth": st.sampled_from(["true", "false"]),
    "full_copy": st.sampled_from(["true", "false"]),
    "one_way": st.sampled_from(["approve", "allow", "never"]),
    "largest_step": st.sampled_from(["1.5", "2", "4", "1000"]),
    "price_increase_usd_per_month": st.integers(0, 1_000_000).map(str),
    "slots_reserve": st.integers(0, 4).map(str),
    "cooldown": st.integers(0, 10_080).map(lambda m: f"{m}m"),
    "headroom_percent": st.integers(0, 400).map(str),
    "discount_percent": st.sampled_from(["0", "12.5", "75"]),
    "relief_value_usd_per_minute": st.sampled_from(["0", "0.01", "0.5", "1000"]),
    "give_back": st.sampled_from(["true", "false"]),
    "give_back_after_days": st.sampled_from(["0", "0.5", "1", "7", "14", "usual"]),
    "min_iops": st.integers(0, 256_000).map(str),
    "min_throughput_mibps": st.integers(0, 4_000).map(str),
    "latency_objective_ms": st.sampled_from(["none", "0.5", "10"]),
    "infrastructure_as_code": st.sampled_from(["act", "notify", "leave"]),
    "revert_wait": st.integers(0, 10_080).map(lambda m: f"{m}m"),
    "approve_above_usd_per_month": st.sampled_from(["never", "0", "12.5", "1000"]),
    "approval_expires": st.integers(1, 10_080).map(lambda m: f"{m}m"),
    "roll_back_ineffective": st.sampled_from(["true", "false"]),
    "grow_space": st.sampled_from(["true", "false"]),
    "free_space_percent": st.integers(1, 50).map(str),
    "space_horizon_days": st.integers(2, 90).map(str),
    "aurora_goal": st.sampled_from(["cost", "performance"]),
    "aurora_margin_percent": st.sampled_from(["1", "10", "25.5", "90"]),
    "aurora_slow_commit_ms": st.sampled_from(["0.1", "10", "250"]),
    "aurora_restart": st.sampled_from(["true", "false"]),
    "change_windows": st.lists(st.sampled_from(WINDOWS), min_size=1, max_size=2).map("; ".join),
}
NOISE = st.sampled_from(["Name", "team", "headroom:max-iop", "headroom:group", "headroom-auto"])
TAGS = st.builds(
    lambda own, other: tuple({**own, **other}.items()),
    st.fixed_dictionaries({}, optional={key_of(name): text for name, text in TEXTS.items()})
    | st.fixed_dictionaries({}, optional={"headroom": TEXTS["mode"]}),
    st.dictionaries(NOISE, st.sampled_from(["", "auto", "8000"]), max_size=1),
)


def limits(tags: dict[str, str], rules: Policy | None = None) -> EffectiveLimits:
    return limits_for(rules or policy(), volume(tags=tuple(tags.items())))


def test_every_setting_but_what_tags_may_do_has_a_tag_and_a_narrower_side() -> None:
    assert set(TEXTS) == set(BY_TAG) == set(FRIENDLY) - {"tags_may"}
    assert set(NARROWER) == {field.name for field in fields(Limits)} - {"tags_may"}


@pytest.mark.parametrize("tags_may", list(TagsMay))
@pytest.mark.parametrize(
    ("key", "text", "field", "narrow", "wide_text"),
    [
        ("headroom:max-iops", "8000", "max_iops", 8_000, "32000"),
        ("headroom:max_throughput_mibps", "250", "max_throughput_mibps", 250, "2000"),
        ("Headroom:Max-Size-GiB", " 500 ", "max_size_gib", 500, "65536"),
        ("headroom:largest-step", "1.5", "largest_step", 1.5, "10"),
        ("headroom:price-increase-usd-per-month", "12.50", "price_increase_usd",
         Decimal("12.5"), "251"),
        ("headroom:slots-reserve", "3", "slots_reserve", 3, "0"),
        ("headroom:cooldown", "6h", "cooldown_minutes", 360, None),
        ("headroom:give-back", "False", "give_back", False, None),
        ("headroom:give-back-after-days", "7", "give_back_after_days", 7.0, "0"),
        ("headroom:min-iops", "6000", "min_iops", 6_000, "2000"),
        ("headroom:min-throughput-mibps", "250", "min_throughput_mibps", 250, "125"),
        ("headroom:approve-above-usd-per-month", "12.50", "approve_above_usd", Decimal("12.5"),
         None),
        ("headroom:approval-expires", "2h", "approval_expires_minutes", 120, "1d"),
        ("headroom:roll-back-ineffective", "false", "roll_back_ineffective", False, "true"),
        ("headroom:one-way", "never", "one_way", OneWay.NEVER, "allow"),
        ("headroom:types", "io2", "types", (VolumeType.IO2,), "io1"),
        ("headroom:growth", "false", "growth", False, "true"),
    ],
)  # fmt: skip
def test_a_tag_tightens_a_limit_and_widens_it_only_where_tags_may(
    tags_may: TagsMay, key: str, text: str, field: str, narrow: object, wide_text: str | None
) -> None:
    rules = policy(
        tags_may=tags_may, min_iops=3_000, min_throughput_mibps=200, give_back_after_days=1.0
    )
    tight = limits({key: text}, rules)
    assert getattr(tight.limits, field) == narrow
    assert (field, f"tag {key}") in tight.origins
    assert (tight.problem, tight.notes) == (None, ())
    if wide_text is None:
        return
    asked = limits({key: wide_text}, rules)
    if tags_may is TagsMay.WIDEN:
        assert getattr(asked.limits, field) != getattr(rules.defaults, field)
        assert not no_wider(asked.limits, rules.defaults)
    elif field == "types":
        assert asked.problem is not None  # nothing would be left, which is no limit but a mistake
    else:
        assert getattr(asked.limits, field) == getattr(rules.defaults, field)
        (note,) = asked.notes
        assert key in note


@pytest.mark.parametrize("tags_may", list(TagsMay))
@pytest.mark.parametrize("no_giving_back", ["policy", "tag", None])
@pytest.mark.parametrize(
    ("key", "less", "more", "field", "smaller"),
    [
        ("headroom:headroom-percent", "0", "50", "headroom_percent", 0),
        ("headroom:relief-value-usd-per-minute", "0.05", "1", "relief_value_usd_per_minute", 0.05),
        ("headroom:preset", "thrift", "performance", "relief_value_usd_per_minute", 0.01),
    ],
)
def test_what_would_also_lower_more_is_a_tags_to_change_only_where_nothing_is_lowered(
    tags_may: TagsMay, no_giving_back: str | None, key: str, less: str, more: str, field: str,
    smaller: float,
) -> None:  # fmt: skip
    rules = policy(tags_may=tags_may, give_back=no_giving_back != "policy")
    other = {"headroom:give-back": "false"} if no_giving_back == "tag" else {}
    usual = getattr(rules.defaults, field)
    lower, higher = (limits({key: text, **other}, rules) for text in (less, more))
    if tags_may is TagsMay.WIDEN:
        assert getattr(lower.limits, field) == smaller
        assert getattr(higher.limits, field) > usual
        assert not no_wider(higher.limits, rules.defaults)
        return
    assert getattr(lower.limits, field) == (usual if no_giving_back is None else smaller)
    assert getattr(higher.limits, field) == usual
    assert len(higher.notes) == 1
    assert len(lower.notes) == (no_giving_back is None)
    assert no_wider(lower.limits, rules.defaults)


@pytest.mark.parametrize("field", sorted(TRADE_OFF_SETTINGS))
def test_less_of_what_is_valued_is_wider_wherever_something_may_be_lowered(field: str) -> None:
    usual = Limits(discount_percent=10)
    less = replace(usual, **{field: getattr(usual, field) / 2})
    assert not no_wider(less, usual)
    assert no_wider(replace(less, give_back=False), usual)
    assert not no_wider(usual, replace(less, give_back=False))


@pytest.mark.parametrize(
    ("tags_may", "mode", "tag", "then"),
    [
        (TagsMay.ENROL, Mode.OBSERVE, "auto", Mode.AUTO),
        (TagsMay.ENROL, Mode.OFF, "auto", Mode.AUTO),
        (TagsMay.ENROL, Mode.AUTO, "off", Mode.OFF),
        (TagsMay.NARROW, Mode.OBSERVE, "auto", Mode.OBSERVE),
        (TagsMay.NARROW, Mode.AUTO, "approve", Mode.APPROVE),
        (TagsMay.NARROW, Mode.OFF, "observe", Mode.OFF),
        (TagsMay.WIDEN, Mode.OFF, "auto", Mode.AUTO),
    ],
)
def test_the_mode_is_the_tags_to_choose_unless_tags_may_only_narrow(
    tags_may: TagsMay, mode: Mode, tag: str, then: Mode
) -> None:
    for key in ("headroom", "headroom:mode", "HEADROOM"):
        assert limits({key: tag}, policy(mode=mode, tags_may=tags_may)).limits.mode is then


def test_part_of_a_list_of_types_is_followed_and_the_rest_is_reported() -> None:
    found = limits({"headroom:types": "io1,gp3"})
    assert found.limits.types == (VolumeType.GP3,)
    assert found.notes == (
        "tag headroom:types asks for io1, gp3 where the policy allows gp3, io2; tags may enrol "
        "only, so it is gp3",
    )


@pytest.mark.parametrize(
    ("tags", "says"),
    [
        ({"headroom": "on"}, "headroom is 'on'; known are off, observe, approve, auto"),
        ({"headroom": ""}, "headroom is ''"),
        ({"headroom:max-iops": "many"}, "headroom:max-iops is 'many'; it must be a whole number"),
        ({"headroom:max-iops": "8,000"}, "headroom:max-iops is '8,000'"),
        ({"headroom:max-iops": "-1"}, "is '-1'"),
        ({"headroom:max-iops": "300000"}, "is 300000"),
        ({"headroom:max-iops": "٣٠٠٠"}, "whole number"),
        ({"headroom:max-iop": "8000"}, "did you mean headroom:max-iops"),
        ({"headroom:zzz": "1"}, "docs/policy.md"),
        ({"headroom:tags-may": "widen"}, "unknown key"),
        ({"headroom:": "1"}, "unknown key"),
        ({"headroom:growth": "yes"}, "true or false"),
        ({"headroom:types": "gp4"}, "names 'gp4'"),
        ({"headroom:types": ""}, "is empty"),
        ({"headroom:types": "io1"}, "leaves none of the types"),
        ({"headroom:cooldown": "soon"}, "such as 30m"),
        ({"headroom:preset": "fast"}, "known are performance"),
        ({"headroom": "auto", "headroom:mode": "observe"}, "different things"),
        ({"headroom:max-iops": "8000", "headroom:Max_IOPS": "9000"}, "different things"),
        ({"headroom:preset": "thrift", "headroom:relief-value-usd-per-minute": "1"}, "different"),
    ],
)
def test_a_tag_nobody_understands_stops_everything(tags: dict[str, str], says: str) -> None:
    found = limits({"headroom": "auto"} | tags, policy(max_iops=5_000))
    assert says in (found.problem or "")
    assert "\n" not in (found.problem or "")
    assert found.limits.mode is Mode.OBSERVE
    assert not found.enrolled
    assert found.kept_out is (tags.get("headroom", "auto") == "auto")
    assert found.limits.max_iops == 5_000


def test_two_tags_that_agree_are_one() -> None:
    found = limits({"headroom": "auto", "headroom:mode": "Auto"})
    assert (found.limits.mode, found.problem) == (Mode.AUTO, None)


def test_other_peoples_tags_are_nobodys_business() -> None:
    assert (
        tag_settings((("Name", "headroom"), ("headroom-auto", "x"), ("my:headroom:max-iops", "1")))
        == ()
    )


def test_where_each_limit_came_from_is_reported() -> None:
    rules = parse_policy(
        {
            "rules": [
                {"match": {"type": "gp3"}, "set": {"max_iops": 9_000, "cooldown": "1h"}},
                {"match": {"tags": {"a": "b"}}, "set": {"max_iops": 8_000, "growth": True}},
            ]
        },
        source="policy",
    )
    found = limits({"a": "b", "headroom": "auto", "headroom:cooldown": "2h"}, rules)
    assert dict(found.origins) == {
        "max_iops": "rule 2", "growth": "rule 2", "cooldown_minutes": "tag headroom:cooldown",
        "mode": "tag headroom",
    }  # fmt: skip
    assert found.mode_from == "tag"


@settings(max_examples=300)
@given(DOCUMENTS, TAGS, st.sampled_from([gp2(), gp3()]), st.booleans())
def test_no_tag_ever_widens_a_limit_that_the_owner_does_not_let_it_widen(
    document: object, tags: tuple[tuple[str, str], ...], configuration: object, matched: bool
) -> None:
    """The law of tags, over random policies, rules and tags, sense and nonsense."""
    rules = parse_policy(document, source="policy")
    plain = rules.rules[0].selector.tags if matched and rules.rules else ()
    before = limits_for(rules, volume(configuration, tags=plain))  # type: ignore[arg-type]
    after = limits_for(rules, volume(configuration, tags=(*plain, *tags)))  # type: ignore[arg-type]
    if before.problem is not None or any(key.lower().startswith("headroom") for key, _ in plain):
        return
    assert after.limits.tags_may is before.limits.tags_may
    if after.problem is not None:
        assert not after.enrolled
        assert no_wider(after.limits, before.limits)
    elif before.limits.tags_may is TagsMay.NARROW:
        assert no_wider(after.limits, before.limits)
    elif before.limits.tags_may is TagsMay.ENROL:
        assert no_wider(replace(after.limits, mode=before.limits.mode), before.limits)


@given(st.sampled_from(sorted(TEXTS)), st.data())
def test_what_a_tag_says_is_what_a_policy_would_have_said(name: str, data: st.DataObject) -> None:
    text = data.draw(TEXTS[name])
    found = limits({key_of(name): text}, policy(tags_may=TagsMay.WIDEN)).limits
    plain = text.strip().lower()
    written: object = {"types": plain.split(), "growth": plain == "true", "full_copy": plain == "true",
                       "give_back": plain == "true",
                       "grow_space": plain == "true", "aurora_restart": plain == "true",
                       "roll_back_ineffective": plain == "true"}.get(name, plain)  # fmt: skip
    words = ("types", "growth", "full_copy", "give_back", "mode", "cooldown", "infrastructure_as_code",
             "revert_wait", "approval_expires", "roll_back_ineffective", "grow_space",
             "aurora_goal", "aurora_restart", "one_way")  # fmt: skip
    if name == "change_windows":
        written = text.split("; ")
    elif name not in words and plain not in ("never", "none", "usual"):
        written = float(plain) if "." in plain else int(plain)
    rules = parse_policy({"defaults": {name: written}}, source="policy")
    asked = limits_for(rules, volume(tags=())).limits
    assert getattr(found, FRIENDLY[name].name) == getattr(asked, FRIENDLY[name].name)


def test_a_preset_by_tag_is_worth_what_it_is_in_a_policy() -> None:
    for preset, worth in PRESETS.items():
        found = limits({"headroom:preset": preset}, policy(tags_may=TagsMay.WIDEN))
        assert found.limits.relief_value_usd_per_minute == worth


@given(st.sampled_from(sorted(NARROWER)), st.data())
def test_the_narrower_of_two_is_one_that_neither_is_narrower_than(
    field: str, data: st.DataObject
) -> None:
    settings_of = DOCUMENTS.map(lambda d: parse_policy(d, source="policy").defaults)
    one, other = (data.draw(settings_of) for _ in range(2))
    gives = one.give_back and other.give_back
    least = narrower(field, getattr(one, field), getattr(other, field), give_back=gives)
    both = replace(one, **{"give_back": gives, field: least})
    assert no_wider(both, one)
    if field != "types":
        assert least in (getattr(one, field), getattr(other, field))
    assert narrower(field, least, getattr(other, field), give_back=gives) == least


def test_the_usual_wait_may_be_asked_for_by_tag_and_is_a_number_in_force() -> None:
    rules = policy(tags_may=TagsMay.WIDEN, give_back_after_days=7.0)
    assert (
        limits({"headroom:give-back-after-days": "usual"}, rules).limits.give_back_after_days == 1.0
    )
    cheap = policy(tags_may=TagsMay.WIDEN, relief_value_usd_per_minute=0.01)
    assert limits({}, cheap).limits.give_back_after_days == 0.25
