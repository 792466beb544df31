"""Databases from gp2 to gp3 below the striping threshold: more IOPS, less unused throughput.

Below its engine's striping threshold gp3 has 3,000 IOPS and 125 MiB/s, whatever its size, while
gp2 has up to 250 MiB/s. Only throughput that the load never came near may be given up.
Source: RDS User Guide, "Amazon RDS DB instance storage" (checked 2026-10).
"""

from __future__ import annotations

from dataclasses import replace

from headroom.domain.catalog.ebs import capability
from headroom.domain.catalog.rds import band_of, why_refused
from headroom.domain.planning.plan import Plan
from headroom.domain.resources import Configuration, ValidStorage, VolumeType
from headroom.domain.workload import Demand


def plain_gp3(current: Configuration, valid: tuple[ValidStorage, ...] = ()) -> Configuration | None:
    """gp3 of the same size without settings; None where it has settings, or RDS refuses it."""
    if current.database is None or current.volume_type is not VolumeType.GP2:
        return None
    found = replace(current, volume_type=VolumeType.GP3, iops=None, throughput_mibps=None)
    band = band_of(found)
    if band is None or band.iops or why_refused(current, found, valid) is not None:
        return None
    return found


def gives_up_only_unused(plan: Plan, demand: Demand, *, spare: float) -> bool:
    """Whether `plan` takes only throughput from a database's gp2 that no load came near.

    `spare` is the factor of the highest throughput that must remain: of the highest measured, and of
    what the present load would move with all the IOPS it gets.
    """
    if plan.target != plain_gp3(plan.origin):
        return False
    now, then = capability(plan.origin), plan.capability
    if then.sustained_iops < now.sustained_iops or then.burst_iops < now.burst_iops:
        return False
    most = demand.peak_mibps
    if demand.iops.floor:
        per_operation = demand.mibps.floor / demand.iops.floor
        most = max(most, per_operation * min(then.sustained_iops, demand.iops.upper))
    return most * spare <= then.sustained_mibps
