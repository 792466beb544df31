"""The last price list that was read, kept in the state table beside the account's other items."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from headroom.adapters.errors import code_of, reading
from headroom.adapters.ledger import PRICES, Item, Reads, account_key, moment, unwire, wire
from headroom.domain.catalog import PriceTable
from headroom.serialization import Unreadable, from_json, to_json

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPrices:
    """A table as it was read from the Price List API, and when.

    `refused` is why the API's latest table was not believed, None when it was.
    """

    table: PriceTable | None
    read_at: datetime | None
    refused: str | None


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
            plain = {name: unwire(value) for name, value in found[0].items()}
            read_at = plain.get("read_at")
            try:
                table = from_json(plain["prices"], PriceTable) if "prices" in plain else None
            except Unreadable:
                table = None
            return StoredPrices(
                table=table,
                read_at=datetime.fromisoformat(read_at).astimezone(UTC) if read_at else None,
                refused=plain.get("refused"),
            )

    def claim(self, region: str, *, now: datetime, unless_since: datetime) -> bool:
        """Whether the caller is the one to ask the API: nobody has tried after `unless_since`."""
        update = {
            "TableName": self._table,
            "Key": self._key(region),
            "UpdateExpression": "SET #tried = :now",
            "ConditionExpression": "attribute_not_exists(#tried) OR #tried <= :since",
            "ExpressionAttributeNames": {"#tried": "tried_at"},
            "ExpressionAttributeValues": {
                ":now": wire(moment(now)), ":since": wire(moment(unless_since)),
            },
        }  # fmt: skip
        with reading("UpdateItem"):
            try:
                self._client.update_item(**update)
            except ClientError as error:
                if code_of(error) != "ConditionalCheckFailedException":
                    raise
                return False
        return True

    def keep(self, table: PriceTable, *, now: datetime) -> None:
        """Keep a table that was believed, in place of the last one."""
        names = {"#prices": "prices", "#read": "read_at", "#refused": "refused"}
        with reading("UpdateItem"):
            self._client.update_item(
                TableName=self._table,
                Key=self._key(table.region),
                UpdateExpression="SET #prices = :prices, #read = :now REMOVE #refused",
                ExpressionAttributeNames=names,
                ExpressionAttributeValues={
                    ":prices": wire(to_json(table)), ":now": wire(moment(now)),
                },
            )  # fmt: skip

    def refuse(self, region: str, why: str) -> None:
        """Remember that the API's latest table was not believed; the last one that was stays."""
        with reading("UpdateItem"):
            self._client.update_item(
                TableName=self._table,
                Key=self._key(region),
                UpdateExpression="SET #refused = :why",
                ExpressionAttributeNames={"#refused": "refused"},
                ExpressionAttributeValues={":why": wire(why)},
            )

    def _key(self, region: str) -> Item:
        return {"owner": wire(account_key(self._account_id, region)), "item": wire(PRICES)}
