"""Storage as it is, for commands that only read: nothing seen here is noted, nothing is changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from headroom.adapters.ebs import EbsStorage
from headroom.adapters.rds import RdsStorage
from headroom.cli.account import Account
from headroom.domain.resources import Kind, ResourceRef
from headroom.ports import StorageView

T = TypeVar("T")


class Unnoted:
    """Notes of one command: what it saw of a database is forgotten with it."""

    def note(self, name: str) -> str:
        """Nothing was ever noted."""
        return ""

    def amend(self, name: str, change: Callable[[str], tuple[str, T]]) -> T:
        """What `change` makes of nothing."""
        return change("")[1]


def read_storage(account: Account, ref: ResourceRef) -> StorageView:
    """The volume or the database's storage; raises ResourceGone, ReadFailed.

    A database's latest change is told only while it is under way.
    """
    account_id, region = account.account_id, account.region
    if ref.kind is Kind.RDS:
        databases = RdsStorage(
            account.client("rds"), account.ec2, notes=Unnoted(), clock=lambda: account.now,
            account_id=account_id, region=region,
        )  # fmt: skip
        return databases.view(ref)
    return EbsStorage(account.ec2, account_id=account_id, region=region).view(ref)
