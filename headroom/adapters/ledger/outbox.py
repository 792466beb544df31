"""Notices: items beside the state that are written with a record and deleted once people were notified."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from headroom.adapters.errors import reading
from headroom.adapters.ledger.items import unwire, wire
from headroom.adapters.ledger.tables import Tables, notice_key
from headroom.adapters.tables import NOTICE
from headroom.domain.state import Notice
from headroom.serialization import from_plain


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
            return tuple(from_plain(unwire(item["notice"]), Notice) for item in islice(found, most))

    def notified(self, notices: Iterable[Notice]) -> None:
        """Delete these: people were notified."""
        for notice in notices:
            with reading("DeleteItem"):
                self._client.delete_item(
                    TableName=self._state_name, Key=notice_key(self._account, notice)
                )
