"""AWS's quotas for concurrent modifications, per account and Region.

Defaults, which AWS raises on request: the owner's own numbers are in the policy
(`account.regional_quotas`). There is no IOPS quota for gp3.
Source: EBS User Guide, "Amazon EBS quotas" (ebs-resource-quotas), read 2026-10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

TIB = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A quota: its default, and its code in Service Quotas, empty if unknown.

    `scale` GiB or IOPS are one `unit`, which AWS and the policy use.
    """

    name: str
    unit: str
    default: int
    code: str = ""
    scale: int = 1


_GIB = ("gp2", "gp3", "io1", "io2", "st1", "sc1", "standard")
_CODES = {"gp2": "L-F06E64A8", "gp3": "L-59C8FC87", "io1": "L-5F80CA91", "io2": "L-9A0E0F82"}

QUOTAS: Mapping[str, Quota] = MappingProxyType(
    {
        **{
            f"{kind}_gib": Quota(
                name=f"{kind}_tib", unit="TiB", default=20 if kind == "io2" else 500,
                code=_CODES.get(kind, ""), scale=TIB,
            )
            for kind in _GIB
        },
        "io1_iops": Quota(name="io1_iops", unit="IOPS", default=500_000, code="L-98A0B26D"),
        "io2_iops": Quota(name="io2_iops", unit="IOPS", default=100_000, code="L-35B31D98"),
    }
)  # fmt: skip
"""Quotas by what is counted (see `state.quota_usage`); `name` is the name in a policy."""
BY_NAME: Mapping[str, Quota] = MappingProxyType({quota.name: quota for quota in QUOTAS.values()})
MOST_TIB, MOST_IOPS = 1_000_000, 1_000_000_000


def quota_limit(counted: str, owners: tuple[tuple[str, int], ...]) -> int:
    """The quota in GiB or IOPS: the owner's number, else AWS's default."""
    quota = QUOTAS[counted]
    return dict(owners).get(quota.name, quota.default) * quota.scale
