"""The last price list that was read, kept in the state table beside the account's other items."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from headroom.adapters.errors import code_of, reading, writing
from headroom.adapters.ledger import Item, Reads, moment, readable, stamped, unwire, wire
from headroom.adapters.tables import PRICES, account_key
from headroom.domain.catalog import PriceTable
from headroom.serialization import Unreadable, from_json, to_json

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPrices:
    """A table as it was read from the Price List API, and when.

    `refused` is why the API's latest table was not believed, None when it was; `missing` is which prices of
    databases were not in it.
    """

    table: PriceTable | None
    read_at: datetime | None
    refused: str | None
    missing: str | None = None


NO_STORED_PRICES = StoredPrices(table=None, read_at=None, refused=None)


class PriceStore:
    """One item per account and Region; every method raises ReadFailed when DynamoDB does not answer."""

    def __init__(self, client: DynamoDBClient, *, table: str, account_id: str) -> None:
        self._client: Any = client
        self._table = table
        self._account_id = account_id

    def held(self, region: str) -> StoredPrices:
        """What was kept last; a table that this release cannot read counts as none."""
        found = Reads(self._client).items(self._table, [self._key(region)])
        if not found:
            return NO_STORED_PRICES
        with reading(f"the kept prices of {region}"):
            plain = {name: unwire(value) for name, value in readable(found[0]).items()}
            read_at = plain.get("read_at")
            try:
                table = from_json(plain["prices"], PriceTable) if "prices" in plain else None
            except Unreadable:
                table = None
            return StoredPrices(
                table=table,
                read_at=datetime.fromisoformat(read_at).astimezone(UTC) if read_at else None,
                refused=plain.get("refused"),
                missing=plain.get("missing") or None,
            )

    def claim(self, region: str, *, now: datetime, unless_since: datetime) -> bool:
        """Whether the caller may ask the API: nobody has tried after `unless_since`."""
        return self._update(
            region, "SET #tried = :now", {"#tried": "tried_at"},
            {":now": wire(moment(now)), ":since": wire(moment(unless_since))},
            condition="(attribute_not_exists(#tried) OR #tried <= :since) "
            "AND (attribute_not_exists(#format) OR #format <= :format)",
        )  # fmt: skip

    def keep(self, table: PriceTable, *, now: datetime, missing: str | None = None) -> None:
        """Keep a table that passed the checks, in place of the last one."""
        self._update(
            table.region, "SET #prices = :prices, #read = :now, #missing = :missing REMOVE #refused",
            {"#prices": "prices", "#read": "read_at", "#refused": "refused", "#missing": "missing"},
            {
                ":prices": wire(to_json(table)), ":now": wire(moment(now)),
                ":missing": wire(missing or ""),
            },
        )  # fmt: skip

    def refuse(self, region: str, why: str) -> None:
        """Record why the API's latest table was refused; the last accepted one stays."""
        self._update(region, "SET #refused = :why", {"#refused": "refused"}, {":why": wire(why)})

    def _update(
        self, region: str, expression: str, names: dict[str, str], values: Item,
        condition: str | None = None,
    ) -> bool:  # fmt: skip
        """Whether the condition held."""
        update = {
            "TableName": self._table,
            "Key": self._key(region),
            "UpdateExpression": expression,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
        }
        update |= {} if condition is None else {"ConditionExpression": condition}
        with writing("UpdateItem"):
            try:
                self._client.update_item(**stamped(update))
            except ClientError as error:
                if code_of(error) != "ConditionalCheckFailedException":
                    raise
                return False
        return True

    def _key(self, region: str) -> Item:
        return {"owner": wire(account_key(self._account_id, region)), "item": wire(PRICES)}
