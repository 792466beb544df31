"""From gp2 to gp3: more IOPS for the same money, and less throughput that nobody used.

gp3 has 3,000 IOPS and 125 MiB/s whatever its size (on RDS from the striping threshold on 12,000 and
500), while gp2 has up to 250 MiB/s a volume. Only throughput that no load came near may be given up.
Source: RDS User Guide, "Amazon RDS DB instance storage" (checked 2026-10).
"""

from __future__ import annotations

from dataclasses import replace

from headroom.domain.catalog import cheapest, included
from headroom.domain.catalog.ebs import capability
from headroom.domain.planning.plan import Plan
from headroom.domain.resources import Configuration, ValidStorage, VolumeType
from headroom.domain.workload import Demand


def least_gp3(
    current: Configuration, demand: Demand, valid: tuple[ValidStorage, ...], *, spare: float
) -> Configuration | None:
    """The cheapest gp3 of gp2's size that sustains its IOPS and the throughput that was used."""
    if current.volume_type is not VolumeType.GP2:
        return None
    iops = max(
        capability(current).burst_iops,
        included(replace(current, volume_type=VolumeType.GP3, iops=None, throughput_mibps=None))[0],
    )
    return cheapest(
        current, VolumeType.GP3, iops=iops, mibps=used_mibps(demand, iops) * spare, valid=valid
    )


def gives_up_only_unused(plan: Plan, demand: Demand, *, spare: float) -> bool:
    """Whether `plan` lowers nothing but throughput that no load came near.

    `spare` is the factor of the highest throughput that must remain: of the highest measured, and of
    what the present load would move with all the IOPS it gets.
    """
    now, then = capability(plan.origin), plan.capability
    if then.sustained_iops < now.sustained_iops or then.burst_iops < now.burst_iops:
        return False
    return used_mibps(demand, then.sustained_iops) * spare <= then.sustained_mibps


def used_mibps(demand: Demand, iops: float) -> float:
    """The most MiB/s that was measured, or that the present load would move at `iops`."""
    most = demand.peak_mibps
    if demand.iops.floor:
        most = max(most, demand.mibps.floor / demand.iops.floor * min(iops, demand.iops.upper))
    return most
