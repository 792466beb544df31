"""What EventBridge is told of databases: RDS's own events, and calls as CloudTrail tells them.

Source: RDS User Guide, "Monitoring Amazon RDS events" and "Amazon RDS event categories and event
messages" (checked 2026-11).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from headroom.localaws.events import put_api_call, put_event
from headroom.localaws.rds.databases import CLUSTER, DatabaseStore

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
"""Category and words by id; 0221 is told as one of availability, not of low storage."""


def put_database_event(
    book: DatabaseStore, name: str, event_id: str, at: datetime | None = None
) -> None:
    """An event about a database by a name of the book's, `cluster:NAME` for a cluster."""
    if name.startswith(CLUSTER):
        put_cluster_event(book, name.removeprefix(CLUSTER), event_id, at)
    else:
        put_instance_event(book, name, event_id, at)


def put_instance_event(
    book: DatabaseStore, name: str, event_id: str, at: datetime | None = None
) -> None:
    """An `RDS DB Instance Event`."""
    one = book.instances.get(name)
    tags = one.tags if one is not None else {}
    _put(book, "db", name, event_id, tags, "RDS DB Instance Event", "DB_INSTANCE", at)


def put_cluster_event(
    book: DatabaseStore, name: str, event_id: str, at: datetime | None = None
) -> None:
    """An `RDS DB Cluster Event`."""
    one = book.clusters.get(name)
    tags = one.tags if one is not None else {}
    _put(book, "cluster", name, event_id, tags, "RDS DB Cluster Event", "CLUSTER", at)


def arn(book: DatabaseStore, kind: str, name: str) -> str:
    """ARN of a `db` or a `cluster`."""
    return f"arn:aws:rds:{book.account_region.region}:{book.account_region.account}:{kind}:{name}"


def _put(
    book: DatabaseStore, kind: str, name: str, event_id: str, tags: Mapping[str, str],
    detail_type: str, source_type: str, at: datetime | None,
) -> None:  # fmt: skip
    category, message = MESSAGES[event_id]
    at = at or book.cloud.clock.now()
    detail: dict[str, Any] = {
        "EventCategories": [category],
        "SourceType": source_type,
        "SourceArn": arn(book, kind, name),
        "Date": _iso(at),
        "Message": message,
        "SourceIdentifier": name,
        "EventID": event_id,
        "Tags": dict(tags),
    }
    put_event(
        book.cloud, book.account_region, source="aws.rds", detail_type=detail_type,
        resources=[detail["SourceArn"]], detail=detail, at=at,
    )  # fmt: skip


def put_rds_call(
    book: DatabaseStore,
    operation: str,
    request: Mapping[str, Any],
    *,
    agent: str,
    answer: Mapping[str, Any] | None,
    error: tuple[str, str] | None,
) -> None:
    """A call as CloudTrail tells it: names begin in lower case, nothing is nested."""
    if not book.cloud.options.cloudtrail:
        return
    put_api_call(
        book.cloud, book.account_region, "rds", operation, _plain(request), book.cloud.ids.uuid("request"),
        response=None if answer is None else _plain(answer), agent=agent, error=error,
        more={"eventCategory": "Management"},
    )  # fmt: skip


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key[0].lower() + key[1:]: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return _iso(value) if isinstance(value, datetime) else value


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
