"""The owner's floor: what giving back must leave of IOPS and throughput."""

from __future__ import annotations

from math import inf

from headroom.domain.guardrails.case import Case, verdict_of
from headroom.domain.guardrails.verdicts import Guardrail, Relation, Verdict
from headroom.domain.workload import Binding


def give_back_floor(case: Case) -> Verdict:
    """Block lowering performance below the IOPS and MiB/s that the owner wants kept.

    The verdict shows the side that is shorter; the detail shows the other.
    """
    if not case.plan.gives_back(draining=case.diagnosis.binding is Binding.BURST_CREDITS):
        return verdict_of(
            Guardrail.GIVE_BACK_FLOOR, Relation.IS, "lowers nothing", "lowers nothing", ""
        )
    can, limits = case.plan.capability, case.effective.limits
    sides = (
        (can.sustained_iops, limits.min_iops, "IOPS"),
        (can.sustained_mibps, limits.min_throughput_mibps, "MiB/s"),
    )
    (value, least, unit), (left, floor, other) = sorted(
        sides, key=lambda side: side[0] / side[1] if side[1] else inf
    )
    return verdict_of(
        Guardrail.GIVE_BACK_FLOOR, Relation.AT_LEAST, value, least, unit,
        f"and {left:g} {other} of at least {floor:,}",
    )  # fmt: skip
