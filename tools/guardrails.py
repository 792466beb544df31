"""Write docs/guardrails: a page per guardrail and an index, from the code. `python -m tools.guardrails`

A new guardrail needs, beside its member of Guardrail, its function and its line in GUARDRAILS
(headroom/domain/guardrails/__init__.py), one entry in PAGES (headroom/domain/guardrails/pages.py):

    Guardrail.MINE: Page(
        settings=("my_setting",), clears="when the moon is full", do="wait, or set `my_setting`",
        example="`my_setting: 3`, four in flight", blocked=lambda case: replace(case, ...),
    ),

`blocked` gets a case that every guardrail allows and returns one that this guardrail blocks. Leave
`clears` out when a block never passes by itself (the verdict is not `temporary`). What the guardrail
asks is its docstring. tests/laws/test_guardrails.py then makes the example, holds the new guardrail
to the laws of all of them, and fails while the pages differ: run this and commit what it wrote.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from headroom.domain.aurora_decision import decide as decide_mode
from headroom.domain.cluster_decision import case_of as case_for
from headroom.domain.cluster_decision import decide_cluster
from headroom.domain.decision import Act, decide
from headroom.domain.guardrails import CLUSTER_GUARDRAILS, GUARDRAILS, Case
from headroom.domain.guardrails.clusters import limits_of
from headroom.domain.guardrails.pages import Page
from headroom.domain.guardrails.pages_clusters import EVERY_PAGE
from headroom.domain.policy import Mode, Policy
from headroom.domain.verdicts import Guardrail, Relation, Verdict
from headroom.policy_schema import schema
from tests.builders import activity, evidence, gp3, observation, policy, standing, volume
from tests.domain.clusters import cluster_evidence
from tests.domain.earlier import history

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "guardrails"
MAKE = "Generated from the code by `python -m tools.guardrails`; a test compares the two."
SAID = {
    Relation.AT_MOST: "at most",
    Relation.AT_LEAST: "at least",
    Relation.IS: "exactly",
    Relation.ONE_OF: "one of",
    Relation.FAILED: "failed",
}
ACCOUNT = "account."


def case_of(*, lowers: bool = False) -> Case:
    """A case that every guardrail allows: a starved gp3 that is raised, or an idle one lowered."""
    rules: Policy = policy(mode=Mode.AUTO)
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
    made = evidence(seen, rules=rules, stand=standing(enrolment_usd=Decimal(8)))
    decision = decide(made)
    if not isinstance(decision.answer, Act):
        raise LookupError(f"the example of the pages is not done: {decision.summary}")
    return Case(
        plan=decision.answer.plan, observation=seen, demand=decision.demand,
        diagnosis=decision.diagnosis, standing=made.standing, policy=rules,
        effective=decision.effective, known_days=5.2 if lowers else 0.0,
    )  # fmt: skip


def case_of_cluster() -> Case:
    """An Aurora cluster that every guardrail of clusters allows to become I/O-Optimized."""
    rules: Policy = policy(mode=Mode.AUTO)
    found = cluster_evidence(rules)
    decision = decide_cluster(found)
    said = decide_mode(found.seen, limits=limits_of(decision.effective.limits), prices=found.prices)
    case = case_for(found, said, decision.effective, decision.diagnosis, decision.standing)
    if case is None or not isinstance(decision.answer, Act):
        raise LookupError(f"the example of the pages is not done: {decision.summary}")
    return case


def pages() -> dict[str, str]:
    """Every page by its file name."""
    allowed = {lowers: case_of(lowers=lowers) for lowers in (False, True)}
    of_cluster = case_of_cluster()
    found = {}
    rows = []
    for name, rule in (dict(GUARDRAILS) | dict(CLUSTER_GUARDRAILS)).items():
        page = EVERY_PAGE[name]
        before = of_cluster if page.cluster else allowed[page.lowers]
        found[f"{name}.md"] = _page(name, rule, page, before)
        moved = ", ".join(f"`{each}`" for each in page.settings) or "-"
        clears = "no" if page.clears is None else "yes"
        rows.append(f"| [`{name}`]({name}.md) | {_asks(rule)[0]} | {moved} | {clears} |")
    found["README.md"] = _index(rows)
    return found


def _index(rows: list[str]) -> str:
    asked = ", ".join(f"`{name}`" for name, _ in CLUSTER_GUARDRAILS)
    return f"""# The guardrails

