"""A policy is understood to the last key, or refused with one sentence."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.policy import FRIENDLY, Limits, Mode, PolicyError, Selector, limits_for
from headroom.domain.resources import Kind, ResourceRef, Volume, VolumeType
from headroom.policy import (
    canonical_json,
    default_policy,
    load_policy_file,
    parse_policy,
    policy_from_json,
    published,
)
from headroom.policy.document import read_policy
from tests import ROOT
from tests.builders import gp2, gp3, volume

WINDOWS = (
    "Mon-Fri 22:00-06:00 Europe/Berlin", "Sat,Sun 00:00-24:00 UTC", "Mon-Sun 01:00-05:00 UTC",
    "fri-mon 22:00-00:00 America/New_York",
)  # fmt: skip
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from(["off", "observe", "approve", "auto"]),
        "types": st.lists(
            st.sampled_from(["gp2", "gp3", "io1", "io2", "st1", "sc1"]),
            min_size=1,
            max_size=6,
            unique=True,
        ),
        "max_iops": st.integers(100, 256_000),
        "max_throughput_mibps": st.integers(1, 4_000),
        "max_size_gib": st.integers(1, 65_536),
        "growth": st.booleans(),
        "one_way": st.sampled_from(["approve", "allow", "never"]),
        "largest_step": st.floats(1, 1_000, exclude_min=True) | st.integers(2, 1_000),
        "price_increase_usd_per_month": st.integers(0, 1_000_000)
        | st.decimals(0, 1_000_000, places=2).map(float),
        "slots_reserve": st.integers(0, 4),
        "cooldown": st.integers(0, 10_080).map(lambda m: f"{m}m"),
        "headroom_percent": st.integers(0, 400),
        "discount_percent": st.floats(0, 75),
        "relief_value_usd_per_minute": st.floats(0, 1_000),
        "give_back": st.booleans(),
        "give_back_after_days": st.floats(0, 14) | st.just("usual"),
        "min_iops": st.integers(0, 256_000),
        "min_throughput_mibps": st.integers(0, 4_000),
        "latency_objective_ms": st.floats(0.1, 1_000) | st.just("none"),
        "infrastructure_as_code": st.sampled_from(["act", "notify", "leave"]),
        "revert_wait": st.integers(0, 10_080).map(lambda m: f"{m}m"),
        "grow_space": st.booleans(),
        "free_space_percent": st.integers(1, 50),
        "space_horizon_days": st.integers(2, 90),
        "tags_may": st.sampled_from(["narrow", "enrol", "widen"]),
        "aurora_goal": st.sampled_from(["cost", "performance"]),
        "aurora_margin_percent": st.floats(1, 90),
        "aurora_slow_commit_ms": st.floats(0.1, 10_000),
        "aurora_restart": st.booleans(),
        "change_windows": st.lists(st.sampled_from(WINDOWS), max_size=3) | st.sampled_from(WINDOWS),
    },
)
DEFAULTS = st.builds(
    lambda settings, by_kind: settings | by_kind,
    SETTINGS,
    st.fixed_dictionaries(
        {},
        optional={
            name: st.dictionaries(
                st.sampled_from(["ebs", "rds"]), st.integers(100, most), min_size=1
            )
            for name, most in (("max_iops", 256_000), ("max_throughput_mibps", 4_000))
        },
    ),
)
RULES = st.fixed_dictionaries(
    {
        "match": st.fixed_dictionaries(
            {},
            optional={
                "kind": st.sampled_from(["ebs", "rds", "aurora"]),
                "type": st.sampled_from(["gp2", "st1", ["io1", "standard"]]),
                "tags": st.dictionaries(
                    st.text(max_size=128), st.text(max_size=256), min_size=1, max_size=3
                ),
                "account": st.sampled_from(["123456789012", ["123456789012", "210987654321"]]),
                "region": st.sampled_from(["us-east-1", ["eu-central-1", "us-gov-west-1"]]),
            },
        ),
        "set": SETTINGS.filter(bool),
    }
)
FREEZES = st.lists(
    st.sampled_from(
        [
            {"from": "2026-12-20", "until": "2027-01-03", "reason": "year end"},
            {"from": "2026-11-27T18:00", "until": "2026-11-30", "time_zone": "America/New_York"},
            {"from": "2026-11-27T18:00:00Z", "until": "2026-11-28T06:00:00+01:00"},
        ]
    ),
    max_size=3,
)
ACCOUNTS = {
    "max_in_flight": st.integers(1, 200),
    "max_changes_per_hour": st.integers(1, 500),
    "max_in_flight_per_az": st.integers(1, 200),
    "freezes": FREEZES,
    "calendars": st.lists(
        st.sampled_from(["closed-days", "arn:aws:ssm:us-east-1:123456789012:document/Ops"]),
        unique=True,
    ),
    "regional_quotas": st.dictionaries(
        st.sampled_from(["gp3_tib", "io2_tib", "io2_iops"]), st.integers(1, 1_000_000)
    ),
}
EVENTS = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["month end", "Sunday report"]),
        "when": st.sampled_from(
            ["daily 01:30 UTC", "weekly Sat,Sun 02:00 Europe/Berlin", "monthly last 22:00 UTC",
             "monthly 28 22:00 Asia/Kolkata", "once 2026-11-27 18:00 UTC"]
        ),
        "for": st.integers(1, 10_080).map(lambda m: f"{m}m"),
        "iops": st.integers(1, 256_000),
    },
    optional={
        "throughput_mibps": st.integers(0, 4_000),
        "match": st.sampled_from([{"kind": "rds"}, {"tags": {"app": "x"}, "region": "us-east-1"}]),
    },
)  # fmt: skip
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "version": st.just(1),
        "defaults": DEFAULTS,
        "account": st.fixed_dictionaries(
            {},
            optional={
                "price_increase_usd_per_month": st.just(1234.5),
                "infrastructure_as_code_tags": st.dictionaries(
                    st.sampled_from(["managed-by", "iac", "x=y"]),
                    st.sampled_from(["terraform", ["a", "b"], [""]]),
                ),
                "group_tag": st.sampled_from(["headroom:group", "raid-set", "Headroom:Group"]),
                "messages_per_hour": st.integers(1, 1000),
                "digest": st.sampled_from(["off", False, "06:30", "23:59 Asia/Kolkata"]),
                **ACCOUNTS,
            },
        ),
        "rules": st.lists(RULES, max_size=4),
        "known_events": st.lists(EVENTS, max_size=3),
    },
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from([*FRIENDLY, "defaults", "rules", "match", "set", "tags", "type"])
            | st.text(),
            inner,
        )
    ),
    max_leaves=20,
)


@given(DOCUMENTS)
def test_the_canonical_text_reads_back_to_the_same_policy(document: object) -> None:
    policy = parse_policy(document, source="policy")
    text = canonical_json(policy)
    again = policy_from_json(text, source="canonical")
    assert again == policy
    assert canonical_json(again) == text
    assert len(policy.version) == 16


@given(DOCUMENTS, DOCUMENTS)
def test_two_policies_have_one_version_only_if_they_are_the_same(one: object, two: object) -> None:
    first, second = (parse_policy(d, source="policy") for d in (one, two))
    assert (first.version == second.version) == (first == second)


@given(ANYTHING)
def test_nonsense_is_a_policy_error_and_nothing_else(document: object) -> None:
    said = "policy.yaml"
    try:
        parse_policy(document, source="policy.yaml")
    except PolicyError as error:
        said = str(error)
    assert said.startswith("policy.yaml")
    assert "\n" not in said


def test_the_shipped_file_is_the_default_policy() -> None:
    assert load_policy_file(ROOT / "policy.yaml") == default_policy()


def test_the_default_policy_watches_everything_and_acts_on_nothing_that_is_not_tagged() -> None:
    policy = default_policy()
    assert policy.defaults == Limits()
    assert policy.defaults.mode is Mode.OBSERVE
    assert policy.defaults.types == (VolumeType.GP3, VolumeType.IO2)
    assert (policy.defaults.max_iops, policy.defaults.max_throughput_mibps) == (16_000, 1_000)
    assert (policy.defaults.largest_step, policy.defaults.growth) == (4.0, False)
    assert policy.defaults.price_increase_usd == Decimal(250)
    assert policy.account_increase_usd == Decimal(2_000)
    assert policy.messages_per_hour == 20
    assert str(policy.digest) == "07:00 UTC"
    assert policy.defaults.slots_reserve == 1
    assert policy.rules == ()


def test_an_empty_mapping_is_the_default_policy() -> None:
    assert parse_policy({}, source="policy") == default_policy()


def test_a_preset_is_only_a_way_of_writing_the_worth_of_a_minute() -> None:
    for preset, worth in (("performance", 1.0), ("balanced", 0.1), ("thrift", 0.01)):
        by_name = parse_policy({"defaults": {"preset": preset}}, source="policy")
        by_worth = parse_policy(
            {"defaults": {"relief_value_usd_per_minute": worth}}, source="policy"
        )
        assert by_name == by_worth


@pytest.mark.parametrize(
    ("written", "minutes"),
    [("30m", 30), ("2h", 120), ("1h30m", 90), ("1d", 1440), (0, 0), ("0m", 0), ("7d", 10_080)],
)
def test_a_cooldown_is_a_duration(written: object, minutes: int) -> None:
    policy = parse_policy({"defaults": {"cooldown": written}}, source="policy")
    assert policy.defaults.cooldown_minutes == minutes


EVENT = {"name": "month end", "when": "monthly 28 22:00 UTC", "for": "10h", "iops": 12_000}
REFUSED: list[tuple[object, str]] = [
    (None, "is empty"),
    ([], "is a list"),
    ("auto", "is 'auto'"),
    ({"version": 2}, "version is 2"),
    ({"version": True}, "version is the boolean true"),
    ({"default": {}}, "unknown key 'default'; did you mean defaults"),
    ({1: {}}, "unknown key 1"),
    ({"defaults": {"max_iop": 1}}, "did you mean max_iops"),
    ({"defaults": {"zzz": 1}}, "known are mode, types"),
    ({"defaults": None}, "defaults is empty"),
    ({"defaults": {"max_iops": -5}}, "defaults.max_iops is -5"),
    ({"defaults": {"max_iops": 0}}, "defaults.max_iops is 0"),
    ({"defaults": {"max_iops": 256_001}}, "from 100 to 256,000"),
    ({"defaults": {"max_iops": "16,000"}}, "written without commas"),
    ({"defaults": {"max_iops": 16000.0}}, "whole number"),
    ({"defaults": {"max_iops": True}}, "the boolean true"),
    ({"defaults": {"max_throughput_mibps": 4_001}}, "from 1 to 4,000"),
    ({"defaults": {"max_iops": {}}}, "defaults.max_iops is empty"),
    ({"defaults": {"max_iops": {"aurora": 1_000}}}, "known are ebs, rds"),
    ({"defaults": {"max_iops": {"rds": 256_001}}}, "defaults.max_iops.rds is 256001"),
    ({"rules": [{"match": {}, "set": {"max_iops": {"rds": 4_000}}}]}, "is a mapping"),
    ({"defaults": {"max_size_gib": 65_537}}, "from 1 to 65,536"),
    ({"defaults": {"growth": "false"}}, "true or false without quotes"),
    ({"defaults": {"growth": 0}}, "true or false without quotes"),
    ({"defaults": {"largest_step": 1}}, "above 1"),
    ({"defaults": {"largest_step": float("nan")}}, "is nan"),
    ({"defaults": {"largest_step": float("inf")}}, "is inf"),
    ({"defaults": {"largest_step": 10**400}}, "above 1"),
    ({"defaults": {"largest_step": "4"}}, "is '4'"),
    ({"defaults": {"price_increase_usd_per_month": -1}}, "USD per month"),
    ({"defaults": {"price_increase_usd_per_month": 0.001}}, "two decimals"),
    ({"defaults": {"price_increase_usd_per_month": float("inf")}}, "is inf"),
    ({"defaults": {"slots_reserve": 5}}, "from 0 to 4"),
    ({"defaults": {"infrastructure_as_code": "maybe"}}, "known are act, notify, leave"),
    ({"defaults": {"revert_wait": "soon"}}, "a duration such as"),
    ({"account": {"infrastructure_as_code_tags": ["terraform"]}}, "a mapping of tag keys"),
    ({"account": {"infrastructure_as_code_tags": {"iac": True}}}, "write it in quotes"),
    ({"account": {"infrastructure_as_code_tags": {"": ["x"]}}}, "a mapping of tag keys"),
    ({"account": {"group_tag": "headroom:max-iops"}}, "is not Headroom's or AWS's own"),
    ({"account": {"group_tag": ""}}, "a tag key of 1 to 128"),
    ({"defaults": {"slots_reserve": -1}}, "from 0 to 4"),
    ({"defaults": {"cooldown": 30}}, "such as 30m"),
    ({"defaults": {"cooldown": ""}}, "such as 30m"),
    ({"defaults": {"cooldown": "-5m"}}, "such as 30m"),
    ({"defaults": {"cooldown": "8d"}}, "at most 7d"),
    ({"defaults": {"cooldown": True}}, "such as 30m"),
    ({"defaults": {"cooldown": False}}, "such as 30m"),
    ({"defaults": {"headroom_percent": 401}}, "from 0 to 400"),
    ({"defaults": {"relief_value_usd_per_minute": -0.1}}, "USD per starved minute"),
    ({"defaults": {"preset": "fast"}}, "known are performance, balanced, thrift"),
    ({"defaults": {"preset": ["fast"]}}, "defaults.preset is a list"),
    (
        {"defaults": {"preset": "thrift", "relief_value_usd_per_minute": 1}},
        "both preset and relief_value_usd_per_minute",
    ),
    ({"defaults": {"mode": "on"}}, "known are off, observe, approve, auto"),
    ({"defaults": {"mode": True}}, "the boolean true"),
    ({"defaults": {"types": []}}, "is empty; name at least one of"),
    ({"defaults": {"types": "gp3"}}, "must be a list of"),
    ({"defaults": {"types": ["gp4"]}}, "names 'gp4'"),
    ({"defaults": {"types": ["gp3", "gp3"]}}, "twice"),
    ({"defaults": {"types": [["gp3"]]}}, "names a list"),
    (
        {"defaults": {"types": ["standard"]}},
        "names standard, which Headroom never changes a volume to",
    ),
    ({"account": {"price_increase_usd_per_month": "2000"}}, "account.price_increase"),
    ({"account": {"budget": 1}}, "unknown key 'budget'"),
    *(
        ({"account": {"messages_per_hour": n}}, "must be a whole number from 1 to 1,000")
        for n in (0, 1001, True, "20", 2.5, None)
    ),
    *(
        ({"account": {"digest": at}}, 'such as "07:00" or "07:00 Europe/Berlin", or off')
        for at in ("7:00", "24:00", "07:60", "07:00 ", "daily", True, None, 700, [], "07:00 ../x")
    ),
    ({"account": {"max_in_flight": 0}}, "to change nothing, set mode to observe"),
    ({"account": {"max_in_flight": 201}}, "from 1 to 200"),
    ({"account": {"max_changes_per_hour": 1.5}}, "from 1 to 500"),
    ({"account": {"max_in_flight_per_az": True}}, "the boolean true"),
    ({"account": {"freezes": {}}}, "must be a list of freezes"),
    ({"account": {"freezes": [{"from": "2026-12-20"}]}}, "has no until"),
    ({"account": {"freezes": [7]}}, "account.freezes[1] is 7"),
    ({"account": {"freezes": [{"from": "soon", "until": "later"}]}}, "a date such as 2026-12-20"),
    (
        {"account": {"freezes": [{"from": "2026-12-20", "until": "2026-12-21", "why": ""}]}},
        "unknown key 'why'",
    ),
    (
        {"account": {"freezes": [{"from": "2026-12-20", "until": "2026-12-21", "reason": 1}]}},
        "a text of at most 120",
    ),
    ({"account": {"calendars": "Ops"}}, "must be a list of calendars"),
    ({"account": {"calendars": ["a b"]}}, "Change Calendar of AWS Systems Manager"),
    ({"account": {"calendars": [f"c{n}ab" for n in range(11)]}}, "10 is the most"),
    ({"account": {"regional_quotas": []}}, "must map quotas to numbers"),
    ({"account": {"regional_quotas": {"gp3_iops": 1}}}, "known are gp2_tib"),
    ({"account": {"regional_quotas": {"io2_tib": 0}}}, "whole number of TiB"),
    ({"defaults": {"change_windows": "any"}}, "which must be days, hours and a time zone"),
    ({"defaults": {"change_windows": 7}}, "must be a list of windows"),
    ({"defaults": {"change_windows": [7]}}, "write it in quotes"),
    ({"defaults": {"change_windows": ["Mon 22:00-23:00"]}}, "days, hours and a time zone"),
    ({"known_events": {}}, "a list of at most 20 events"),
    ({"known_events": [7]}, "known_events[1] is 7"),
    ({"known_events": [{**EVENT, "until": 1}]}, "unknown key 'until'"),
    ({"known_events": [{**EVENT, "name": ""}]}, "a text of at most 60"),
    ({"known_events": [{**EVENT, "when": "sometimes"}]}, "monthly 28 22:00 Europe/Berlin"),
    ({"known_events": [{**EVENT, "when": 7}]}, "monthly 28 22:00 Europe/Berlin"),
    ({"known_events": [{**EVENT, "for": "0m"}]}, "is nothing"),
    ({"known_events": [{**EVENT, "for": "8d"}]}, "at most 7d"),
    ({"known_events": [{**EVENT, "iops": 0}]}, "needs iops or throughput_mibps"),
    ({"known_events": [{**EVENT, "iops": 256_001}]}, "known_events[1].iops is 256001"),
    ({"known_events": [{**EVENT, "match": {"kind": "efs"}}]}, "known are ebs, rds, aurora"),
    ({"known_events": [{"name": "x", "iops": 9}]}, "has no when"),
    ({"rules": {}}, "must be a list of rules"),
    ({"rules": [{}]}, "rules[1] has no match"),
    ({"rules": [{"match": {}}]}, "rules[1] sets nothing"),
    ({"rules": [{"match": {}, "set": {}}]}, "rules[1] sets nothing"),
    ({"rules": [{"match": {}, "set": {"mode": "auto"}}, 7]}, "rules[2] is 7"),
    (
        {"rules": [{"match": {"kind": "neptune"}, "set": {"mode": "off"}}]},
        "known are ebs, rds, aurora",
    ),
    ({"rules": [{"match": {"kind": []}, "set": {"mode": "off"}}]}, "rules[1].match.kind"),
    ({"rules": [{"match": {"type": "gp9"}, "set": {"mode": "off"}}]}, "names 'gp9'"),
    ({"rules": [{"match": {"type": []}, "set": {"mode": "off"}}]}, "empty list"),
    ({"rules": [{"match": {"tags": {"a": 1}}, "set": {"mode": "off"}}]}, "in quotes"),
    ({"rules": [{"match": {"tags": {"a": True}}, "set": {"mode": "off"}}]}, "in quotes"),
    ({"rules": [{"match": {"tags": {}}, "set": {"mode": "off"}}]}, "map tag keys to values"),
    ({"rules": [{"match": {}, "set": {"max_iops": -1}}]}, "rules[1].set.max_iops"),
    ({"rules": [{"match": {"account": 123456789012}, "set": {"mode": "off"}}]}, "in quotes"),
    ({"rules": [{"match": {"account": "12345"}, "set": {"mode": "off"}}]}, "12 digits"),
    ({"rules": [{"match": {"account": []}, "set": {"mode": "off"}}]}, "match every account"),
    ({"rules": [{"match": {"region": "Virginia"}, "set": {"mode": "off"}}]}, "such as us-east-1"),
    ({"rules": [{"match": {"region": ["us-east-1", 7]}, "set": {"mode": "off"}}]}, "names 7"),
    ({"defaults": {"tags_may": "all"}}, "known are narrow, enrol, widen"),
    ({"defaults": {"tags_may": True}}, "the boolean true"),
]


MEANT = (
    ({"defaults": {"change_windows": ["Mon 22:00-22:00 UTC"]}}, "a whole day is 00:00-24:00"),
    ({"defaults": {"change_windows": ["Mon 24:00-23:00 UTC"]}}, "begins at 24:00"),
    ({"defaults": {"change_windows": ["Mon 22:00-25:00 UTC"]}}, "hours that no day has"),
    ({"defaults": {"change_windows": ["Mon 22:00-23:60 UTC"]}}, "hours that no day has"),
    ({"defaults": {"change_windows": ["Mon-Fry 22:00-23:00 UTC"]}}, "names no day of the week"),
    ({"defaults": {"change_windows": ["Mon 22:00-23:00 Europe/Berlyn"]}}, "no time zone there is"),
    ({"defaults": {"change_windows": ["Mon 22:00-23:00 EST"]}}, "no time zone there is"),
    (
        {"defaults": {"change_windows": ["Mon 22:00-23:00 right/Europe/Berlin"]}},
        "no time zone there is",
    ),
    ({"account": {"freezes": [{"from": "2026-12-20", "until": "2026-12-18"}]}}, "ends before"),
    (
        {"account": {"freezes": [{"from": "2026-02-30", "until": "2026-03-02"}]}},
        "account.freezes[1].from is '2026-02-30'",
    ),
    (
        {"account": {"freezes": [{"from": "2026-12-20", "until": "2026-12-21", "time_zone": "X"}]}},
        "names no time zone there is",
    ),
)
"""What fits the schema and still means nothing."""


@pytest.mark.parametrize(("document", "says"), MEANT)
def test_windows_and_freezes_that_mean_nothing_are_refused(document: object, says: str) -> None:
    with pytest.raises(PolicyError) as refusal:
        parse_policy(document, source="policy.yaml")
    assert says in str(refusal.value)


@pytest.mark.parametrize(("document", "says"), REFUSED)
def test_nonsense_is_refused_with_the_place_and_what_it_must_be(
    document: object, says: str
) -> None:
    with pytest.raises(PolicyError) as refusal:
        parse_policy(document, source="policy.yaml")
    assert says in str(refusal.value)


def test_an_unquoted_off_is_the_mode_though_yaml_reads_it_as_false(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("defaults: {mode: off}\n")
    assert load_policy_file(file).defaults.mode is Mode.OFF


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("defaults: {max_iops: 5000, max_iops: 6000}", "'max_iops' twice"),
        ("defaults:\n  growth: true\ndefaults: {}", "'defaults' twice (line 3)"),
        ("defaults: {max_iops: 2026-01-05}", "is the date 2026-01-05"),
        ("defaults: {max_iops: 016000}", "has 016000 (line 1), which YAML reads as octal"),
        ("version: 1\naccount: {price_increase_usd_per_month: 0100}", "has 0100 (line 2)"),
        ("rules: [{match: {account: 012345671234}, set: {mode: auto}}]", "or a name in quotes"),
        ("defaults: {types: []}", "is empty; name at least one of"),
        ("defaults: [", "is not valid YAML"),
        ("defaults: !!python/object/apply:os.getcwd []", "is not valid YAML"),
        ("? [a]\n: 1", "is not valid YAML"),
        ("defaults: {largest_step: .inf}", "is inf"),
        ("defaults: {largest_step: .nan}", "is nan"),
        ("a: &a [*a]", "is not valid YAML"),
        ("defaults: 2026-99-99", "is not valid YAML: month must be in 1..12"),
    ],
)
def test_a_file_that_is_no_policy_is_refused_in_one_line(
    tmp_path: Path, text: str, says: str
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(text)
    with pytest.raises(PolicyError) as refusal:
        load_policy_file(file)
    assert says in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot be read"):
        load_policy_file(tmp_path / "none.yaml")
    with pytest.raises(PolicyError, match="cannot be read"):
        load_policy_file(tmp_path)
    binary = tmp_path / "policy.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PolicyError, match="UTF-8"):
        load_policy_file(binary)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ('{"defaults": {"growth": false, "growth": true}}', "growth is given twice"),
        ('{"defaults": {"largest_step": NaN}}', "is nan"),
        ('{"defaults": {"largest_step": 1e999}}', "is inf"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_a_published_policy_that_was_tampered_with_is_refused(text: str, says: str) -> None:
    with pytest.raises(PolicyError) as refusal:
        policy_from_json(text, source="SSM parameter /headroom/policy")
    assert says in str(refusal.value)


def test_the_canonical_text_pins_every_default() -> None:
    document = json.loads(canonical_json(default_policy()))
    assert set(document["defaults"]) == set(FRIENDLY)


def test_every_problem_of_a_policy_is_found_at_once() -> None:
    document = {
        "defaults": {"max_iops": -1, "growht": True},
        "account": {"price_increase_usd_per_month": "much"},
        "rules": [{"match": {"type": "gp9"}, "set": {"mode": "on"}}, 7],
    }
    _, problems = read_policy(document, source="policy.yaml")
    assert [str(problem).split(" ")[1] for problem in problems] == [
        "defaults", "defaults.max_iops", "account.price_increase_usd_per_month",
        "rules[1].match.type", "rules[1].set.mode", "rules[2]",
    ]  # fmt: skip


VOLUMES = st.builds(
    lambda kind, tags, account, region: volume(
        gp2() if kind == "gp2" else gp3(),
        tags=tuple(tags.items()),
        ref=ResourceRef(kind=Kind.EBS, account_id=account, region=region, resource_id="vol-1"),
    ),
    st.sampled_from(["gp2", "gp3"]),
    st.dictionaries(st.sampled_from(["a", "headroom"]), st.sampled_from(["b", "auto"])),
    st.sampled_from(["123456789012", "210987654321", "111111111111"]),
    st.sampled_from(["us-east-1", "eu-central-1", "us-gov-west-1"]),
)


@given(DOCUMENTS, VOLUMES, st.booleans(), st.booleans())
def test_what_is_published_for_a_place_sets_the_same_limits_there(
    document: object, vol: Volume, account_known: bool, region_known: bool
) -> None:
    policy = parse_policy(document, source="policy")
    here = published(
        policy,
        vol.ref.account_id if account_known else None,
        vol.ref.region if region_known else None,
    )
    assert limits_for(here, vol).limits == limits_for(policy, vol).limits
    assert policy_from_json(canonical_json(here), source="published") == here
    assert len(here.rules) <= len(policy.rules)


def test_what_is_published_says_nothing_of_other_places() -> None:
    rules = [
        {"match": {"account": "123456789012", "region": "us-east-1"}, "set": {"mode": "auto"}},
        {"match": {"account": "210987654321"}, "set": {"mode": "off"}},
        {"match": {"region": "eu-central-1"}, "set": {"max_iops": 5_000}},
    ]
    policy = parse_policy({"rules": rules}, source="policy")
    here = published(policy, "123456789012", "us-east-1")
    assert [rule.selector for rule in here.rules] == [Selector()]
    assert len(published(policy, None, "us-east-1").rules) == 2
    assert published(policy, None, None) == policy
    assert here.version != policy.version
