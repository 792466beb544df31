"""A decision and a recommendation about the same resource, in the same terms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from headroom.adapters.compute_optimizer import Recommendation, RecommendedStorage
from headroom.domain.catalog import included
from headroom.domain.catalog.ebs import LIMITS, capability
from headroom.domain.catalog.rds import band_of
from headroom.domain.decision import Decision
from headroom.domain.guardrails import PlanJudgement, Verdict
from headroom.domain.planning import Plan
from headroom.domain.resources import STORAGE_MODES, Configuration, VolumeType


def configured(said: RecommendedStorage, current: Configuration) -> Configuration | None:
    """The configuration that is meant, for storage that is `current` now.

    Without what its type derives. None for a type that Headroom does not know.
    """
    try:
        kind = VolumeType(said.volume_type.lower().partition(" ")[0])  # "io2 Block Express" is io2
    except ValueError:
        return None
    if (kind in STORAGE_MODES) != (current.volume_type in STORAGE_MODES):
        return None
    if kind in STORAGE_MODES:
        return replace(current, volume_type=kind)
    bare = replace(
        current, volume_type=kind, size_gib=said.size_gib or current.size_gib, iops=None,
        throughput_mibps=None,
    )  # fmt: skip
    rules = LIMITS[kind]
    sets_iops, sets_mibps = rules.iops is not None, rules.throughput_mibps is not None
    if current.database is not None:
        band = band_of(bare)
        sets_iops, sets_mibps = bool(band and band.iops), bool(band and band.mibps)
    iops, mibps = said.iops, said.throughput_mibps
    if kind is VolumeType.GP3:
        least = included(bare)
        iops, mibps = iops or int(least[0]), mibps or int(least[1])
    if sets_iops and not iops:
        return None
    return replace(
        bare, iops=iops if sets_iops else None, throughput_mibps=mibps if sets_mibps else None
    )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A decision and a recommendation about the same resource.

    `judged` is Headroom's own verdict on what is recommended; None where it has none.
    """

    decision: Decision
    recommendation: Recommendation
    judged: PlanJudgement | None

    @property
    def current(self) -> Configuration:
        """What the storage is."""
        return self.decision.observation.volume.configuration

    @property
    def plan(self) -> Plan | None:
        """What Headroom would change."""
        return self.decision.plan

    @property
    def target(self) -> Configuration:
        """What Headroom would make of it, or keep."""
        return self.current if self.plan is None else self.plan.target

    @cached_property
    def advised(self) -> Configuration | None:
        """What Compute Optimizer would make of it, or keep; None if Headroom does not know it."""
        said = self.recommendation.target
        return self.current if said is None else configured(said, self.current)

    @property
    def agrees(self) -> bool:
        """Whether both want the same."""
        return self.advised == self.target

    @property
    def keeps(self) -> bool:
        """Whether Compute Optimizer would change nothing."""
        return self.advised == self.current

    @property
    def is_aurora(self) -> bool:
        """Whether its only setting is how its storage is billed."""
        return self.current.volume_type in STORAGE_MODES

    @property
    def verb(self) -> str:
        """What it does with its configuration."""
        return "keeps" if self.keeps else "recommends"

    @property
    def changed_at(self) -> datetime | None:
        """When the storage was last changed, as far as that is known."""
        seen = self.decision.observation.modification
        known = [m.started_at for m in self.decision.resource_state.modifications]
        return max((*known, *([] if seen is None else [seen.started_at])), default=None)

    def delivers(self, what: int) -> tuple[float, float]:
        """What the advised storage delivers at most and what Headroom's does: IOPS (0), MiB/s (1)."""
        found = [capability(one) for one in (self.advised or self.current, self.target)]
        rates = [(can.burst_iops, can.burst_mibps)[what] for can in found]
        return rates[0], rates[1]

    @property
    def blocking(self) -> tuple[Verdict, ...]:
        """The verdicts that block Headroom's own plan."""
        judged = next((j for j in self.decision.judgements if j.plan == self.plan), None)
        return () if judged is None else judged.blocking
