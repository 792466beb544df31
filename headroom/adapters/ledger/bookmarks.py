"""Notes: one small text per name and account, written only over the version that was read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from botocore.exceptions import ClientError

from headroom.adapters.errors import code_of, reading, writing
from headroom.adapters.ledger.items import Item, readable, stamped, unwire, wire
from headroom.adapters.ledger.state_table import CONDITION_FAILED
from headroom.adapters.ledger.tables import Tables
from headroom.adapters.ledger.transactions import LedgerOutcomeUnknown
from headroom.adapters.tables import NOTE

T = TypeVar("T")
TRIES = 40
"""Each attempt lets one writer win, and few functions run at once: more than is ever needed."""


class Notes(Tables):
    """Notes of one account and Region."""

    def note(self, name: str) -> str:
        """The text under that name, read consistently; empty when there is none."""
        return self._note(name)[0]

    def amend(self, name: str, change: Callable[[str], tuple[str, T]]) -> T:
        """Replace the text by the result of `change`; returns its second result.

        No change is lost: after a lost race, `change` is called again. An unchanged text is not
        written. Raises LedgerOutcomeUnknown.
        """
        mine = self._new_id()
        for attempt in range(1, TRIES + 1):
            text, version = self._note(name)
            moved, result = change(text)
            if moved == text or self._moved(name, moved, version, f"{mine}-{attempt}"):
                return result
            self._transactions.wait(min(attempt, 4))
        raise LedgerOutcomeUnknown(f"the note {name} moved {TRIES} times meanwhile")

    def _note(self, name: str) -> tuple[str, int]:
        found = self._reads.items(self._state_name, [self._note_key(name)])
        with reading(f"the note {name}"):
            if not found:
                return "", 0
            item = readable(found[0])
            return str(unwire(item["text"])), int(unwire(item["version"]))

    def _moved(self, name: str, text: str, version: int, mine: str) -> bool:
        """Whether the text was written; a repeated call after a lost answer finds its own write."""
        before = "attribute_not_exists(#version)" if version == 0 else "#version = :before"
        values = {":text": wire(text), ":version": wire(version + 1), ":mine": wire(mine)}
        update = {
            "TableName": self._state_name,
            "Key": self._note_key(name),
            "UpdateExpression": "SET #text = :text, #version = :version, #by = :mine",
            "ConditionExpression": f"{before} OR #by = :mine",
            "ExpressionAttributeNames": {"#text": "text", "#version": "version", "#by": "by"},
            "ExpressionAttributeValues": values | ({":before": wire(version)} if version else {}),
        }
        return self._written_if(update)

    def _written_if(self, update: Item) -> bool:
        """Write an update; whether its condition held."""
        with writing("UpdateItem"):
            try:
                self._client.update_item(**stamped(update))
            except ClientError as error:
                if code_of(error) != CONDITION_FAILED:
                    raise
                return False
        return True

    def _note_key(self, name: str) -> dict[str, object]:
        return {"owner": wire(self._account), "item": wire(f"{NOTE}#{name}")}
