"""A message to people as one value: a subject, what happened, facts, and commands to run.

`text.py` and `slack.py` format it. External text (tags, AWS's messages) is put on one line, so that
it cannot imitate Headroom's own lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from headroom.adapters.notifications import sets
from headroom.adapters.notifications.requests import request_of, without_answer
from headroom.domain.decision import Act, Decision, Escalate, Hold, Reason
from headroom.domain.guardrails import Guardrail
from headroom.domain.planning import Plan
from headroom.domain.reports import Priority, priority_of
from headroom.domain.resources import Configuration
from headroom.domain.state import Notice, Step

HEADLINES = {
    "applied": "changing {volume} to {target}",
    "relieved": "{volume} is free of pressure",
    "untested": "{volume} was changed, and no load has tested it yet",
    "ineffective": "{volume} is not free of pressure",
    "diverged": "{volume} was changed by somebody else",
    "failed": "AWS failed to change {volume}",
    "refused": "AWS refused to change {volume}",
    "breaker_opened": "{volume} is stopped after repeated failures",
    "stale": "{volume} was not changed",
    "not_applied": "{volume} was not changed",
    "unknown": "no clear answer from AWS on {volume}",
    "awaiting": "{volume} waits for your approval",
    "expired": "nobody approved a change of {volume}",
    "withdrawn": "{volume} was not changed after all",
    "rolled_back": "{volume} is rolled back",
    "released": "the open change of {volume} was ended by hand",
}
"""By step; any other step of a decision needs a person."""
GIVEN_BACK = "{volume} does not need what it gave back"
"""Instead of `relieved`, where a change lowered performance."""
OF_CLUSTERS = {
    "relieved": "{volume} now uses {target}",
    "ineffective": "another storage mode did not help {volume}",
    "decided": "the bill of {volume}",
}
"""The same for Aurora clusters, which have no pressure."""
SWITCHED = {
    "paused": "paused in {place}",
    "resumed": "changes resumed in {place}",
    "breaker_closed": "the breaker of {what} was closed",
    "policy_published": "the hub's policy is in force in {place}",
    "policy_refused": "the hub's policy was refused in {place}",
}
"""Switches that people operate, by step."""
UNDOABLE = frozenset({"applied", "relieved", "untested", "ineffective"})
LONGEST_LINE = 2_000
LONGEST_SUMMARY = 300
"""Characters of one record in a message about several."""
INSTEAD = Guardrail.INFRASTRUCTURE_AS_CODE.value
"""The cause of an escalation that hands over what would have been changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a longer message: a title and its lines."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message to people."""

    kind: str
    """What happened, by the record's own word; `digest` for the daily one."""
    priority: Priority
    headline: str
    """What happened to what, without a full stop; the subject begins with it."""
    lead: str
    """One or two sentences."""
    facts: tuple[tuple[str, str], ...] = ()
    """Labels and values, in the order in which they are read."""
    sections: tuple[Section, ...] = ()
    pastes: tuple[tuple[str, str], ...] = ()
    """What to write back: a sentence that says where, and lines kept verbatim."""
    commands: tuple[tuple[str, str], ...] = ()
    """What the reader can do: a label and the exact command."""
    reference: tuple[tuple[str, str], ...] = ()
    """Where it is on record: labels and values, shown last."""
    data: Mapping[str, object] = field(default_factory=dict)
    """The same for machines, in JSON types."""


