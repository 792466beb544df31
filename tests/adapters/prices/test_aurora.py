"""Prices of Aurora: read once a day, kept as a note, believed only if they can be."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError

from headroom.adapters.prices import AuroraPriceBook, PriceList
from headroom.domain.resources import PriceUnknown
from headroom.ports import ReadFailed
from headroom.proving.memory import InMemoryLedger
from tests.adapters.prices.test_aurora_offers import INSTANCES, SERVERLESS, STORAGE, product
from tests.builders import ACCOUNT, REGION

PG, MYSQL = "aurora-postgresql", "aurora-mysql"
OTHER = [
    product("InstanceUsage:db.r6g.large", "0.25", "Hrs", engine="Aurora MySQL"),
    product("InstanceUsageIOOptimized:db.r6g.large", "0.33", "Hrs", engine="Aurora MySQL"),
]


class Listed:
    """GetProducts by what was asked for."""

    def __init__(self) -> None:
        self.calls = 0
        self.down = False
        self.shared = [*STORAGE, *SERVERLESS]

    def get_products(self, **request: Any) -> dict[str, Any]:
        self.calls += 1
        if self.down:
            raise ConnectTimeoutError(endpoint_url="https://pricing")
        asked = {f["Field"]: f["Value"] for f in request["Filters"]}
        found = self.shared if asked["productFamily"] == "Database Storage" else []
        if asked["productFamily"] == "Database Instance":
            found = {"Aurora PostgreSQL": INSTANCES, "Aurora MySQL": OTHER}[asked["databaseEngine"]]
        return {"PriceList": found}


class Books:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 21, 12, tzinfo=UTC)
        self.listed = Listed()
        self.notes = InMemoryLedger(ACCOUNT, REGION)
        self.book = self.another()

    def another(self) -> AuroraPriceBook:
        """As another function has it."""
        return AuroraPriceBook(self.notes, PriceList(lambda: self.listed), clock=lambda: self.now)


def test_what_was_read_is_used_by_every_function_and_not_read_again_for_a_day() -> None:
    books = Books()
    assert books.book.aurora(REGION, PG).source == "catalogue"
    assert not books.book.listed()
    assert books.book.refresh(REGION) is None
    assert books.another().listed()
    calls = books.listed.calls
    found = books.another().aurora(REGION, PG)
    assert found.source == "price list"
    assert found.hour["db.r7g.xlarge"] == (Decimal("0.553"), Decimal("0.719"))
    assert found.million_ios == Decimal("0.2")
    assert books.another().aurora(REGION, MYSQL).hour["db.r6g.large"][0] == Decimal("0.25")
    books.now += timedelta(hours=23)
    assert books.another().refresh(REGION) is None
    assert books.listed.calls == calls
    books.now += timedelta(hours=2)
    books.another().refresh(REGION)
    assert books.listed.calls > calls


def test_a_list_that_does_not_answer_is_asked_once_an_hour_and_the_last_one_stays() -> None:
    books = Books()
    books.book.refresh(REGION)
    books.now += timedelta(days=2)
    books.listed.down = True
    problem = books.book.refresh(REGION)
    assert problem is not None
    assert "were not read anew" in problem
    calls = books.listed.calls
    assert books.another().refresh(REGION) is None
    assert books.listed.calls == calls
    assert books.another().aurora(REGION, PG).source == "price list"
    books.now += timedelta(days=31)
    assert books.another().aurora(REGION, PG).source == "catalogue (list not read)"


@pytest.mark.parametrize(
    ("usage", "usd", "unit"),
    [("Aurora:StorageIOUsage", "0.2", "IOs"), ("Aurora:StorageUsage", "102.4", "GB-Mo")],
)
def test_prices_that_a_wrong_unit_would_make_are_not_believed(
    usage: str, usd: str, unit: str
) -> None:
    books = Books()
    books.listed.shared = [
        *(text for text in (*STORAGE, *SERVERLESS) if f'"{usage}"' not in text),
        product(usage, usd, unit),
    ]
    assert books.book.refresh(REGION) is not None
    assert books.book.aurora(REGION, PG).source.startswith("catalogue")


def test_a_bookmark_that_cannot_be_read_leaves_the_dated_table() -> None:
    books = Books()

    def broken(name: str) -> str:
        raise ReadFailed("no answer")

    books.notes.note = broken  # type: ignore[method-assign]
    assert books.another().aurora(REGION, PG).source == "catalogue"
    with pytest.raises(PriceUnknown):
        books.another().aurora("eu-north-1", PG)


def test_a_bookmark_of_another_release_counts_as_none() -> None:
    books = Books()
    books.notes.amend("aurora-prices", lambda _: ('{"engines":"many"}', None))
    assert books.book.aurora(REGION, PG).source == "catalogue"
    assert books.book.refresh(REGION) is None
    assert books.another().aurora(REGION, PG).source == "price list"
