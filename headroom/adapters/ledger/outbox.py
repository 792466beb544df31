"""Notices: items beside the state that are written with a record and deleted once people were notified."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from itertools import islice

from headroom.adapters.errors import reading, writing
from headroom.adapters.ledger.items import Item, unwire, wire
from headroom.adapters.ledger.tables import Tables, notice_key
from headroom.adapters.tables import NOTICE
from headroom.domain.state import Notice, Step, step_of
from headroom.serialization import from_plain

UNREADABLE = "unreadable_notice"
"""The step of a notice that this release cannot read."""


class Outbox(Tables):
    """What people must hear of, oldest first."""

    def notices(self, most: int) -> tuple[Notice, ...]:
        """The oldest notices that nobody has heard yet, read consistently."""
        found = self._reads.query(
            self._state_name,
            condition="#owner = :owner AND begins_with(#item, :notice)",
            names={"#owner": "owner", "#item": "item"},
            values={":owner": wire(self._account), ":notice": wire(f"{NOTICE}#")},
            page=most,
        )
        with reading("what people must hear"):
            return tuple(self._notice_of(item) for item in islice(found, most))

    def notified(self, notices: Iterable[Notice]) -> None:
        """Delete these: people were notified."""
        for notice in notices:
            with writing("DeleteItem"):
                self._client.delete_item(
                    TableName=self._state_name, Key=notice_key(self._account, notice)
                )

    def _notice_of(self, item: Item) -> Notice:
        """The notice in an item; of one that this release cannot read, what its key says: it hides no other."""
        try:
            plain = unwire(item["notice"])
            known: Notice = from_plain({**plain, "step": Step.DECIDED.value}, Notice)
            return replace(known, step=step_of(plain["step"]))
        except (KeyError, TypeError, ValueError):
            _, at, sequence, decision_id = unwire(item["item"]).split("#", 3)
            return Notice(
                decision_id=decision_id, sequence=int(sequence), step=step_of(UNREADABLE),
                resource=self._account, at=datetime.fromisoformat(at),
                text=f"a message about decision {decision_id} is of another release: read its record",
            )  # fmt: skip
