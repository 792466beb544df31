"""Laws that every guardrail keeps, whoever added it, and the page made from them.

How to add a guardrail: tools/guardrails/__init__.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.guardrails import (
    CLUSTER_GUARDRAILS,
    GUARDRAILS,
    Case,
    Guardrail,
    Relation,
    Verdict,
    in_the_policy,
    judge,
)
from headroom.domain.guardrails import registry as guardrails
from headroom.domain.guardrails.clusters import SHARED
from headroom.domain.policy import FRIENDLY, Limits
from headroom.domain.policy.limits import NARROWER, TRADE_OFF_SETTINGS
from headroom.domain.resources import PriceUnknown
from headroom.serialization import from_json, to_json
from tests.policy.test_text import WINDOWS
from tools.guardrails.entries import ENTRIES
from tools.guardrails.entry import Base
from tools.guardrails.page import PAGE, base_case, blocks, page
from tools.guardrails.page import settings as settings_of

RULES = dict(GUARDRAILS) | dict(CLUSTER_GUARDRAILS)
EVERY = pytest.mark.parametrize("name", list(Guardrail))
BASES = {base: base_case(base) for base in Base}
RAISING, LOWERING, CLUSTER = BASES[Base.RAISE], BASES[Base.LOWER], BASES[Base.CLUSTER]


def examples(name: Guardrail) -> tuple[Case, Case]:
    """A case that all guardrails allow, and the same blocked by this one."""
    before = BASES[ENTRIES[name].base]
    return before, ENTRIES[name].blocked(before)


@pytest.mark.parametrize("base", [RAISING, LOWERING, CLUSTER], ids=["raising", "lowering", "mode"])
def test_the_examples_start_from_a_case_that_every_guardrail_allows(base: Case) -> None:
    assert [v.guardrail for v in judge(base).blocking] == []


@EVERY
def test_every_guardrail_has_a_rule_and_an_entry_and_blocks_its_example(name: Guardrail) -> None:
    assert name in RULES, "it needs a line in GUARDRAILS"
    assert name in ENTRIES, "it needs an entry in tools/guardrails/entries.py"
    assert blocks(RULES[name])
    before, after = examples(name)
    assert RULES[name](before).allows
    verdict = RULES[name](after)
    assert verdict.guardrail is name
    assert verdict.relation is not Relation.FAILED
    assert not verdict.allows


@EVERY
def test_an_entry_says_that_a_block_clears_by_itself_only_if_its_verdict_says_so(
    name: Guardrail,
) -> None:
    verdict = RULES[name](examples(name)[1])
    clears = ENTRIES[name].clears
    if not verdict.temporary:
        assert clears is None
    if clears is None:
        assert verdict.clears_at is None


@EVERY
def test_the_settings_an_entry_names_are_settings_of_the_policy(name: Guardrail) -> None:
    assert set(ENTRIES[name].settings) <= settings_of()


@EVERY
def test_people_are_told_to_change_settings_that_there_are(name: Guardrail) -> None:
    """A message never names a guardrail whose setting has another name."""
    verdict = RULES[name](examples(name)[1])
    told = in_the_policy([verdict])
    if told and not verdict.temporary:
        setting = told.removeprefix("to allow it, change ").removesuffix(" in the policy")
        assert set(setting.split(" from ")[0].split(" or ")) <= set(ENTRIES[name].settings)


def test_every_limit_of_the_policy_moves_some_guardrail_or_what_is_planned() -> None:
    """What neither blocks nor is planned with would be a setting without effect."""
    planned_with = {
        "headroom_percent", "free_space_percent", "space_horizon_days", "latency_objective_ms",
        "discount_percent",
    }  # fmt: skip
    named = {setting for entry in ENTRIES.values() for setting in entry.settings}
    assert set(FRIENDLY) - named == planned_with


def test_the_page_is_what_the_code_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tools.guardrails`"


@EVERY
def test_a_rule_that_raises_blocks_and_hides_no_other(
    name: Guardrail, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Case) -> Verdict:
        raise ZeroDivisionError("no limit")

    for where, case in (("GUARDRAILS", RAISING), ("CLUSTER_GUARDRAILS", CLUSTER)):
        asked = getattr(guardrails, where)
        if name not in dict(asked):
            continue
        rules = tuple((each, broken if each is name else rule) for each, rule in asked)
        monkeypatch.setattr(guardrails, where, rules)
        judged = judge(case)
        assert [v.guardrail for v in judged.blocking] == [name]
        assert len(judged.verdicts) == len(asked)


@EVERY
def test_the_numbers_of_a_verdict_say_yes_or_no_wherever_they_are_read(name: Guardrail) -> None:
    for case in examples(name):
        verdict = RULES[name](case)
        again = from_json(to_json(verdict), Verdict)
        assert again.allows is verdict.allows


def values(field: str) -> st.SearchStrategy[Any]:
    """Values that a setting may have, from the schema that editors read."""
    setting = next(each for each in FRIENDLY.values() if each.name == field)
    if field == "change_windows":
        listed = st.lists(st.sampled_from(WINDOWS), max_size=3)
        return listed.map(lambda value: setting.read(value, "a law", field))
    drawn = strategy(setting.schema)
    return drawn.map(lambda value: setting.read(value, "a law", field))


def strategy(schema: Any) -> st.SearchStrategy[Any]:
    """JSON values of a schema, in the words that policy_fields uses."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "oneOf" in schema and "minimum" in schema["oneOf"][0]:  # an amount, or a word for none
        amount, none = schema["oneOf"]
        return strategy(amount) | st.just(none["const"])
    if schema.get("type") == "string":  # a duration that is some time
        return st.integers(1, 7 * 24 * 60).map(lambda minutes: f"{minutes}m")
    if "oneOf" in schema:  # a duration
        return st.integers(0, 7 * 24 * 60).map(lambda minutes: f"{minutes}m" if minutes else 0)
    match schema["type"]:
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(schema["minimum"], schema["maximum"])
        case "number":
            low = schema.get("minimum", schema.get("exclusiveMinimum"))
            cents = st.integers(int(low * 100), int(schema["maximum"] * 100))
            open_low = "exclusiveMinimum" in schema
            return cents.filter(lambda c: c > low * 100 or not open_low).map(lambda c: c / 100)
        case "array":
            return st.lists(st.sampled_from(schema["items"]["enum"]), min_size=1, unique=True)
        case _:
            raise LookupError(f"no values for {schema}; say here how they are drawn")


