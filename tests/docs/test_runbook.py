"""docs/operate/runbook.md has an entry for everything that a person may have to act on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headroom.adapters.notifications.messages import HEADLINES, OF_CLUSTERS
from headroom.domain.guardrails import Guardrail
from headroom.domain.reports.message_rate import NEEDS_YOU
from headroom.domain.workload import Binding
from tools.guardrails.entries import ENTRIES

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "operate" / "runbook.md").read_text(encoding="utf-8")
CAUSES = {
    cause
    for row in re.findall(r"^\| (`.*?) \|", TEXT.split("## Escalations")[1], re.M)
    for cause in re.findall(r"`([a-z_]+)", row)
}
NEVER_A_CAUSE = frozenset(
    {
        Guardrail.MODE, Guardrail.APPROVAL, Guardrail.GIVE_BACK, Guardrail.GIVE_BACK_FLOOR,
        Guardrail.GIVE_BACK_REVERSIBLE, Guardrail.BILLED_IO, Guardrail.MARGIN, Guardrail.STEADY,
        Guardrail.RHYTHM, Guardrail.SLOW_COMMITS,
    }
)  # fmt: skip
"""Guardrails that do not clear by themselves and end in a hold, without a notification."""
OTHER_CAUSES = (
    Binding.INSTANCE_IOPS, Binding.INSTANCE_THROUGHPUT, "closed_loop", "cost_benefit", "late_metrics",
    "long_unmeasured", "no_plan", "price_unknown", "still_refused", "still_refused_giving_back",
    "left_as_changed", "kept_from_raising", "kept_from_giving_back",
    "rollback_blocked", "rollback_expired", "rollback_has_no_way", "rollback_in_use",
    "space_growth", "space_approval_today", "space_autoscaling_maximum", "space_autoscaling_waits",
    "space_autoscaling_late",
    "space_price_unknown", "space_no_plan", "space_unclear", "space_storage_full",
    "space_file_system",
)  # fmt: skip


@pytest.mark.parametrize("guardrail", [g for g in ENTRIES if ENTRIES[g].clears is None])
def test_every_guardrail_that_only_a_person_can_clear_has_an_entry(guardrail: Guardrail) -> None:
    assert (guardrail.value in CAUSES) is (guardrail not in NEVER_A_CAUSE)


@pytest.mark.parametrize("cause", OTHER_CAUSES)
def test_every_other_cause_of_an_escalation_has_an_entry(cause: str) -> None:
    assert cause in CAUSES


@pytest.mark.parametrize("kind", sorted(NEEDS_YOU | {"expired", "withdrawn", "diverged"}))
def test_every_message_that_needs_a_person_has_an_entry(kind: str) -> None:
    section = TEXT.split("## Messages about a change")[1].split("\n## ")[0]
    headline = HEADLINES[kind].replace("{volume}", "").strip()
    assert f'| "{headline}' in section
    assert OF_CLUSTERS["ineffective"].replace(" {volume}", "") in section
