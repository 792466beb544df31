"""Events of databases for EventBridge: RDS's own, and calls that CloudTrail records.

Source: RDS User Guide, "Monitoring Amazon RDS events" and "Amazon RDS event categories and event
messages" (checked 2026-11).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from headroom.localaws.events import iso, put_api_call, put_event, trail_shape
from headroom.localaws.rds.databases import DatabaseStore, DbCluster, DbInstance

_CONFIGURATION = "configuration change"
MESSAGES: Mapping[str, tuple[str, str]] = {
    "RDS-EVENT-0003": ("deletion", "DB instance deleted"),
    "RDS-EVENT-0005": ("creation", "DB instance created"),
    "RDS-EVENT-0006": ("availability", "DB instance restarted"),
    "RDS-EVENT-0007": (
        "low storage", "Allocated storage has been exhausted. Allocate additional storage to resolve."
    ),
    "RDS-EVENT-0012": (_CONFIGURATION, "Applying modification to database instance class"),
    "RDS-EVENT-0014": (_CONFIGURATION, "Finished applying modification to DB instance class"),
    "RDS-EVENT-0017": (_CONFIGURATION, "Finished applying modification to allocated storage"),
    "RDS-EVENT-0018": (_CONFIGURATION, "Applying modification to allocated storage"),
    "RDS-EVENT-0089": ("low storage", "The free storage capacity for the DB instance is low."),
    "RDS-EVENT-0170": ("creation", "DB cluster created."),
    "RDS-EVENT-0171": ("deletion", "DB cluster deleted."),
    "RDS-EVENT-0189": ("notification", "The gp2 burst balance credits are low."),
    "RDS-EVENT-0217": (
        _CONFIGURATION, "Applying autoscaling-initiated modification to allocated storage."
    ),
    "RDS-EVENT-0218": (
        _CONFIGURATION, "Finished applying autoscaling-initiated modification to allocated storage."
    ),
    "RDS-EVENT-0221": (
        "availability",
        "DB instance has reached the storage-full threshold, and the database has been shut down.",
    ),
    "RDS-EVENT-0223": ("failure", "Storage autoscaling is unable to scale the storage."),
}  # fmt: skip
"""Category and message by id; 0221 is one of availability, not of low storage."""


def put_database_event(
    store: DatabaseStore,
    database: DbInstance | DbCluster,
    event_id: str,
    at: datetime | None = None,
) -> None:
    """An `RDS DB Instance Event` or an `RDS DB Cluster Event`, by default now."""
    category, message = MESSAGES[event_id]
    at = at or store.cloud.clock.now()
    detail_type, source_type = database.event_type
    detail: dict[str, Any] = {
        "EventCategories": [category],
        "SourceType": source_type,
        "SourceArn": arn(store, database),
        "Date": iso(at),
        "Message": message,
        "SourceIdentifier": database.name,
        "EventID": event_id,
        "Tags": dict(database.tags),
    }
    put_event(
        store.cloud, store.account_region, source="aws.rds", detail_type=detail_type,
        resources=[detail["SourceArn"]], detail=detail, at=at,
    )  # fmt: skip


def arn(store: DatabaseStore, database: DbInstance | DbCluster) -> str:
    """ARN of a database."""
    there = store.account_region
    return f"arn:aws:rds:{there.region}:{there.account}:{database.arn_kind}:{database.name}"


def put_rds_call(
    store: DatabaseStore,
    operation: str,
    request: Mapping[str, Any],
    *,
    agent: str,
    answer: Mapping[str, Any] | None,
    error: tuple[str, str] | None,
) -> None:
    """A call as CloudTrail reports it: names begin in lower case, nothing is nested."""
    if not store.cloud.options.cloudtrail:
        return
    put_api_call(
        store.cloud, store.account_region, "rds", operation, trail_shape(request), store.cloud.ids.uuid("request"),
        response=None if answer is None else trail_shape(answer), agent=agent, error=error,
        more={"eventCategory": "Management"},
    )  # fmt: skip
