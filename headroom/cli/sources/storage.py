"""Storage as it is, for commands that only read: they store no bookmark and change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from headroom.adapters.aurora import AuroraClusterStorage
from headroom.adapters.cloudwatch import (
    CloudWatchAuroraMetrics,
    CloudWatchMetrics,
    CloudWatchRdsMetrics,
)
from headroom.adapters.dispatch import MetricsByKind, StorageByKind
from headroom.adapters.ebs import EbsStorage
from headroom.adapters.prices import AuroraPriceBook, PriceList
from headroom.adapters.rds import RdsStorage
from headroom.cli.sources.account import Account
from headroom.domain.resources import Kind, ResourceRef
from headroom.ports import Metrics, Notes, Storage, StorageView

T = TypeVar("T")


class WithoutBookmarks:
    """Notes of one command: what it saw of a database is forgotten with it.

    Bookmarks that the functions stored are read from `notes` and stay as they are.
    """

    def __init__(self, notes: Notes | None = None) -> None:
        self._notes = notes
        self._own: dict[str, str] = {}

    def note(self, name: str) -> str:
        """What the functions stored, or else nothing."""
        if name in self._own or self._notes is None:
            return self._own.get(name, "")
        return self._notes.note(name)

    def amend(self, name: str, change: Callable[[str], tuple[str, T]]) -> T:
        """What `change` makes of the note, kept for this command alone."""
        self._own[name], result = change(self.note(name))
        return result


def storage_of(
    account: Account, *, notes: Notes | None = None, clusters: AuroraClusterStorage | None = None
) -> Storage:
    """Storage of every kind there; `clusters` are those of Aurora."""
    volumes = EbsStorage(account.ec2, account_id=account.account_id, region=account.region)
    aurora = clusters or clusters_of(account, notes=notes)
    databases = databases_of(account, notes=notes)
    return StorageByKind({Kind.EBS: volumes, Kind.RDS: databases, Kind.AURORA: aurora})


def clusters_of(
    account: Account, *, notes: Notes | None = None, price_list: PriceList | None = None
) -> AuroraClusterStorage:
    """The Aurora clusters there; `price_list` is read where no prices are stored."""
    stored = WithoutBookmarks(notes)
    book = AuroraPriceBook(stored, price_list, clock=lambda: account.now)
    if price_list is not None:
        book.refresh(account.region)
    return AuroraClusterStorage(
        account.client("rds"), metrics=CloudWatchAuroraMetrics(account.cloudwatch), prices=book,
        notes=stored, clock=lambda: account.now, account_id=account.account_id,
        region=account.region,
    )  # fmt: skip


def databases_of(account: Account, *, notes: Notes | None = None) -> Storage:
    """The databases of RDS there."""
    return RdsStorage(
        account.client("rds"), account.ec2, notes=WithoutBookmarks(notes), clock=lambda: account.now,
        account_id=account.account_id, region=account.region,
    )  # fmt: skip


def metrics_of(account: Account) -> Metrics:
    """Metrics of every kind there."""
    client = account.cloudwatch
    volumes = CloudWatchMetrics(client, account_id=account.account_id, region=account.region)
    return MetricsByKind(volumes, {Kind.RDS: CloudWatchRdsMetrics(client)})


def read_storage(account: Account, ref: ResourceRef) -> StorageView:
    """The volume or the database's storage; raises ResourceGone, ReadFailed.

    A database's latest change is known only while it is under way.
    """
    return storage_of(account).view(ref)
