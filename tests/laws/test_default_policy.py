"""The policy as it is shipped is safe: it watches everything and acts on nothing that nobody asked for."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from headroom.application import sweep
from headroom.domain.decision import Act, decide
from headroom.domain.policy import FRIENDLY, Mode, Policy, PolicyUnreadable, limits_for
from headroom.domain.resources import EBS_TYPES, VolumeType
from headroom.policy import default_policy, parse_policy
from tests.builders import decision_input, gp3, policy, starved_gp3, volume
from tests.laws.permits import ACCOUNT_USD, DEFAULTS, NOT_VARIED
from tests.laws.process import Process, Trouble
from tests.laws.script import ASKED, QUIET, SHAPES, Event, Script, ScriptRunner, script

SHIPPED = Path(__file__).parents[2] / "policy.yaml"
UNTAGGED: tuple[tuple[tuple[str, str], ...], ...] = (
    (), (("Name", "db-1"), ("team", "a")), (("headroom-owner", "ops"),), (("environment", "production"),)
)  # fmt: skip


def test_the_law_varies_every_setting_or_says_that_it_does_not() -> None:
    assert {*ASKED, "tags_may"} | NOT_VARIED == set(FRIENDLY)
    assert set(DEFAULTS) | {"change_windows"} | NOT_VARIED == set(FRIENDLY)


def shipped() -> tuple[Policy, Any]:
    document = yaml.safe_load(SHIPPED.read_text(encoding="utf-8"))
    return parse_policy(document, source="policy.yaml"), document


def account(seed: int, *, wild: bool) -> Script:
    """A fleet nobody tagged, starved, idle and in all shapes, with all that may happen to it."""
    found = script(seed)
    untagged = tuple((name, shape, {}, *rest) for name, shape, _, *rest in found.volumes)
    events = without(found.events, "policy", "tags")
    return replace(found, document=shipped()[1], volumes=untagged, events=events, wild=wild)


def without(events: tuple[Event, ...], *kinds: str) -> tuple[Event, ...]:
    """The events but for those of some kinds, wherever they happen."""
    return tuple(
        (*event[:-1], replace(event[-1], meanwhile=without(event[-1].meanwhile, *kinds)))
        if isinstance(event[-1], Trouble)
        else event
        for event in events
        if event[0] not in kinds
    )


def run(found: Script) -> ScriptRunner:
    runner = ScriptRunner(found)
    for event in found.events:
        runner.do(event)
    runner.settle()
    return runner


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_nothing_is_ever_changed_in_a_fleet_that_nobody_tagged(first: int) -> None:
    for seed in range(first, first + 10):
        runner = run(account(seed, wild=seed % 2 == 1))
        assert (runner.law.acts, runner.law.changes) == (0, 0)
        assert runner.world.ledger.waiting(runner.world.now) == ()
        for ref in runner.law.refs():
            resource_state = runner.world.ledger.resource_state(ref, runner.world.now)
            assert (resource_state.account_increase_usd, resource_state.enrolment_usd) == (0, None)


def test_what_it_would_have_done_is_on_record_all_the_same() -> None:
    runs = [run(account(seed, wild=False)) for seed in range(10)]
    summaries = " ".join(
        record.summary
        for runner in runs
        for record in runner.world.ledger.by_outcome(
            "hold", since=runner.world.now.replace(year=2025), until=runner.world.now
        )
    )
    assert "held (observe only); would take" in summaries


@given(
    st.sampled_from(SHAPES), st.sampled_from(UNTAGGED), st.sampled_from(list(EBS_TYPES)),
    st.integers(1, 16_384),
)  # fmt: skip
def test_no_volume_is_enrolled_by_the_shipped_policy_alone(
    shape: Any, tags: tuple[tuple[str, str], ...], kind: VolumeType, size: int
) -> None:
    rules, _ = shipped()
    other = replace(gp3(size), volume_type=kind)
    for configuration in (shape, other):
        effective = limits_for(rules, volume(configuration, tags=tags))
        assert effective.limits.mode is Mode.OBSERVE
        assert not effective.enrolled


def test_the_shipped_policy_and_the_one_without_any_have_the_same_ceilings_and_budgets() -> None:
    for rules in (shipped()[0], default_policy(), Policy(version="")):
        limits = rules.defaults
        assert limits.mode is Mode.OBSERVE
        assert limits.growth is False
        assert Decimal(0) < limits.price_increase_usd <= DEFAULTS["price_increase_usd_per_month"]
        assert Decimal(0) < rules.account_increase_usd <= ACCOUNT_USD
        assert limits.max_iops <= DEFAULTS["max_iops"]
        assert limits.max_throughput_mibps <= DEFAULTS["max_throughput_mibps"]
        assert limits.largest_step <= DEFAULTS["largest_step"]
        assert limits.slots_reserve >= DEFAULTS["slots_reserve"]


def test_the_same_load_is_acted_on_once_somebody_asks_for_it() -> None:
    """So the tests above can fail."""
    rules, _ = shipped()
    assert not isinstance(
        decide(decision_input(starved_gp3(vol=volume(tags=())), rules=rules)).answer, Act
    )
    assert isinstance(decide(decision_input(starved_gp3(vol=volume()), rules=rules)).answer, Act)


@pytest.mark.parametrize("seed", range(1, 30, 2))
def test_a_policy_that_is_missing_or_cannot_be_read_means_no_act(seed: int) -> None:
    """Even for a planner that wants anything, and volumes whose tags ask for everything."""
    found = script(seed)
    draw = Random(seed)
    eager = {"mode": "auto", "max_iops": 64_000, "growth": True}
    volumes = tuple((name, shape, eager, *rest) for name, shape, _, *rest in found.volumes)
    events = without(found.events, "policy")
    runner = ScriptRunner(replace(found, volumes=volumes, wild=draw.random() < 0.5))
    runner.world.policy = PolicyUnreadable(reason="the parameter is gone")
    runner.world.document = None
    for event in (*events, ("sweep", QUIET)):
        runner.do(event)
    assert (runner.law.acts, runner.law.changes) == (0, 0)


def test_an_act_already_decided_is_not_begun_anew_once_the_policy_is_gone() -> None:
    """A crash between decision and intent; by the next run nobody can read the policy."""
    found = Script(
        seed=0, document={"defaults": {"mode": "auto"}, "rules": []}, events=(),
        volumes=(("vol-0", gp3(), {}, "a", 2.0, 16.0, None, "ample", 0.0, "whole"),),
    )  # fmt: skip
    runner = ScriptRunner(found)
    process = Process(world=runner.world, law=runner.law, trouble=QUIET, do=runner.do)
    intend = runner.world.ledger.intend
    runner.world.ledger.intend = _crash  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        sweep(process.ports, runner.world.now)
    runner.world.ledger.intend = intend  # type: ignore[method-assign]
    assert runner.law.acts == 1
    runner.do(("policy", None))
    for _ in range(20):
        runner.do(("wait", 5))
        runner.do(("sweep", QUIET))
    assert (runner.law.acts, runner.law.changes) == (1, 0)
    assert policy().defaults.mode is Mode.OBSERVE


def _crash(*_: object, **__: object) -> None:
    raise KeyboardInterrupt
