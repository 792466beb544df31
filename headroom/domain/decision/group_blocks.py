"""Why a striped set may not be changed together: every limit that blocks it, and what a person can do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from decimal import Decimal
from math import ceil

from headroom.domain.catalog import QUOTAS, quota_limit
from headroom.domain.decision.approval import why_approval_after
from headroom.domain.decision.decision_input import Analysis
from headroom.domain.decision.escalation import EXPLAINED
from headroom.domain.decision.group_shapes import Beyond, GroupShape
from headroom.domain.guardrails import WITHOUT_SETTING, Guardrail, Verdict, in_the_policy
from headroom.domain.planning import BY_HAND, GroupConstraint, named
from headroom.domain.state import quota_usage

NEEDS_APPROVAL = "it needs approval, and approval of a whole set is not supported yet"
WITHOUT_APPROVAL = (
    f"{BY_HAND}; or set the mode of all of them to auto, and raise approve_above_usd_per_month if that "
    "is what requires it"
)
Held = Mapping[str, Sequence[Verdict]]
"""The verdicts that block, by volume id."""
Tags = Mapping[str, Mapping[str, str]]
"""The tags that set a limit, by volume id and field."""


def approval_needed(name: str, volume_id: str, why: str) -> GroupConstraint:
    """The constraint on a set of which a volume needs approval."""
    return GroupConstraint(
        name=name, problem=f"{NEEDS_APPROVAL} ({volume_id}: {why})", remedy=WITHOUT_APPROVAL,
        cause="approval",
    )  # fmt: skip


def needs_approval(members: Sequence[Analysis], share: GroupShape) -> Beyond | None:
    """Why the change needs approval; None when it does not.

    A price limit for approval applies to the whole set and to each of its volumes, with what Headroom added
    to them before: what one saves pays for no other.
    """
    usd = sum((plan.price_change_usd for plan in share.plans if plan is not None), Decimal(0))
    added = [m.decision_input.resource_state.resource_increase_usd for m in members]
    for member, plan, own in zip(members, share.plans, added, strict=True):
        if plan is None:
            continue
        limits, whole = member.effective.limits, replace(plan, price_change_usd=usd)
        why = why_approval_after(limits, whole, sum(added, Decimal(0)))
        why = why or why_approval_after(limits, plan, own)
        if why is not None:
            said = approval_needed(
                "", member.decision_input.observation.volume.ref.resource_id, why
            )
            return Beyond(why=said.problem, remedy=said.remedy, cause=said.cause)
    return None


def beyond_quotas(members: Sequence[Analysis], share: GroupShape) -> Beyond | None:
    """The quota of AWS for concurrent changes that is too small for the set; None when none is."""
    policy, needs = members[0].policy, Counter[str]()
    for plan in share.plans:
        if plan is not None:
            needs.update(dict(quota_usage(plan.origin, plan.target)))
    for name, amount in sorted(needs.items()):
        quota, most = QUOTAS[name], quota_limit(name, policy.quotas)
        if amount > most:
            unit, size = ("IOPS", 1) if quota.unit == "IOPS" else ("TiB", 1_024)
            needs_of, most_of = ceil(amount / size), most // size
            return Beyond(
                why=f"it needs {needs_of:,} {unit} of the quota {quota.name}, which is {most_of:,}",
                remedy=f"have AWS raise that quota and say so in account.regional_quotas, or {BY_HAND}",
                cause=f"quota {name}",
            )  # fmt: skip
    return None


def beyond_concurrency(members: Sequence[Analysis], share: GroupShape) -> Beyond | None:
    """Every concurrency limit that is smaller than the set; None when none is."""
    limits, count = members[0].policy.blast_radius, sum(plan is not None for plan in share.plans)
    small = [
        (name, most)
        for name, most in (
            ("max_in_flight", limits.max_in_flight),
            ("max_in_flight_per_az", limits.max_in_flight_per_az),
            ("max_changes_per_hour", limits.max_changes_per_hour),
        )
        if count > most
    ]
    if not small:
        return None
    allows = ", ".join(f"{name} allows {most}" for name, most in small)
    raised = ", ".join(f"account.{name} from {most} to {count}" for name, most in small)
    return Beyond(
        why=f"it needs {count} changes at once, {allows}",
        remedy=f"raise {'all of ' if len(small) > 1 else ''}{raised} or more in the policy",
        cause=", ".join(f"{name} {most}" for name, most in small),
    )


def held_by(
    name: str, held: Held, every: Held, beyond: Sequence[Beyond], tags: Tags
) -> GroupConstraint:
    """The constraint that the blocked members put on the set, and what of the whole is `beyond` its limits.

    `every` also holds the verdicts on the volume itself, so that the cause is the same from each.
    """
    blocked = [volume_id for volume_id, blocking in held.items() if blocking]
    reasons = [each.why for each in beyond]
    reasons += _by_member(
        held, blocked, lambda v: v.guardrail.value, lambda ids, what: f"{ids} may not ({what})"
    )
    verdicts = [v for blocking in held.values() for v in blocking]
    until = [v.clears_at for v in verdicts] + [each.clears_at for each in beyond if each.temporary]
    passes = all(each.temporary for each in beyond) and all(v.temporary for v in verdicts)
    known = [at for at in until if at is not None]
    return GroupConstraint(
        name=name, problem="; ".join(reasons), temporary=passes,
        clears_at=max(known).astimezone(UTC) if passes and known and len(known) == len(until) else None,
        remedy="" if passes else "; ".join([e.remedy for e in beyond if e.remedy] + _remedies(held, every, tags)),
        cause="" if passes else _cause(every, beyond),
    )  # fmt: skip


def _by_member(
    held: Held, volume_ids: Sequence[str], word: Callable[[Verdict], str],
    sentence: Callable[[str, str], str],
) -> list[str]:  # fmt: skip
    """A sentence for all volumes of which the same is to be said."""
    found: dict[str, list[str]] = {}
    for volume_id in volume_ids:
        words = dict.fromkeys(filter(None, map(word, held[volume_id])))
        found.setdefault(", ".join(words), []).append(volume_id)
    return [sentence(named(ids), words) for words, ids in found.items() if words]


def _cause(every: Held, beyond: Sequence[Beyond]) -> str:
    """What blocks the set and does not pass, without numbers that change with the load."""
    parts = [each.cause for each in beyond if not each.temporary]
    parts += _by_member(
        every, sorted(every), lambda v: "" if v.temporary else v.guardrail.value,
        lambda ids, what: f"{ids}: {what}",
    )  # fmt: skip
    return "; ".join(parts)


def _remedies(held: Held, every: Held, tags: Tags) -> list[str]:
    """What a person can do about what blocks the members for good.

    What the volume itself needs as well is in its own verdicts, which the owner is notified of too.
    """
    own = {
        _remedy_of(v, tags[name])
        for name, blocking in every.items() if name not in held for v in blocking
    }  # fmt: skip
    found: dict[str, list[str]] = {}
    for volume_id, blocking in held.items():
        misread = any(v.guardrail is Guardrail.POLICY for v in blocking)
        for verdict in blocking:
            # Tags that are not understood also take the mode away.
            if verdict.temporary or (misread and verdict.guardrail is Guardrail.MODE):
                continue
            if (remedy := _remedy_of(verdict, tags[volume_id])) not in own:
                found.setdefault(remedy, []).append(volume_id)
    return [remedy.replace("{}", named(ids)) for remedy, ids in found.items()]


def _remedy_of(verdict: Verdict, tags: Mapping[str, str]) -> str:
    """What to do about one verdict; `{}` stands for the volumes."""
    match verdict.guardrail:
        case Guardrail.MODE:
            return "enrol {} as well, with the mode auto"
        case Guardrail.POLICY:
            return "{}: " + verdict.detail
        case each if each in EXPLAINED:
            return "{}: " + verdict.detail
        case each if each in WITHOUT_SETTING:
            return f"Headroom does not change {{}} ({each.value}): {BY_HAND}"
        case _:
            return in_the_policy([verdict], "it on {}", tags=tags)
