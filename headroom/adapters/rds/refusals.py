"""What a failed ModifyDBInstance or ModifyDBCluster call means.

RDS says `InvalidParameterCombination` both of a request that is wrong and of one that comes too
early; only the message distinguishes them. Source: RDS API 2014-10-31; words as reported in
github.com/hashicorp/terraform-provider-aws, issues 12493, 28160 and 33512 (checked 2026-11).
"""

from __future__ import annotations

from dataclasses import replace

from headroom.adapters.errors import refusal_of
from headroom.domain.state import Refusal, Refused, Unknown

REFUSALS = {
    "InvalidDBInstanceState": Refusal.IN_FLIGHT,
    "InvalidDBClusterStateFault": Refusal.IN_FLIGHT,
    "StorageQuotaExceeded": Refusal.REGION_QUOTA,
    "ProvisionedIopsNotAvailableInAZFault": Refusal.REGION_QUOTA,
    "InsufficientDBInstanceCapacity": Refusal.REGION_QUOTA,
    "InsufficientStorageClusterCapacity": Refusal.REGION_QUOTA,
    "StorageTypeNotSupported": Refusal.UNSUPPORTED,
    "StorageTypeNotAvailableFault": Refusal.UNSUPPORTED,
    "DBUpgradeDependencyFailure": Refusal.UNSUPPORTED,
    "KMSKeyNotAccessibleFault": Refusal.DENIED,
    "DBInstanceNotFound": Refusal.GONE,
    "DBClusterNotFoundFault": Refusal.GONE,
    "AccessDenied": Refusal.DENIED,
}
"""Error codes of RDS by what they mean for us; those it shares with EC2 are in `errors`."""

_BY_WORDS = (
    # In this order: the first that a message contains decides. Codes stay what AWS gave.
    ("previous storage change is being optimized", Refusal.IN_FLIGHT),
    ("currently modify the storage", Refusal.IN_FLIGHT),
    ("cooling-off period", Refusal.SLOTS),
    ("24-hour", Refusal.SLOTS),
    ("24 hour", Refusal.SLOTS),
    ("maximum number of storage modifications", Refusal.SLOTS),
    ("at least 6 hours", Refusal.SLOTS),
)
"""What RDS says when a change comes too early.

That of the fifth change in 24 hours is not documented: whatever speaks of that time is taken for it.
"""
_GATE = "less than one month ago"
"""What RDS says of a cluster that was made I/O-Optimized within 30 days; else the type is not there."""
_MAY_BE_EARLY = ("InvalidParameterCombination", "InvalidParameterValue", "InvalidDBInstanceState")


def rds_refusal_of(error: BaseException) -> Refused | Unknown:
    """Refused only when RDS certainly did nothing; a server error or a time-out is Unknown."""
    plain = refusal_of(error)
    if isinstance(plain, Unknown):
        return plain
    if plain.code == "StorageTypeNotAvailableFault" and _GATE in plain.message.lower():
        return replace(plain, refusal=Refusal.GATE)
    if plain.code in _MAY_BE_EARLY:
        said = plain.message.lower()
        for words, refusal in _BY_WORDS:
            if words in said:
                return replace(plain, refusal=refusal)
    return replace(plain, refusal=REFUSALS.get(plain.code, plain.refusal))
