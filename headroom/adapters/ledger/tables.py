"""Common ground of the parts of the ledger on DynamoDB."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from headroom.adapters.errors import reading
from headroom.adapters.ledger.breakers import BreakerItems
from headroom.adapters.ledger.concurrency import ConcurrencyTable
from headroom.adapters.ledger.items import Item, item_of, moment, unwire, wire
from headroom.adapters.ledger.reads import Reads, RecordReads
from headroom.adapters.ledger.seals import SEAL, Sealer
from headroom.adapters.ledger.state_table import StateItem, StateTable
from headroom.adapters.ledger.transactions import Cancelled, Transactions
from headroom.adapters.tables import NOTICE, RECORDS, account_key
from headroom.domain.decision import Decision
from headroom.domain.ledger import next_record, notice_of, withdrawal_text
from headroom.domain.resources import ResourceRef
from headroom.domain.state import STATE_FORMAT, Notice, Notify, Record, Step, StoredState
from headroom.serialization import body_to_json, decision_from_json, to_plain

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

RECORD = 0
"""Place of the record in every transaction; then come the state and, if it moves, the sum."""

OWNERS_ROOM = 10**18
"""Micro-USD: above any account's sum."""


class Tables:
    """The two tables of one account and Region, and what all parts of the ledger share."""

    def __init__(
        self,
        client: DynamoDBClient,
        *,
        records_table: str,
        state_table: str,
        account_id: str,
        region: str,
        sleep: Callable[[float], None] = time.sleep,
        new_id: Callable[[], str] = lambda: uuid4().hex,
        keep_days: int = 0,
        sealer: Sealer | None = None,
    ) -> None:
        """`keep_days` is how long the records written here are kept; 0 is for ever.

        With a `sealer` each record written is sealed.
        """
        self._sealer = sealer
        self._keep = timedelta(days=keep_days) if keep_days else None
        self._client: Any = client
        self._table = records_table
        self._account = account_key(account_id, region)
        reads = Reads(client)
        self._reads = reads
        self._state_name = state_table
        self._records = RecordReads(reads, records_table)
        self._state = StateTable(client, reads, table=state_table, account=self._account)
        self._stops = BreakerItems(reads, table=state_table, account=self._account)
        self._concurrency = ConcurrencyTable(reads, table=state_table, account=self._account)
        self._transactions = Transactions(client, sleep)
        self._new_id = new_id
        self.notices_written = 0
        """Transactions with a notice since this ledger was made."""

    def _decision(self, decision_id: str) -> Decision:
        """The decision as it is stored; raises LookupError."""
        first = next(self._records.items(decision_id, page=1), None)
        if first is None or unwire(first["step"]) != Step.DECIDED:
            raise LookupError(f"no decision {decision_id}")
        with reading(f"decision {decision_id}"):
            return decision_from_json(unwire(first["body"]))

    def _put(self, record: Record, written_by: str) -> Item:
        """A conditional put of a record: where none is, and nowhere else."""
        expires = None if self._keep is None else record.at + self._keep
        seal = {} if self._sealer is None else {SEAL: wire(self._sealer.seal(record))}
        return {
            "TableName": self._table,
            "Item": item_of(record, written_by, expires) | seal,
            "ConditionExpression": "attribute_not_exists(#id)",
            "ExpressionAttributeNames": {"#id": RECORDS.partition.name},
        }

    def _write(
        self, record: Record, token: str, parts: Sequence[Item], notify: Notify | None = None, *,
        about: str = "",
    ) -> Cancelled | None:  # fmt: skip
        """Put `record` and `parts` in one transaction; None when they are there.

        With `notify` also what people must hear of the record, described by the decision `about`.
        """
        notices = [] if notify is None else [self._notice(notice_of(record, notify, about=about))]
        self.notices_written += len(notices)
        return self._transactions.write(
            [{"Put": self._put(record, token)}, *parts, *notices],
            token=token,
            landed=lambda: self._is_same_decision(record, token),
        )

    def _notice(self, notice: Notice) -> Item:
        """Part of a transaction: a notice, in place of itself if it is there."""
        content = {"format": wire(STATE_FORMAT), "notice": wire(to_plain(notice))}
        return {
            "Put": {
                "TableName": self._state_name,
                "Item": notice_key(self._account, notice) | content,
            }
        }

    def _is_same_decision(self, record: Record, written_by: str) -> bool:
        """Whether the record that is there was written by this very write."""
        found = self._records.items(record.decision_id, newest_first=True)
        mine = (item for item in found if unwire(item["sequence"]) == record.sequence)
        return any(unwire(item["written_by"]) == written_by for item in mine)

    def _withdrawals(
        self, state: StoredState, successor: str | None, at: datetime, written_by: str
    ) -> list[Item]:
        """The part of a transaction that withdraws an act that was never started, if there is one.

        Whoever intends or withdraws it meanwhile writes the state too, so both never happen.
        """
        last = None if state.unstarted_act is None else self._records.last(state.unstarted_act)
        if last is None or last.step is not Step.DECIDED:
            return []
        summary, body = withdrawal_text(successor)
        record = next_record(last, Step.WITHDRAWN, at=at, summary=summary, body=body_to_json(body))
        return [{"Put": self._put(record, written_by)}]

    def _moves(
        self, ref: ResourceRef, held: StateItem, moved: StoredState, written_by: str
    ) -> list[Item]:
        """The parts of a transaction that move a resource's state and the account's sum with it.

        The sum rises only where the owner made dearer what Headroom had added: no limit stops them.
        """
        delta = moved.resource_micro_usd - held.state.resource_micro_usd
        parts = [self._state.put(ref, held, moved, written_by)]
        return (
            [*parts, self._state.add(delta, OWNERS_ROOM if delta > 0 else None)] if delta else parts
        )


def notice_key(account: str, notice: Notice) -> Item:
    """The key of a notice: the same for each writing of one record."""
    place = f"{NOTICE}#{moment(notice.at)}#{notice.sequence:04}#{notice.decision_id}"
    return {"owner": wire(account), "item": wire(place)}
