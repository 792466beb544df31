"""The guardrail of striped sets: together or not at all."""

from __future__ import annotations

from headroom.domain.guardrails.case import Case, verdict_of
from headroom.domain.guardrails.verdicts import Guardrail, Relation, Verdict
from headroom.domain.planning import group_of


def together(case: Case) -> Verdict:
    """Block a change to one volume of a striped set without the others."""
    name = group_of(case.policy, case.observation.volume)
    if name is None:
        return verdict_of(Guardrail.GROUP, Relation.IS, "in no set", "in no set", "")
    group = case.group
    if group is None:
        return verdict_of(
            Guardrail.GROUP, Relation.IS, "alone", "together", "",
            f"it belongs to the set {name!r}, which was not looked at",
        )  # fmt: skip
    return verdict_of(
        Guardrail.GROUP, Relation.IS, "not all of it" if group.problem else "together", "together",
        "", f"set {group.name}: {group.problem}" if group.problem else f"set {group.name}",
        clears_at=group.clears_at, temporary=group.temporary,
    )  # fmt: skip
