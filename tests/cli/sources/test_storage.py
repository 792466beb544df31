"""Commands read a database as it is, and leave no note of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from headroom.cli.sources.account import Account
from headroom.cli.sources.storage import WithoutBookmarks, read_storage
from headroom.domain.resources import Kind, ResourceRef, VolumeType
from headroom.ports import ResourceGone
from headroom.proving.memory import InMemoryLedger
from tests.adapters.rds.service import InstanceTypes, RdsService, db
from tests.builders import ACCOUNT, NOW, REGION
from tests.domain.databases import rds


def database(name: str) -> ResourceRef:
    return ResourceRef(kind=Kind.RDS, account_id=ACCOUNT, region=REGION, resource_id=name)


def test_a_database_is_read_through_rds_and_not_taken_for_a_volume() -> None:
    service = RdsService.of(db())
    here = SimpleNamespace(
        account_id=ACCOUNT,
        region=REGION,
        now=NOW,
        ec2=InstanceTypes(),
        cloudwatch=None,
        client=lambda _: service,
    )
    account = cast(Account, here)
    view = read_storage(account, database("orders"))
    assert view.volume.configuration == rds(VolumeType.GP2, 500)
    assert view.modification is None
    with pytest.raises(ResourceGone):
        read_storage(account, database("elsewhere"))


def test_what_a_command_saw_is_forgotten_with_it() -> None:
    ledger = InMemoryLedger(ACCOUNT, REGION)
    ledger.amend("rds/orders", lambda _: ("before", None))
    bookmarks = WithoutBookmarks(ledger)
    assert bookmarks.amend("rds/orders", lambda text: (f"{text}, seen", "done")) == "done"
    assert bookmarks.note("rds/orders") == "before, seen"  # the command itself stays of one mind
    assert ledger.note("rds/orders") == "before"
    assert WithoutBookmarks(ledger).note("rds/orders") == "before"
    assert WithoutBookmarks().note("rds/orders") == ""