def decision_message(decision: Decision, step: Step, summary: str) -> Message:
    """The message about a step of a decision."""
    kind = step.value
    ref, volume = decision.observation.volume.ref, decision.observation.volume
    plan, answer = plan_of(decision), decision.answer
    headline = HEADLINES.get(kind, "{volume} needs you")
    if decision.cluster is not None:
        headline = OF_CLUSTERS.get(kind, headline)
    elif kind == "relieved" and plan is not None and plan.lowers and not plan.sustains_more:
        headline = GIVEN_BACK
    if kind == "refused" and summary.startswith("not sent: "):
        headline = "{volume} was not changed"
    whole = sets.set_of(decision, kind)
    if whole is not None:
        headline = sets.headline_of(whole, kind, summary, headline)
    if isinstance(answer, Escalate):
        headline = "{volume} needs you"
    label = ref.noun.capitalize()
    facts = [] if whole is None else sets.set_facts(decision, whole)
    facts.append((label, f"{ref.resource_id} ({ref.region}, account {ref.account_id})"))
    of_one = "" if whole is None else f" of {ref.resource_id} alone"
    name = volume.tag("Name")
    if name:
        facts.append(("Name", name))
    if decision.summary != summary:
        facts.append(("Why", decision.summary))
    binds = "Binding limit" if decision.cluster is None else "Its bill"
    facts.append((binds, decision.diagnosis.explanation))
    if plan is not None:
        taken = "Change" if isinstance(answer, Act) else "Proposed change"
        facts.append((taken + of_one, f"{plan.origin} -> {plan.target}"))
        facts.append(("Price" + of_one, price_of(plan)))
        if decision.group is not None and kind in UNDOABLE and isinstance(answer, Act):
            facts.append(("Undo", sets.how_to_undo(plan)))
    if kind == "awaiting" and isinstance(answer, Act) and answer.expires is not None:
        until = f"{answer.expires:%Y-%m-%d %H:%M} UTC; {without_answer(decision, answer)}"
        facts += [("Approval is needed because", answer.approval or ""), ("Expires", until)]
    asked = decision.resource_state.approval_request
    other = asked is not None and asked.decision_id != decision.decision_id
    if isinstance(answer, Act) and asked is not None and other and decision.group is None:
        facts.append(("Replaces", f"{request_of(asked)}, which waits no more"))
    if isinstance(answer, Escalate):
        facts += [("Cause", answer.cause), ("What to do", answer.remedy)]
    proof = f"headroom explain {decision.decision_id} --region {ref.region}"
    return Message(
        kind=kind if not isinstance(answer, Escalate) else "escalated",
        priority=priority_of(step),
        headline=headline.format(
            volume=single_line(ref.resource_id if whole is None else whole.in_words),
            target=(whole and whole.shared) or ("" if plan is None else plan.target),
        ),
        lead=single_line(summary),
        facts=tuple((label, single_line(value)) for label, value in facts),
        pastes=_pastes(decision, kind),
        commands=_commands(decision, kind),
        reference=(("Decision", decision.decision_id), ("Details", proof)),
        data={
            "decision_id": decision.decision_id,
            "resource": ref.arn,
            "account": ref.account_id,
            "region": ref.region,
            "at": decision.at.isoformat(),
            "step": kind,
            "answer": type(answer).__name__.lower(),
            "reason": answer.reason.value,
            "plan": None if plan is None else plan_facts(plan),
            "cause": answer.cause if isinstance(answer, Escalate) else None,
            "remedy": answer.remedy if isinstance(answer, Escalate) else None,
            "write_back": [
                {"language": part.language, "where": part.where, "text": part.text}
                for part in decision.write_back
            ],
        },
    )


def switch_message(notice: Notice) -> Message:
    """The message about a pause, its end, or a breaker that a person closed."""
    kind = notice.step.value
    what, account, region = place_of(notice.resource)
    place = f"account {account}, {region}"
    commands = (("To resume", f"headroom resume --region {region}"),) if kind == "paused" else ()
    facts = notice_facts(notice)
    del facts["text"]
    return Message(
        kind=kind,
        priority=priority_of(notice.step),
        headline=single_line(SWITCHED[kind].format(place=place, what=what)),
        lead=single_line(notice.text),
        facts=(("Where", place), ("When", f"{notice.at:%Y-%m-%d %H:%M} UTC")),
        commands=commands,
        reference=(("Details", f"headroom status --region {region}"),),
        data=facts,
    )


def plain_message(notice: Notice) -> Message:
    """The message about a record whose decision cannot be read or described."""
    what, account, region = place_of(notice.resource)
    proof = f"headroom audit --decision {notice.decision_id} --region {region}"
    headline = HEADLINES.get(notice.step.value, "{volume} needs you")
    return Message(
        kind=notice.step.value,
        priority=priority_of(notice.step),
        headline=single_line(headline.format(volume=what, target="another configuration")),
        lead=single_line(notice.text),
        facts=(("Where", f"account {account}, {region}"), ("When", f"{notice.at:%Y-%m-%d %H:%M} UTC")),
        reference=(("Decision", notice.decision_id), ("Details", proof)),
        data=notice_facts(notice),
    )  # fmt: skip


