"""The audit after a simulation finds every limit that was broken, by its own arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from headroom.domain.resources import Configuration
from headroom.proving.scenarios import Scenario, parse_scenario
from headroom.proving.simulation import Change, violations
from tests.proving.build import T0, configuration, gp2, gp3

HOUR = timedelta(hours=1)


def scenario(
    policy: dict[str, object] | None = None,
    tag: str = "auto",
    rules: Sequence[object] = (),
    **more: object,
) -> Scenario:
    document: dict[str, object] = {
        "resource": {"type": "gp3", "size_gib": 100, "tags": {"headroom": tag}},
        "workload": {"steps": [{"for": "2d", "iops": 1, "io_kib": 4}]},
        "policy": {"defaults": policy or {}, "rules": list(rules)},
    }
    return parse_scenario(document | more, source="case", base=Path())


def change(target: Configuration, origin: Configuration | None = None, at: datetime = T0) -> Change:
    return Change(at=at, origin=origin or gp3(), target=target, decision_id="d", reason="starved")


def broken(
    case: Scenario, *changes: Change, starts: Sequence[datetime] | None = None
) -> tuple[str, ...]:
    return violations(
        changes, starts or [c.at for c in changes], since=case.start, resource=case.resource,
        aws=case.aws, policy=case.policy,
    )  # fmt: skip


def test_a_change_within_every_limit_breaks_none() -> None:
    assert broken(scenario(), change(gp3(100, 12_000, 500))) == ()
    by_word = scenario({"one_way": "allow"})
    assert broken(by_word, change(configuration("io2", 100, 3_500))) == ()


@pytest.mark.parametrize(
    ("policy", "origin", "target", "words"),
    [
        ({}, gp3(), gp3(100, 16_001, 125), "IOPS are above 16000"),
        ({}, gp3(500, 6_000, 1_000), gp3(500, 6_000, 1_001), "MiB/s are above 1000"),
        ({}, gp3(), gp3(100, 12_001, 125), "more than 4-fold"),
        ({}, gp3(), gp3(100, 3_000, 501), "over 4-fold"),
        ({"largest_step": 2}, gp3(), gp3(100, 6_001, 125), "more than 2-fold"),
        ({}, gp3(), gp3(101), "grew, which is not allowed"),
        ({"growth": True, "max_size_gib": 200}, gp3(), gp3(201), "size is above 200 GiB"),
        ({}, gp3(), gp3(99), "the size shrank"),
        ({}, gp3(), configuration("io1", 100, 3_000), "io1 is not allowed"),
        ({}, gp3(500), configuration("st1", 500), "st1 is not allowed"),
        ({}, gp3(), configuration("io2", 100, 9_000), "above the price at enrolment"),
        ({"price_increase_usd_per_month": 10}, gp3(), gp3(100, 6_000, 125), "over $10"),
        ({}, gp3(), configuration("io2", 100, 3_500), "nobody was asked"),
        ({}, gp3(), gp3(), "changes nothing"),
        ({}, gp3(), gp3(1, 3_000, 900), "MiB/s, not 900"),
    ],
)
def test_every_broken_limit_is_named(
    policy: dict[str, object], origin: Configuration, target: Configuration, words: str
) -> None:
    assert any(words in found for found in broken(scenario(policy), change(target, origin)))


def test_only_auto_may_act_and_the_tag_is_the_last_word() -> None:
    found = broken(scenario({"mode": "auto"}, tag="observe"), change(gp3(100, 6_000, 125)))
    assert any("the mode is observe" in one for one in found)


def test_a_rule_for_the_type_and_tag_counts() -> None:
    rule = {"match": {"tags": {"headroom": "auto"}}, "set": {"max_iops": 5_000}}
    case = scenario(rules=[rule])
    assert any("above 5000" in one for one in broken(case, change(gp3(100, 6_000, 125))))


def test_slots_count_all_modifications_and_keep_the_reserve() -> None:
    starts = [T0 - 20 * HOUR, T0 - 10 * HOUR, T0 - 5 * HOUR, T0]
    target = change(gp3(100, 6_000, 125))
    assert any("4 modifications in 24 h" in x for x in broken(scenario(), target, starts=starts))
    assert broken(scenario(), target, starts=[T0 - 24 * HOUR, *starts[1:]]) == ()


def test_past_changes_the_ledger_could_not_know_are_not_held_against_it() -> None:
    past = [T0 - 20 * HOUR, T0 - 10 * HOUR, T0 - 5 * HOUR]
    aws = {"modified_at": [p.isoformat() for p in past], "known_to_ledger": False}
    target = change(gp3(100, 6_000, 125))
    assert broken(scenario(aws=aws), target, starts=[*past, T0]) == ()


def test_the_cooldown_is_kept() -> None:
    case = scenario({"cooldown": "3h"})
    first = change(gp3(100, 4_000, 125))
    second = change(gp3(100, 5_000, 125), gp3(100, 4_000, 125), T0 + 2 * HOUR)
    assert any("cooldown" in one for one in broken(case, first, second))


def test_what_the_last_change_lowered_is_restored_without_a_cooldown() -> None:
    case = scenario({"cooldown": "3h"})
    high, low = gp3(100, 5_000, 125), gp3(100, 3_000, 125)
    back = (change(high), change(low, high, T0 + 4 * HOUR), change(high, low, T0 + 5 * HOUR))
    assert broken(case, *back) == ()
    again = change(low, high, T0 + 6 * HOUR)
    assert any("cooldown" in one for one in broken(case, *back, again))


def test_the_price_is_held_against_enrolment_and_not_against_the_last_change() -> None:
    case = scenario({"price_increase_usd_per_month": 20})
    first = change(gp3(100, 6_000, 125))
    second = change(gp3(100, 9_000, 125), gp3(100, 6_000, 125), T0 + 2 * HOUR)
    assert broken(case, first) == ()
    assert any("$30.000 a month" in one for one in broken(case, first, second))


def test_gp2_that_bursts_may_step_from_what_it_reaches() -> None:
    document = {"resource": {"type": "gp2", "size_gib": 400, "tags": {"headroom": "auto"}}}
    assert broken(scenario(**document), change(gp3(400, 12_000, 250), gp2(400))) == ()


def test_what_rds_autoscaling_added_is_no_increase_of_headrooms() -> None:
    document = {
        "resource": {
            "kind": "rds", "engine": "postgres", "storage_type": "gp3", "tags": {"headroom": "auto"},
            "allocated_storage_gib": 500,
        }
    }  # fmt: skip
    case = scenario({"price_increase_usd_per_month": 100}, **document)
    origin = case.resource.configuration
    grown = replace(origin, size_gib=550)
    assert broken(case, change(replace(grown, iops=17_000), grown)) == ()
    assert any(
        "over $100" in one for one in broken(case, change(replace(grown, iops=17_001), grown))
    )
    own = (change(grown, origin), change(replace(grown, iops=17_000), grown, T0 + 2 * HOUR))
    assert any("over $100" in one for one in broken(case, *own))
