"""What people are handed of a decision about a volume that code owns as well."""

from __future__ import annotations

from headroom.domain.decision import Decision, write_back_text


def handoff_text(decision: Decision) -> str:
    """What to write where the volume's settings are kept, as plain text; empty without any."""
    if decision.code_owner is None or not decision.write_back:
        return ""
    return write_back_text(
        decision.code_owner, decision.write_back, noun=decision.observation.volume.ref.noun
    )
