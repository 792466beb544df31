"""Events about databases: RDS's own, alarms on its metrics, and calls that CloudTrail reports.

RDS's events are sent as best it can: they may be missing or out of order, so all of them are hints
and the sweep does without. Source: RDS User Guide, "Amazon RDS event categories and event messages"
(2026-10).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from headroom.domain.resources import Claim

DETAIL_TYPES = ("RDS DB Instance Event", "RDS DB Cluster Event")
EVENTS: Mapping[str, tuple[Claim, str]] = MappingProxyType(
    {
        "RDS-EVENT-0017": (Claim.MODIFICATION, "finished changing allocated storage"),
        "RDS-EVENT-0018": (Claim.MODIFICATION, "changing allocated storage"),
        "RDS-EVENT-0217": (Claim.MODIFICATION, "storage autoscaling began"),
        "RDS-EVENT-0218": (Claim.MODIFICATION, "storage autoscaling finished"),
        "RDS-EVENT-0219": (Claim.MODIFICATION, "storage autoscaling waits for the instance"),
        "RDS-EVENT-0220": (Claim.MODIFICATION, "storage autoscaling waits after a change"),
        "RDS-EVENT-0189": (Claim.HINT, "gp2 burst balance is low"),
        "RDS-EVENT-0007": (Claim.HINT, "allocated storage is exhausted"),
        "RDS-EVENT-0089": (Claim.HINT, "more than 90 % of allocated storage is used"),
        # Both of category "availability", not "low storage": known by their ids alone.
        "RDS-EVENT-0221": (Claim.HINT, "storage is full, the database is shut down"),
        "RDS-EVENT-0222": (Claim.HINT, "storage is nearly full, the database will be shut down"),
        "RDS-EVENT-0223": (Claim.HINT, "storage autoscaling could not scale"),
        "RDS-EVENT-0224": (Claim.HINT, "storage autoscaling will reach its maximum"),
        "RDS-EVENT-0225": (Claim.HINT, "80 % of the maximum of storage autoscaling is allocated"),
    }
)
"""Events that say something of storage, by id."""
CALLS = {"ModifyDBInstance": "dBInstanceIdentifier", "ModifyDBCluster": "dBClusterIdentifier"}
"""Calls that may change storage, and the parameter that names the database."""

_NAME = re.compile(r"[A-Za-z](?:-?[A-Za-z0-9]){0,62}")
_EVENT_ID = re.compile(r"RDS-EVENT-[0-9]{4,6}")
_ARN = re.compile(
    r"arn:[a-z-]+:rds:([a-z0-9-]+):([0-9]{12}):(db:|cluster:)([A-Za-z](?:-?[A-Za-z0-9]){0,62})"
)
_DIMENSIONS = (("dbinstanceidentifier", ""), ("dbclusteridentifier", "cluster:"))
"""In lower case: AWS spells the first one `DbInstanceIdentifier` beside VolumeName."""
_ADDITIONAL = re.compile(r"rdsdbdata[2-4]")


def claim_of(
    detail: Mapping[str, object], *, account_id: str, region: str
) -> tuple[Claim, str, str]:
    """What an event of RDS claims, of which resource id, in words; raises ValueError."""
    event_id = detail.get("EventID")
    if not isinstance(event_id, str) or not _EVENT_ID.fullmatch(event_id):
        raise ValueError("the event of RDS has no EventID")
    claim, words = EVENTS.get(event_id, (Claim.NOTHING, "says nothing of storage"))
    arn = _ARN.fullmatch(str(detail.get("SourceArn", "")))
    if arn is None:
        raise ValueError("SourceArn names no DB instance and no DB cluster")
    if (arn[1], arn[2]) != (region, account_id):
        raise ValueError("SourceArn is of another place than the event")
    return claim, resource_id(arn[4], cluster=arn[3] == "cluster:"), f"{event_id}: {words}"


def of_dimensions(dimensions: Mapping[str, object]) -> str | None:
    """The resource id that a metric of RDS, or a contributor, is published of; None where none is."""
    by_name = {name.lower(): value for name, value in dimensions.items()}
    volume = str(by_name.get("volumename", "")).lower()
    suffix = f"/{volume}" if _ADDITIONAL.fullmatch(volume) else ""
    for name, prefix in _DIMENSIONS:
        value = by_name.get(name)
        if isinstance(value, str) and _NAME.fullmatch(value):
            return resource_id(value, cluster=bool(prefix)) + suffix
    return None


def of_call(call: str, parameters: Mapping[str, object]) -> str:
    """The resource id that a call names; raises ValueError."""
    key = CALLS[call]
    # CloudTrail writes dBInstanceIdentifier; the API itself begins with a capital.
    for name in (key, key[0].upper() + key[1:]):
        value = parameters.get(name)
        arn = _ARN.fullmatch(value) if isinstance(value, str) else None
        value = arn[4] if arn else value
        if isinstance(value, str) and _NAME.fullmatch(value):
            return resource_id(value, cluster=call == "ModifyDBCluster")
    raise ValueError(f"the {call} call names no database")


def resource_id(name: str, *, cluster: bool) -> str:
    """The one spelling of a database's id: RDS keeps names in lower case, whatever was typed."""
    return ("cluster:" if cluster else "") + name.lower()
