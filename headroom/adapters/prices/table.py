"""Where prices come from: the Price List API, and the catalogue's dated table behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from headroom.adapters.prices.ebs_offers import ParsedPrices
from headroom.adapters.prices.price_list import PriceList
from headroom.adapters.prices.store import NO_STORED_PRICES, PriceStore, StoredPrices
from headroom.domain.catalog import PriceTable, catalogue_prices, why_implausible, with_databases
from headroom.domain.catalog.rds import RdsPrices, unit_prices
from headroom.domain.resources import PriceUnknown
from headroom.ports import ReadFailed

FRESH = timedelta(days=1)
"""How long a table that was read is not read again; AWS changes EBS prices once in years."""
INCOMPLETE = timedelta(hours=3)
"""The same for one that lacks prices of databases."""
USABLE = timedelta(days=30)
"""How long one is used when it cannot be read again."""
RETRY = timedelta(hours=1)
"""How long nobody asks the API again after anybody did."""
RECHECK_AFTER = timedelta(minutes=10)
"""How long a function uses its cached table before it reads the state table again."""
REFUSED = "price list refused"


class CataloguePrices:
    """The tables shipped with the catalogue; their source and date are part of every table."""

    def table(self, region: str) -> PriceTable:
        """EBS unit prices of `region`; raises PriceUnknown where the catalogue has none."""
        return catalogue_prices(region)


def _catalogue(region: str, why: str | None) -> PriceTable:
    """The catalogue's table, whose source says why it is that one; raises PriceUnknown."""
    table = catalogue_prices(region)
    return table if why is None else replace(table, source=f"{table.source} ({why})")


class ListedPrices:
    """The Price List API, asked once per Region in the life of the object.

    For a person's command: nothing is kept. A list that does not answer or that is not believed
    leaves the catalogue's table, whose source then says so.
    """

    def __init__(self, price_list: PriceList, *, clock: Callable[[], datetime]) -> None:
        self._list = price_list
        self._clock = clock
        self._read: dict[str, PriceTable | str] = {}

    def table(self, region: str) -> PriceTable:
        """EBS unit prices of `region`; raises PriceUnknown."""
        if region not in self._read:
            self._read[region] = self._ask(region)
        answer = self._read[region]
        return _catalogue(region, answer) if isinstance(answer, str) else with_databases(answer)

    def _ask(self, region: str) -> PriceTable | str:
        try:
            read = self._list.read(region, self._clock().date())
        except ReadFailed:
            return "price list not read"
        return read.table if why_implausible(read.table) is None else REFUSED


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What the state table held when it was last read."""

    held: StoredPrices
    at: datetime


class StoredPriceTable:
    """The price list as it was last read and kept, for functions: deciding never asks the API.

    `refresh` does that, once a day, by whoever is allowed to.
    """

    def __init__(
        self, store: PriceStore, price_list: PriceList | None, *, clock: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._list = price_list
        self._clock = clock
        self._seen: dict[str, _Seen] = {}

    def table(self, region: str) -> PriceTable:
        """EBS unit prices of `region`: the list kept, or else the catalogue; raises PriceUnknown.

        A list that was read over 30 days ago is not used any more.
        """
        now = self._clock()
        answer = _judged(self._held(region, now), now)
        return (
            with_databases(answer) if isinstance(answer, PriceTable) else _catalogue(region, answer)
        )

    def knows(self, region: str) -> bool:
        """Whether `region` has prices at all."""
        try:
            self.table(region)
        except PriceUnknown:
            return False
        return True

    def refresh(self, region: str) -> str | None:
        """Read the list anew if it is time; why that failed in one sentence, None if it did not.

        A list that is not believed is refused whole: the last one, or the catalogue, stays in use. Prices of
        databases that it lacks stay as they were read last, and are asked for again after three hours.
        """
        now = self._clock()
        if self._list is None or _fresh(self._held(region, now), now):
            return None
        try:
            if not self._store.claim(region, now=now, unless_since=now - RETRY):
                return None
            self._seen.pop(region, None)
            held = self._store.held(region)
            read = self._list.read(region, now.date())
            beside = (
                f" (passed over: {'; '.join(read.skipped_offers)})" if read.skipped_offers else ""
            )
            why = why_implausible(read.table)
            if why is None:
                table, missing = _with_databases_of(held, read, now)
                self._store.keep(table, now=now, missing=missing)
                return missing and f"Not all prices of {region} were read anew: {missing}{beside}."
            self._store.refuse(region, why)
        except ReadFailed as problem:
            return f"The prices of {region} were not read anew: {problem}."
        return f"The price list of {region} is refused: {why}{beside}."

    def _held(self, region: str, now: datetime) -> StoredPrices:
        """What is kept, as remembered for RELOOK; what was remembered when it cannot be read.

        That nothing is kept is not remembered: somebody may be reading the list right now.
        """
        seen = self._seen.get(region)
        if seen is not None and now - seen.at < RECHECK_AFTER:
            return seen.held
        try:
            held = self._store.held(region)
        except ReadFailed:
            return NO_STORED_PRICES if seen is None else seen.held
        if held.table is not None:
            self._seen[region] = _Seen(held=held, at=now)
        return held


def _judged(held: StoredPrices, now: datetime) -> PriceTable | str | None:
    """The table kept if it may be used; why it may not; None when nothing was ever heard."""
    old = held.read_at is None or now - held.read_at > USABLE
    if held.table is not None and not old:
        # Kept by an earlier release, perhaps, whose catalogue knew less.
        return held.table if why_implausible(held.table) is None else REFUSED
    if held.refused is not None:
        return REFUSED
    return None if held.read_at is None else f"price list not read for {USABLE.days} days"


def _fresh(held: StoredPrices, now: datetime) -> bool:
    usable = isinstance(_judged(held, now), PriceTable)
    lasts = FRESH if held.missing is None else INCOMPLETE
    return usable and held.read_at is not None and now - held.read_at < lasts


def _with_databases_of(
    held: StoredPrices, read: ParsedPrices, now: datetime
) -> tuple[PriceTable, str | None]:
    """The table, with the prices of databases that it lacks as they were read last; which those are, if any.

    They stand behind what was read, each with its own day: a price is looked for in one after the other.
    """
    if not read.table.databases and read.databases_unread is None:
        return read.table, None  # nobody asked for them
    known = {name for each in read.table.databases for name in unit_prices(each)}
    kept: list[RdsPrices] = []
    for each in held.table.databases if held.table is not None else ():
        day = each.read_on or (held.read_at and held.read_at.date())
        names = unit_prices(each).keys()
        if day is not None and now.date() - day <= USABLE and names - known:
            kept.append(replace(each, read_on=day))
            known |= names
    table = replace(read.table, databases=(*read.table.databases, *kept))
    if why_implausible(table) is not None:  # what an earlier release believed
        table = read.table
    whose = dict.fromkeys(f"{p.engine} {p.deployment.value.replace('_', '-')}" for p in kept)
    named = f"not every price of {', '.join(whose)}" if kept else None
    return table, read.databases_unread or named
