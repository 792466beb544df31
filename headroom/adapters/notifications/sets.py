"""What a message about a striped set says of the whole set, beside the volume that its decision is about."""

from __future__ import annotations

from headroom.domain.decision import Act, Decision, Escalate
from headroom.domain.guardrails import Guardrail
from headroom.domain.planning import GroupDetail, Plan

HEADLINES = {
    "diverged": "a volume of {volume} was changed by somebody else",
    "failed": "AWS failed to change a volume of {volume}",
}
"""By step, where the words for one volume would be wrong of a set."""
UNEVEN = "{volume} is uneven"
ABOUT_ALL = frozenset(
    {
        "applied", "relieved", "untested", "ineffective", "diverged", "failed", "refused", "stale",
        "unknown",
    }
)  # fmt: skip
"""Steps that are reported once for all volumes of a set."""
BACK = "Headroom does not roll a set back; to undo it, change all of its volumes back yourself, together"
NOT_REPEATED = "; for the time of revert_wait Headroom then does not repeat it"


def set_of(decision: Decision, kind: str) -> GroupDetail | None:
    """The set that a message is about; None where it is about one volume."""
    group, answer = decision.group, decision.answer
    if group is None or not group.name:
        return None
    if isinstance(answer, Act):
        return group if group.members and kind in ABOUT_ALL else None
    blocked = isinstance(answer, Escalate) and any(
        part.startswith(Guardrail.GROUP.value) for part in answer.cause.split("+")
    )
    return group if blocked else None


def headline_of(group: GroupDetail, kind: str, summary: str, otherwise: str) -> str:
    """The headline of a message about a set, before names are filled in."""
    if summary.startswith(f"the set {group.name} is uneven"):
        return UNEVEN
    return HEADLINES.get(kind, otherwise)


def set_facts(decision: Decision, group: GroupDetail) -> list[tuple[str, str]]:
    """Facts about the whole set, which come first."""
    ref = decision.observation.volume.ref
    where = f" ({ref.region}, account {ref.account_id})"
    ids = ", ".join(member.volume_id for member in group.members)
    facts = [("Set", f"{group.name}{f': {ids}' if ids else ''}{where}")]
    if group.price_change_usd is not None:
        changed = sum(1 for member in group.members if member.decision_id)
        price = f"{group.price_change_usd:+,.2f} USD a month for the {changed} volumes that change"
        facts.append(("Price of the set", price))
    return facts


def how_to_undo(plan: Plan) -> str:
    """What a person can do to undo the change of a set."""
    return BACK + ("" if plan.lowers else NOT_REPEATED)
