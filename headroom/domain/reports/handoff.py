"""Handoff: the text to write back to the code that also owns a volume."""

from __future__ import annotations

from headroom.domain.decision import Decision, write_back_text


def handoff_text(decision: Decision) -> str:
    """The text to write back, as plain text; empty if there is none."""
    if decision.code_owner is None or not decision.write_back:
        return ""
    return write_back_text(
        decision.code_owner, decision.write_back, noun=decision.observation.volume.ref.noun
    )