{MAKE}

Every plan that Headroom considers is judged by all of them, and each says its numbers whether it blocks or not: `headroom explain VOLUME` shows them for every decision. A plan is carried out only when **every one allows it**. A guardrail that fails for any reason blocks; none can be turned off.

What blocks for now is tried again when it clears, without a new alarm. What only a person can clear is told once per episode, for volumes that are enrolled.

| guardrail | what it asks | moved by | clears by itself |
|---|---|---|---|
{chr(10).join(rows)}

Of an [Aurora cluster](../operate/aurora.md), which has no IOPS, throughput or size to set, these are asked: {asked}.
"""


def _page(name: Guardrail, rule: Callable[[Case], Verdict], page: Page, before: Case) -> str:
    after = page.blocked(before)
    allows, blocks = rule(before), rule(after)
    first, rest = _asks(rule)
    more = f"\n{rest}\n" if rest else ""
    clears = "no" if page.clears is None else f"yes, {page.clears}"
    plan = before.plan
    return f"""# Guardrail `{name}`

**{first}**
{more}
| | |
|---|---|
| what moves it | {"; ".join(map(_setting, page.settings)) or "nothing: it has no setting"} |
| clears by itself | {clears} |
| what a person can do | {page.do} |

## A plan it allows

{plan.origin} → {plan.target}, ${plan.monthly_usd:.2f} a month:

{_verdict(allows)}

## The same, blocked

Only this is different: {page.example}.

{_verdict(blocks)}

{MAKE} [All guardrails](README.md)
"""


def meanings() -> dict[str, str]:
    """What the published schema says of every setting, those of the account with their prefix."""
    told: Any = schema()
    of_one = told["definitions"]["settings"]["properties"]
    of_all = told["properties"]["account"]["properties"]
    return {name: each["description"] for name, each in of_one.items()} | {
        ACCOUNT + name: each["description"] for name, each in of_all.items()
    }


def _setting(name: str) -> str:
    meaning = meanings()[name]
    meaning = meaning[0].lower() + meaning[1:].rstrip(".")
    return f"[`{name}`](../policy.md#settings) ({meaning})"


def _asks(rule: Callable[[Case], Verdict]) -> tuple[str, str]:
    """The first sentence of what a rule asks, and the rest."""
    first, _, rest = (inspect.getdoc(rule) or "").partition("\n\n")
    if not first:
        raise LookupError(f"{rule.__name__} has no docstring: it is what its page says")
    return " ".join(first.split()), rest


def _verdict(verdict: Verdict) -> str:
    unit = f" {verdict.unit}" if verdict.unit and not isinstance(verdict.value, str) else ""
    rows = [
        ("value", f"{_number(verdict.value)}{unit}"),
        ("must be", f"{SAID[verdict.relation]} {_number(verdict.limit)}{unit}"),
        ("detail", verdict.detail),
        ("clears at", "" if verdict.clears_at is None else f"{verdict.clears_at:%Y-%m-%d %H:%M} UTC"),
        ("allows", "yes" if verdict.allows else "**no**"),
    ]  # fmt: skip
    return "| | |\n|---|---|\n" + "\n".join(f"| {k} | {v} |" for k, v in rows if v)


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


def main() -> None:
    """Write every page, and take away those of guardrails that are gone."""
    FOLDER.mkdir(exist_ok=True)
    made = pages()
    for old in FOLDER.glob("*.md"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
