"""Handoff: the text to write back to the code that also owns a volume."""

from __future__ import annotations

from headroom.domain.catalog import setting_names
from headroom.domain.decision import Decision, settings, write_back_text


def handoff_text(decision: Decision) -> str:
    """The text to write back, as plain text; empty if there is none."""
    if decision.code_owner is None or not decision.write_back:
        return ""
    return write_back_text(
        decision.code_owner, decision.write_back, noun=decision.observation.volume.ref.noun
    )


def handoff_values(decision: Decision) -> dict[str, object] | None:
    """The same for machines: whose files, which resource in them, and its settings by their names.

    A setting that must not be there is None. The result is None where there is nothing to write back.
    """
    owner, plan = decision.code_owner, decision.plan
    if owner is None or plan is None or not decision.write_back:
        return None
    names = setting_names(decision.observation.volume.ref)
    resource_type, values = settings(owner.tool, names, plan.target)
    return {
        "tool": owner.tool.value,
        "stack": owner.stack or None,
        "logical_id": owner.logical_id or None,
        "cluster": owner.cluster or None,
        "namespace": owner.namespace or None,
        "claim": owner.claim or None,
        "driver": owner.driver or None,
        "name": decision.observation.volume.tag("Name"),
        "resource_type": resource_type,
        "settings": values,
    }
