"""docs/guardrails.md: a table and a section per guardrail, from the code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from headroom.domain.aurora import cluster_case, decide_cluster
from headroom.domain.decision import Act, decide
from headroom.domain.guardrails import (
    CLUSTER_GUARDRAILS,
    GUARDRAILS,
    Case,
    Guardrail,
    Relation,
    Verdict,
)
from headroom.domain.policy import Mode, Policy
from headroom.policy import schema
from tests.builders import (
    activity,
    decision_input,
    gp3,
    observation,
    policy,
    resource_state,
    volume,
)
from tests.domain.clusters import cluster_input
from tests.domain.earlier import history
from tools.guardrails.entries import GROUPS, Base, Entry

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guardrails.md"
RULES = dict(GUARDRAILS) | dict(CLUSTER_GUARDRAILS)
BLOCK = "Block "
RELATIONS = {
    Relation.AT_MOST: "at most ",
    Relation.AT_LEAST: "at least ",
    Relation.IS: "",
    Relation.ONE_OF: "one of ",
    Relation.FAILED: "failed",
}
ACCOUNT = "account."


def base_case(base: Base) -> Case:
    """A case that every guardrail allows: the plan that examples of this base start from."""
    if base is Base.CLUSTER:
        return _base_cluster()
    rules: Policy = policy(mode=Mode.AUTO)
    lowers = base is Base.LOWER
    if lowers:
        vol = volume(gp3(400, 12_000, 500))
        load = activity([300.0] * 180)
        seen = observation(load, vol, history=history(lambda _: 300.0, days=5.2))
    else:
        load = activity(
            [1500.0] * 30 + [3000.0] * 30, queue=[1.0] * 30 + [900.0 + 3 * i for i in range(30)],
            iops_check=[0.0] * 30 + [1.0] * 30,
        )  # fmt: skip
        seen = observation(load)
    made = decision_input(seen, rules=rules, stand=resource_state(enrolment_usd=Decimal(8)))
    decision = decide(made)
    if not isinstance(decision.answer, Act):
        raise LookupError(f"the example of the page is not carried out: {decision.summary}")
    return Case(
        plan=decision.answer.plan, observation=seen, demand=decision.demand,
        diagnosis=decision.diagnosis, resource_state=made.resource_state, policy=rules,
        effective=decision.effective, known_days=5.2 if lowers else 0.0,
    )  # fmt: skip


def _base_cluster() -> Case:
    rules: Policy = policy(mode=Mode.AUTO)
    found = cluster_input(rules)
    decision = decide_cluster(found)
    action, detail = decision.answer, decision.cluster
    if not isinstance(action, Act) or detail is None or not detail.bills or not found.prices:
        raise LookupError(f"the example of the page is not carried out: {decision.summary}")
    return cluster_case(
        found, action.plan, detail.demand, detail.bills, found.prices, decision.resource_state
    )


def page() -> str:
    """The whole page."""
    bases = {base: base_case(base) for base in Base}
    return "\n".join([*_head(bases), *_table(), *_sections(bases)])


def _head(bases: dict[Base, Case]) -> Iterator[str]:
    yield """# Guardrails

Generated from the code by `python -m tools.guardrails`; a test compares the two.

Headroom asks every guardrail about every plan. It carries out a plan only if **all of them allow it**. `headroom explain ID` shows every verdict on a decision's plan with its numbers. `headroom plan VOLUME` shows what would block a change now. A guardrail that fails for any reason blocks. No guardrail can be turned off.

A temporary block is tried again when it clears, without a new alarm. When only a person can clear a block on an enrolled resource, Headroom notifies the owner once per episode, and at most once a week for the same cause; also when load has waited at its limit for an hour and has to wait for longer than another.

Each section below ends with two real verdicts: one on a plan that every guardrail allows, and one after the change named under *Blocked*. The allowed plans are:
"""
    for base, case in bases.items():
        plan = case.plan
        yield f"- **{base}**: {plan.origin} → {plan.target}, ${plan.monthly_usd:,.2f} a month"
    yield ""


def _table() -> Iterator[str]:
    yield "| guardrail | what it blocks | setting | clears by itself |"
    yield "|---|---|---|---|"
    for title, entries in GROUPS:
        yield f"| [**{title}**](#{title.lower().replace(' ', '-')}) | | | |"
        for name, entry in entries.items():
            moved = ", ".join(f"`{each}`" for each in entry.settings) or "-"
            clears = "no" if entry.clears is None else "yes"
            yield f"| [`{name}`](#{name}) | {blocks(RULES[name])[0]} | {moved} | {clears} |"
    yield ""


def _sections(bases: dict[Base, Case]) -> Iterator[str]:
    for title, entries in GROUPS:
        yield f"## {title}\n"
        if Base.CLUSTER in {entry.base for entry in entries.values()}:
            shared = ", ".join(
                f"[`{name}`](#{name})" for name, _ in CLUSTER_GUARDRAILS if name not in entries
            )
            yield (
                "An [Aurora cluster](operate/aurora.md) has no IOPS, throughput or size to set. It is asked "
                f"the guardrails of this group and these: {shared}.\n"
            )
        for name, entry in entries.items():
            yield _section(name, entry, bases[entry.base])


def _section(name: Guardrail, entry: Entry, allowed: Case) -> str:
    rule = RULES[name]
    first, rest = blocks(rule)
    moved = ", ".join(f"[`{each}`](policy.md#settings)" for each in entry.settings) or "none"
    clears = "no" if entry.clears is None else f"yes, {entry.clears}"
    return f"""### `{name}`

**Blocks:** {first}.{" " + rest if rest else ""}

- Setting: {moved}
- Clears by itself: {clears}
- What you can do: {entry.do}
- Allowed ({entry.base}): {_verdict(rule(allowed))}
- Blocked: {entry.example.removesuffix(".")} → {_verdict(rule(entry.blocked(allowed)))}
"""


def settings() -> set[str]:
    """Every setting of the published schema, those of the account with their prefix."""
    found: Any = schema()
    of_account = found["properties"]["account"]["properties"]
    return {*found["definitions"]["settings"]["properties"], *(ACCOUNT + n for n in of_account)}


def blocks(rule: Callable[[Case], Verdict]) -> tuple[str, str]:
    """What a guardrail blocks, as its docstring says after "Block", and the rest of it."""
    first, _, rest = (inspect.getdoc(rule) or "").partition("\n\n")
    if not first.startswith(BLOCK):
        raise LookupError(
            f"the docstring of {rule.__name__} must begin with 'Block': it is on the page"
        )
    return " ".join(first.split()).removeprefix(BLOCK).rstrip("."), " ".join(rest.split())


def _verdict(verdict: Verdict) -> str:
    unit = f" {verdict.unit}" if verdict.unit and not isinstance(verdict.value, str) else ""
    must = f"must be {RELATIONS[verdict.relation]}{_number(verdict.limit)}"
    more = [verdict.detail] if verdict.detail else []
    if verdict.clears_at is not None:
        more.append(f"clears at {verdict.clears_at:%Y-%m-%d %H:%M} UTC")
    return f"**{_number(verdict.value)}**{unit}, {must}" + "".join(f"; {each}" for each in more)


def _number(value: object) -> str:
    match value:
        case bool() | str() | None:
            return str(value)
        case tuple():
            return ", ".join(map(str, value))
        case int() | Decimal():
            return f"{value:,}"
        case _:
            return f"{value:,.10g}"
