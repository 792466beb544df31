"""EBS limits of instance types, for simulations without an account.

Source: DescribeInstanceTypes, EbsInfo.EbsOptimizedInfo, without bare metal, as published with
moto 5.2.5 (2026); Amazon EC2 User Guide, "EBS-optimized instance types". AWS speaks of decimal
MB/s, this module of MiB/s.
"""

from __future__ import annotations

import csv
from difflib import get_close_matches
from functools import cache
from importlib.resources import files

from headroom.domain.resources import InstanceLimits
from headroom.proving.inputs import BadInput

MIB_PER_MB = 1_000_000 / 1_048_576
BOUNDLESS = InstanceLimits(
    instance_type="boundless",
    nitro=True,
    baseline_iops=10**12,
    baseline_mibps=1e12,
    maximum_iops=10**12,
    maximum_mibps=1e12,
)
"""The limits of an instance that never binds, for scenarios that name none."""


def instance_limits(instance_type: str) -> InstanceLimits:
    """EBS limits of `instance_type`; raises BadInput for one the table does not have."""
    table = _table()
    if instance_type not in table:
        like = get_close_matches(instance_type, table, n=1)
        hint = f" (did you mean {like[0]}?)" if like else ""
        raise BadInput(
            f"instance type {instance_type!r} is not in the table of {len(table)}{hint}; give "
            "baseline_iops, baseline_throughput_mbps, maximum_iops and maximum_throughput_mbps "
            "instead."
        )
    return table[instance_type]


def mb_to_mib_per_s(decimal_mb_per_s: float) -> float:
    """MiB/s of a throughput in AWS's decimal MB/s."""
    return decimal_mb_per_s * MIB_PER_MB


@cache
def _table() -> dict[str, InstanceLimits]:
    text = (files("headroom.proving") / "data" / "instance_types.csv").read_text(encoding="ascii")
    return {
        row["instance_type"]: InstanceLimits(
            instance_type=row["instance_type"],
            nitro=row["nitro"] == "yes",
            baseline_iops=int(row["baseline_iops"]),
            baseline_mibps=mb_to_mib_per_s(float(row["baseline_mb_per_s"])),
            maximum_iops=int(row["maximum_iops"]),
            maximum_mibps=mb_to_mib_per_s(float(row["maximum_mb_per_s"])),
        )
        for row in csv.DictReader(text.splitlines())
    }