def notice_facts(notice: Notice) -> dict[str, object]:
    """A notice for machines."""
    _, account, region = place_of(notice.resource)
    return {
        "decision_id": notice.decision_id,
        "resource": notice.resource,
        "account": account,
        "region": region,
        "at": notice.at.isoformat(),
        "step": notice.step.value,
        "text": clipped(single_line(notice.text), LONGEST_SUMMARY),
    }


def _pastes(decision: Decision, kind: str) -> tuple[tuple[str, str], ...]:
    """What to write back where code owns the volume, sent with the change or instead of it."""
    answer = decision.answer
    instead = isinstance(answer, Escalate) and INSTEAD in answer.cause.split("+")
    if kind != "applied" and not instead:
        return ()
    return tuple((single_line(part.where), part.text) for part in decision.write_back)


def _commands(decision: Decision, kind: str) -> tuple[tuple[str, str], ...]:
    """The exact commands that answer the message."""
    region, decision_id = decision.observation.volume.ref.region, decision.decision_id
    if not isinstance(decision.answer, Act):
        return ()
    if kind == "awaiting":
        return (
            ("Approve", f"headroom approve {decision_id} --region {region}"),
            ("Reject", f"headroom reject {decision_id} --region {region}"),
        )
    undoable = kind in UNDOABLE and decision.group is None  # a set is never rolled back
    if undoable and decision.answer.reason is not Reason.ROLLED_BACK:
        return (("Undo", f"headroom rollback {decision_id} --region {region}"),)
    return ()


def plan_of(decision: Decision) -> Plan | None:
    """The plan that is taken, or would be."""
    match decision.answer:
        case Act(plan=plan):
            return plan
        case Hold(proposed_plan=plan) | Escalate(proposed_plan=plan):
            return plan
        case _:
            assert_never(decision.answer)


def price_of(plan: Plan) -> str:
    """The change of the monthly price and what it comes to, in words."""
    return f"{plan.price_change_usd:+,.2f} USD a month, {plan.monthly_usd:,.2f} in all"


def plan_facts(plan: Plan) -> dict[str, object]:
    """A plan for machines; prices are numbers of USD a month, so that rules can compare them."""
    return {
        "from": configuration_facts(plan.origin),
        "to": configuration_facts(plan.target),
        "monthly_usd": round(float(plan.monthly_usd), 6),
        "price_change_usd": round(float(plan.price_change_usd), 6),
        "reversible": plan.reversible,
    }


def configuration_facts(configuration: Configuration) -> dict[str, object]:
    """A configuration for machines: GiB, IOPS, MiB/s; null where the type has none of its own."""
    return {
        "volume_type": configuration.volume_type.value,
        "size_gib": configuration.size_gib,
        "iops": configuration.iops,
        "throughput_mibps": configuration.throughput_mibps,
    }


def single_line(text: str) -> str:
    """External text on one line, without control characters, clipped."""
    plain = text.encode("utf-8", "replace").decode("utf-8")
    joined = " ".join("".join(c if c.isprintable() else " " for c in plain).split())
    return clipped(joined, LONGEST_LINE)


def clipped(text: str, most: int) -> str:
    """At most `most` characters of a text; a longer one ends in three dots."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def place_of(resource: str) -> tuple[str, str, str]:
    """The resource of a switch, its account and its Region; `?` where they are unknown."""
    if resource.startswith("account#"):
        _, account, region = (*resource.split("#"), "?", "?")[:3]
        return "the account", account, region
    parts = resource.split(":", 5)
    if len(parts) == 6:
        return called(resource), parts[4], parts[3]
    return resource, "?", "?"


def called(arn: str) -> str:
    """What the command line calls the storage with this ARN; what is no ARN comes back."""
    return arn.split(":", 5)[-1].removeprefix("volume/")
