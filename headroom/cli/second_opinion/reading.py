"""Reads the recommendations of an account; what cannot be read is a sentence, and the rest goes on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from headroom.adapters.compute_optimizer import ComputeOptimizer, NotEnrolled, Recommendation
from headroom.cli.sources.account import Account
from headroom.cli.terminal.names import short
from headroom.domain.resources import Kind
from headroom.ports import ReadFailed

ENROL = "aws compute-optimizer update-enrollment-status --status Active"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommended:
    """The recommendations of an account and Region, by ARN, and what could not be read."""

    by_arn: Mapping[str, Recommendation] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def recommended(where: Account, kinds: Collection[Kind], arn: str | None = None) -> Recommended:
    """What Compute Optimizer recommends for resources of these kinds, or for the one of `arn`."""
    optimizer = ComputeOptimizer(where.client("compute-optimizer"))
    reads = {
        "volumes": (optimizer.volumes, {Kind.EBS}),
        "databases": (optimizer.databases, {Kind.RDS, Kind.AURORA}),
    }
    found: dict[str, Recommendation] = {}
    notes: list[str] = []
    for what, (read, of) in reads.items():
        if not of & set(kinds):
            continue
        try:
            answer = read(arn)
        except NotEnrolled:
            return Recommended(
                notes=(
                    f"No second opinion: account {where.account_id} is not enrolled in Compute "
                    f"Optimizer; `{ENROL}` enrols it",
                )
            )
        except ReadFailed as failed:
            notes.append(f"No second opinion on {what} in {where.region}: {failed}".rstrip("."))
            continue
        found.update(answer.by_arn)
        if arn is not None and arn not in found:
            why = f": {answer.missing[arn]}" if arn in answer.missing else ""
            about = f"Compute Optimizer has no recommendation for {short(arn)}{why}"
            notes.append(f"No second opinion: {about}".rstrip("."))
    return Recommended(by_arn=found, notes=tuple(notes))