def limited(case: Case, **limits: Any) -> Case:
    effective = replace(case.effective, limits=replace(case.effective.limits, **limits))
    return replace(case, effective=effective)


def near(field: str) -> st.SearchStrategy[Any]:
    """Any value of a setting, the one in force in the examples among them."""
    return st.one_of(st.just(getattr(Limits(), field)), values(field))


STARTS: tuple[Callable[[Case], Case], ...] = (
    lambda case: case,
    *(entry.blocked for entry in ENTRIES.values() if entry.base is not Base.CLUSTER),
)
CLUSTER_STARTS: tuple[Callable[[Case], Case], ...] = (
    lambda case: case,
    *(
        entry.blocked
        for name, entry in ENTRIES.items()
        if entry.base is Base.CLUSTER or name in SHARED
    ),
)


@pytest.mark.parametrize("field", sorted(NARROWER))
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_widening_a_limit_never_blocks_what_was_allowed(field: str, data: st.DataObject) -> None:
    """Guardrail by guardrail, setting by setting: the narrower of two values allows no more.

    Less of what trades raising for giving back gives back more: there it is no narrower.
    """
    case = data.draw(st.sampled_from([RAISING, LOWERING, CLUSTER]))
    of_cluster = case.cluster is not None
    changed = data.draw(st.sampled_from(CLUSTER_STARTS if of_cluster else STARTS))
    wide, other = data.draw(near(field)), data.draw(near(field))
    narrow = NARROWER[field](wide, other)
    before, after = (
        limited(changed(case), **{field: narrow}),
        limited(changed(case), **{field: wide}),
    )
    for name, rule in CLUSTER_GUARDRAILS if of_cluster else GUARDRAILS:
        if field in TRADE_OFF_SETTINGS and name.value.startswith("give_back"):
            continue
        if _allows(rule, before):
            assert _allows(rule, after), f"{name}: {field} {narrow} allowed what {wide} blocks"


def _allows(rule: Callable[[Case], Verdict], case: Case) -> bool:
    """Yes or no as `judge` has it: a rule that lacks a price raises, and that blocks."""
    try:
        return rule(case).allows
    except PriceUnknown:
        return False


@given(
    st.decimals(0, 5_000, places=2), st.decimals(0, 5_000, places=2),
    st.decimals(0, 2_000, places=6), st.decimals(0, 500, places=6),
)  # fmt: skip
def test_a_wider_limit_for_the_account_never_blocks_what_was_allowed(
    one: Decimal, other: Decimal, others: Decimal, own: Decimal
) -> None:
    resource_state = replace(
        RAISING.resource_state, account_increase_usd=others + own, resource_increase_usd=own
    )

    def allows(limit: Decimal) -> bool:
        policy = replace(RAISING.policy, account_increase_usd=limit)
        return RULES[Guardrail.PRICE_PER_ACCOUNT](
            replace(RAISING, policy=policy, resource_state=resource_state)
        ).allows

    assert allows(max(one, other)) or not allows(min(one, other))


def test_every_setting_of_the_policy_is_ordered_by_how_much_it_allows() -> None:
    fields = {f.name for f in dataclasses.fields(Limits)} - {"tags_may"}
    assert set(NARROWER) == fields
    assert {each.name for each in FRIENDLY.values()} == fields | {"tags_may"}
