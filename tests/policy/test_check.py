"""A policy that reads well may still say nothing: rules that never count, contradictions, nevers."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headroom.domain.policy import (
    Freeze,
    Limits,
    Policy,
    PolicyError,
    Rule,
    Selector,
    is_open,
    last_chance,
    limits_for,
    parse_window,
)
from headroom.domain.resources import EBS_TYPES, Kind, VolumeType
from headroom.policy import check, check_file, default_policy, first_problem, parse_policy
from headroom.policy.overlaps import RuleIndex, covers, sample_resource
from tests import ROOT
from tests.builders import NOW
from tests.policy.test_text import DOCUMENTS

AUTO = {"mode": "auto"}


def made(*rules: tuple[dict[str, object], dict[str, object]], **top: object) -> Policy:
    listed = [{"match": match, "set": settings} for match, settings in rules]
    return parse_policy({"rules": listed, **top}, source="policy.yaml")


def problems(policy: Policy) -> str:
    return "\n".join(check(policy).problems)


def remarks(policy: Policy) -> str:
    return "\n".join(check(policy).remarks)


@pytest.mark.parametrize("policy", [default_policy(), made(({"kind": "ebs", "type": "gp2"}, AUTO))])
def test_a_policy_that_makes_sense_has_no_problem(policy: Policy) -> None:
    assert (check(policy).problems, check(policy).remarks) == ((), ())


@pytest.mark.parametrize(
    ("first", "later"),
    [
        (({"type": "gp2"}, AUTO), ({"type": "gp2"}, {"mode": "off"})),
        (({"type": "gp2"}, AUTO), ({}, {"mode": "off", "max_iops": 8_000})),
        (({"type": "gp2"}, AUTO), ({"type": ["gp2", "gp3"]}, {"mode": "off"})),
        (({"tags": {"a": "b", "c": "d"}}, AUTO), ({"tags": {"a": "b"}}, {"mode": "off"})),
        (({"account": "123456789012", "type": "gp2"}, AUTO), ({"type": "gp2"}, {"mode": "off"})),
        (({"region": "us-east-1"}, AUTO),
         ({"region": ["us-east-1", "eu-west-1"]}, {"mode": "off"})),
        (({"kind": "ebs", "type": "gp2"}, AUTO), ({"kind": "ebs"}, {"mode": "off"})),
    ],
)  # fmt: skip
def test_a_rule_that_a_later_one_sets_again_wherever_it_matches_has_no_effect(
    first: tuple[dict[str, object], dict[str, object]],
    later: tuple[dict[str, object], dict[str, object]],
) -> None:
    assert "Rule 1 has no effect: wherever it matches, rule 2 sets" in problems(made(first, later))
    if first[0] != later[0]:
        assert "has no effect" not in problems(made(later, first))


def test_a_rule_may_be_made_void_by_several_later_ones_together() -> None:
    both = (({"type": "gp2"}, {"mode": "auto", "max_iops": 9_000}), ({}, {"mode": "off"}))
    assert "has no effect" not in problems(made(*both))
    assert "rule 2 and rule 3 set all" in problems(
        made(*both, ({"type": ["gp2"]}, {"max_iops": 8_000}))
    )


@pytest.mark.parametrize(
    "later", [{"type": "gp3"}, {"tags": {"a": "c"}}, {"account": "123456789012"}, {"type": "gp2",
              "tags": {"a": "b"}}],
)  # fmt: skip
def test_a_later_rule_for_only_some_of_the_volumes_makes_none_void(
    later: dict[str, object],
) -> None:
    policy = made(({"type": "gp2"}, AUTO), (later, {"mode": "off"}))
    assert problems(policy) == ""


def test_two_rules_for_the_same_volumes_that_disagree_contradict_each_other() -> None:
    policy = made(
        ({"type": "gp2"}, {"mode": "auto", "types": ["gp3"]}),
        ({"type": "gp2"}, {"types": ["io2", "gp3"], "growth": True}),
    )
    assert "Rules 1 and 2 match the same volumes and say types gp3 and types io2, gp3" in problems(
        policy
    )


def test_an_unknown_time_zone_is_a_problem() -> None:
    assert check(made(account={"digest": "07:00 Europe/Berlin"})).problems == ()
    (problem,) = check(made(account={"digest": "07:00 Europe/Atlantis"})).problems
    assert "names the time zone 'Europe/Atlantis'" in problem


def test_one_volume_may_not_be_allowed_more_than_the_whole_account() -> None:
    policy = made(
        ({"type": "gp2"}, {"price_increase_usd_per_month": 500}),
        defaults={"price_increase_usd_per_month": 100},
        account={"price_increase_usd_per_month": 400.5},
    )
    (problem,) = check(policy).problems
    assert problem.startswith("Rule 1 allows one volume $500 a month more")
    assert "$400.5" in problem


@pytest.mark.parametrize(
    ("match", "settings", "says"),
    [
        ({"type": "gp2"}, {"max_iops": 2_000, "types": ["gp3"]}, "gp3 begins at 3,000 IOPS"),
        ({"type": "gp2"}, {"max_throughput_mibps": 100, "types": ["gp3"]}, "gp3 begins at 125 MiB"),
        ({"type": "gp2"}, {"types": ["gp2"]}, "gp2 can only grow, and growth is false"),
        ({}, {"slots_reserve": 4}, "leaves people all of AWS's 4 changes"),
        ({"type": "gp3"}, {"max_iops": 2_000, "types": ["gp3"]}, "begins at 3,000"),
    ],
)
def test_limits_under_which_nothing_can_ever_happen_are_reported(
    match: dict[str, object], settings: dict[str, object], says: str
) -> None:
    found = problems(made((match, {**AUTO, **settings})))
    assert "Rule 1 can never allow anything: " in found
    assert says in found


@pytest.mark.parametrize(
    ("match", "settings"),
    [
        ({"type": "gp2"}, {"max_iops": 2_000}),  # io2 begins at 100
        ({"type": "gp2"}, {"types": ["gp2"], "growth": True}),
        ({"type": "io1"}, {"types": ["gp2"]}),
        ({"type": ["gp2", "io2"]}, {"types": ["gp3"], "max_iops": 2_000}),  # io2 stays io2
        ({}, {"slots_reserve": 4, "mode": "observe", "tags_may": "narrow"}),
        ({}, {"slots_reserve": 4, "tags_may": "widen"}),
    ],
)
def test_limits_under_which_something_may_happen_are_not(
    match: dict[str, object], settings: dict[str, object]
) -> None:
    assert "never" not in problems(made((match, settings)))


def test_defaults_under_which_nothing_can_happen_are_a_mistake_only_without_rules() -> None:
    strict: dict[str, object] = {"slots_reserve": 4}
    assert "The policy can never allow" in problems(made(defaults=strict))
    opened = ({"tags": {"a": "b"}}, {"slots_reserve": 1})
    assert problems(made(opened, defaults=strict)) == ""


@pytest.mark.parametrize(
    ("match", "settings", "says"),
    [
        ({}, AUTO, "matches every resource"),
        ({"type": "gp2"}, {"cooldown": "0m"}, "sets cooldown to what holds without it (0m)"),
        ({"type": "gp2"}, {"growth": False}, "sets growth to what holds without it (false)"),
        ({"tags": {"headroom": "auto"}}, {"mode": "off"}, "the tag it matches by (headroom)"),
        ({"tags": {"headroom:max-iops": "1"}}, AUTO, "a tag that is itself a setting"),
        ({"type": "gp2"}, {"give_back": False, "give_back_after_days": 7}, "give_back is false"),
        ({"type": "gp3"}, {"min_iops": 50_000}, "Rule 1 never gives back below min_iops 50,000"),
        (
            {"type": "gp3"},
            {"min_throughput_mibps": 900, "max_throughput_mibps": 500},
            "never raises above max_throughput_mibps 500",
        ),
        ({"type": "gp2"}, {"give_back": False, "min_iops": 7}, "sets min_iops, which does not"),
        (
            {"type": "gp2"},
            {"mode": "approve", "approve_above_usd_per_month": 9},
            "sets approve_above_usd_per_month, which does not count while the mode is approve",
        ),
    ],
)
def test_what_is_probably_not_meant_is_remarked_and_stops_nothing(
    match: dict[str, object], settings: dict[str, object], says: str
) -> None:
    assert says in remarks(made((match, settings)))
    assert check(made((match, settings))).problems == ()


def test_a_rule_may_restore_the_default_after_another_one() -> None:
    policy = made(({"type": "gp2"}, {"growth": True}), ({"tags": {"a": "b"}}, {"growth": False}))
    assert remarks(policy) == ""


@given(DOCUMENTS)
def test_a_rule_said_to_have_no_effect_has_none(document: object) -> None:
    policy = parse_policy(document, source="policy")
    for problem in check(policy).problems:
        if "has no effect" not in problem:
            continue
        number = int(problem.split()[1])
        rules = policy.rules[: number - 1] + policy.rules[number:]
        without = Policy(version="", defaults=policy.defaults, rules=rules)
        of_volumes = policy.rules[number - 1].selector.kind is None
        for rule in policy.rules:
            if of_volumes and rule.selector.kind not in (None, Kind.EBS):
                continue  # what names no kind is read for volumes; databases it only narrows
            for kind in rule.selector.volume_types or EBS_TYPES:
                volume = sample_resource(rule.selector, kind)
                assert limits_for(policy, volume).limits == limits_for(without, volume).limits


RDS = {"kind": "rds"}


@pytest.mark.parametrize(
    ("rules", "defaults", "says"),
    [
        ([], AUTO, "The defaults section enrols volumes and no database"),
        ([], {"mode": "approve"}, "The defaults section enrols volumes and no database"),
        ([({"type": "gp2"}, AUTO)], AUTO, "The defaults section and rule 1 enrol volumes and no"),
        ([({"type": "gp2"}, AUTO)], {}, "Rule 1 enrols volumes and no database, which takes a tag"),
        ([(RDS, {"max_iops": 9_000})], AUTO, "a rule that names kind: rds"),
        ([(RDS, AUTO)], {"max_iops": 80_000, "growth": True},
         "The defaults section widens max_iops, growth for volumes"),
        ([(RDS, AUTO), ({"type": "gp3"}, {"types": ["gp3", "io1"]})], {},
         "Rule 2 widens types for volumes"),
        ([], {"grow_space": True, "max_iops": 64_000},
         "The defaults section sets grow_space, which databases take only from a rule"),
        ([({"tags": {"a": "b"}}, {"aurora_goal": "performance"})], {},
         "Rule 1 sets aurora_goal, which databases take only from"),
    ],
)  # fmt: skip
def test_what_somebody_may_think_is_said_of_databases_is_remarked(
    rules: list[tuple[dict[str, object], dict[str, object]]], defaults: dict[str, object], says: str
) -> None:
    policy = made(*rules, defaults=defaults)
    assert says in remarks(policy)
    assert problems(policy) == ""


@pytest.mark.parametrize(
    ("rules", "defaults"),
    [
        ([(RDS, {"mode": "observe"})], AUTO),
        ([(RDS, AUTO)], AUTO),
        ([(RDS, {**AUTO, "max_iops": 64_000})], {"max_iops": 32_000}),
        ([(RDS, AUTO)], {"max_iops": 12_000}),
        ([], {"max_iops": 64_000, "growth": True}),
        ([({"tags": {"a": "b"}}, {"mode": "off"})], {}),
    ],
)
def test_who_names_databases_or_leaves_them_alone_hears_nothing_of_kinds(
    rules: list[tuple[dict[str, object], dict[str, object]]], defaults: dict[str, object]
) -> None:
    assert "database" not in remarks(made(*rules, defaults=defaults))
    assert "holds without it" not in remarks(made(*rules, defaults=defaults))


def test_a_rule_that_names_databases_is_not_made_void_by_one_that_does_not() -> None:
    assert "no effect" not in problems(made((RDS, AUTO), ({}, {"mode": "observe"})))
    assert "Rule 1 has no effect" in problems(made((RDS, AUTO), (RDS, {"mode": "off"})))


@pytest.mark.parametrize(
    ("settings", "defaults", "says"),
    [
        ({"max_iops": 9_000}, {}, "Rule 1 leaves databases max_iops 9,000, which rules out gp3"),
        ({"max_throughput_mibps": 400}, {}, "databases max_throughput_mibps 400, which rules out"),
        ({}, {"max_iops": 8_000}, "Rule 1 leaves databases max_iops 8,000"),
        ({"max_iops": 12_000, "max_throughput_mibps": 500}, {}, ""),
        ({"max_iops": 9_000, "types": ["io1"]}, {}, ""),
        ({"max_iops": 9_000, "mode": "observe"}, {}, ""),
        ({"full_copy": True}, {}, "Rule 1 sets full_copy, which does not count while growth is"),
    ],
)
def test_a_ceiling_that_rules_out_what_costs_nothing_is_remarked(
    settings: dict[str, object], defaults: dict[str, object], says: str
) -> None:
    found = remarks(made((RDS, AUTO | settings), defaults=defaults))
    assert says in found if says else "leaves databases" not in found


SELECTORS = DOCUMENTS.map(lambda d: parse_policy(d, source="p").rules).filter(bool)


@given(SELECTORS, st.data())
def test_a_selector_that_covers_another_matches_what_it_matches(
    rules: tuple[object, ...], data: st.DataObject
) -> None:
    one, other = (data.draw(st.sampled_from(rules)).selector for _ in range(2))  # type: ignore[attr-defined]
    assert covers(one, one)
    assert covers(Selector(), one)
    assume(covers(one, other))
    for kind in other.volume_types or EBS_TYPES:
        assert one.matches(sample_resource(other, kind))


@given(SELECTORS)
def test_the_index_finds_every_rule_that_matches_or_covers(rules: tuple[Rule, ...]) -> None:
    index = RuleIndex.of(Policy(version="", defaults=Limits(), rules=rules))
    for selector in (Selector(), *(rule.selector for rule in rules)):
        near = index.near(selector)
        assert list(near) == sorted(near)
        for number, rule in enumerate(rules, 1):
            matches = rule.selector.matches(sample_resource(selector, VolumeType.GP3))
            if matches or covers(rule.selector, selector):
                assert near[number] is rule


def test_a_file_that_cannot_be_read_is_one_problem_and_a_bad_one_is_all_of_its(
    tmp_path: Path,
) -> None:
    file = tmp_path / "policy.yaml"
    assert "cannot be read" in check_file(str(file)).problems[0]
    file.write_text("defaults: {max_iops: -1, growth: 'no', modes: auto}\n")
    found = check_file(str(file))
    assert found.policy is None
    assert len(found.problems) == 3
    file.write_text("defaults: {mode: auto}\n")
    assert check_file(str(file)).problems == ()


def test_the_shipped_policy_has_no_problem() -> None:
    found = check_file(str(ROOT / "policy.yaml"))
    assert (found.problems, found.remarks) == ((), ())


def test_the_first_problem_is_raised_with_where_it_stands() -> None:
    with pytest.raises(PolicyError, match=r"^policy.yaml: Rule 1 can never allow anything"):
        first_problem(made(({}, {"slots_reserve": 4})), source="policy.yaml")
    first_problem(default_policy(), source="policy.yaml")


def test_windows_that_exclude_each_other_never_allow_anything() -> None:
    windows = {"change_windows": ["Sat 00:00-24:00 UTC & Mon 00:00-24:00 UTC"]}
    text = problems(made(({"type": "gp2"}, {**AUTO, **windows})))
    assert text.startswith("Rule 1 can never allow anything: change_windows Mon 00:00-24:00 UTC & ")
    assert text.endswith("(rule 1) are never open.")
    hours = {"change_windows": ["Sun 02:15-02:45 Europe/Berlin"]}
    assert problems(made(({"type": "gp2"}, {**AUTO, **hours}))) == ""


def test_freezes_that_are_over_or_never_end_are_remarked_where_the_time_is_known(
    tmp_path: Path,
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(
        "account:\n  freezes:\n    - {from: 2025-12-20, until: 2026-01-02}\n"
        "    - {from: 2026-01-04, until: 2099-12-31}\n    - {from: 2026-03-01, until: 2026-03-02}\n"
    )
    assert check_file(str(file)).remarks == ()
    assert check_file(str(file), now=NOW).remarks == (
        "The freeze until 2026-01-03 00:00 UTC is over; take it out.",
        "The freeze until 2100-01-01 00:00 UTC lasts longer than a year; mode observe says that "
        "too.",
    )


def test_a_known_event_that_the_same_file_makes_impossible_is_remarked(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    event = "known_events:\n  - {name: ball, when: %s, for: 3h, iops: 9000}\n"

    def remarked(when: str, rest: str) -> tuple[str, ...]:
        file.write_text(event % when + rest)
        return check_file(str(file), now=NOW).remarks

    frozen = "account:\n  freezes:\n    - {from: %s, until: 2026-12-26}\n"
    night = "defaults:\n  change_windows: [Mon-Fri 09:00-10:00 UTC]\n"
    assert remarked("once 2026-12-24 20:00 UTC", frozen % "2026-12-20") == (
        "The known event 'ball' of 2026-12-24 20:00 UTC: freezes and change_windows let no change "
        "start shortly before it, so it is raised for before 2026-12-20 00:00 UTC, and paid for "
        "from then on.",
    )
    assert remarked("once 2026-12-24 20:00 UTC", frozen % "2026-12-25") == ()
    (never,) = remarked("once 2026-12-24 20:00 UTC", frozen % "2026-01-01")
    assert never.endswith("so nothing is raised for it.")
    (sundays,) = remarked("weekly Sun 08:00 UTC", night)
    assert "it is raised for before 2026-01-09 10:00 UTC" in sundays
    assert remarked("weekly Tue 09:45 UTC", night) == ()


def test_an_event_after_weeks_of_a_freeze_is_raised_for_before_it() -> None:
    saturdays = (parse_window("Sat 02:00-06:00 UTC"),)
    freeze = Freeze(begins=NOW + timedelta(days=20), until=NOW + timedelta(days=60))
    start = NOW + timedelta(days=55)
    found = last_chance(saturdays, (freeze,), start, now=NOW)
    assert found is not None
    assert freeze.begins - timedelta(days=7) < found < freeze.begins
    assert is_open(saturdays, found - timedelta(minutes=1))
    assert last_chance((), (), start, now=NOW) == start
    assert last_chance((), (Freeze(begins=NOW, until=start),), start, now=NOW) is None


def test_a_known_event_that_no_tag_and_no_mode_allows_a_raise_for_is_remarked() -> None:
    event = {"name": "ball", "when": "daily 20:00 UTC", "for": "3h", "iops": 9000}
    kept = {"mode": "observe", "tags_may": "narrow"}
    found = remarks(made(defaults=kept, known_events=[event]))
    assert "The known event 'ball' raises nothing: the mode is observe (defaults)" in found
    for other in ({**kept, "tags_may": "enrol"}, {**kept, "mode": "auto"}):
        assert "raises nothing" not in remarks(made(defaults=other, known_events=[event]))


def test_known_events_that_share_a_name_or_never_end_are_remarked(tmp_path: Path) -> None:
    ball = {"name": "ball", "when": "daily 20:00 UTC", "for": "3h", "iops": 9000}
    found = remarks(made(known_events=[ball, {**ball, "when": "daily 08:00 UTC"}]))
    assert "2 known events have the name 'ball'" in found
    file = tmp_path / "policy.yaml"
    event = "known_events:\n  - {name: ball, when: daily 20:00 UTC, for: %s, iops: 9000}\n"
    for length, says in (("24h", 0), ("25h", 1)):
        file.write_text(event % length)
        found_now = check_file(str(file), now=NOW).remarks
        assert sum("comes again before it ends" in each for each in found_now) == says


def test_a_zone_that_may_have_more_in_flight_than_the_account_is_remarked() -> None:
    found = remarks(made(account={"max_in_flight": 5, "max_in_flight_per_az": 9}))
    assert "max_in_flight allows 5 in all zones together" in found
