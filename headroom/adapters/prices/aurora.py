"""Prices of Aurora: the Price List API once a day, kept in a note, and a dated table behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import chain

from headroom.adapters.prices.aurora_offers import ENGINES, parse_aurora_offers
from headroom.adapters.prices.offers import PriceListUnreadable
from headroom.adapters.prices.price_list import DATABASES, PriceList
from headroom.domain.catalog.aurora import AuroraPrices, aurora_prices
from headroom.ports import Notes, ReadFailed
from headroom.serialization import Unreadable, from_json, to_json

NOTE = "aurora-prices"
FRESH = timedelta(days=1)
"""How long a list that was read is not read again."""
USABLE = timedelta(days=30)
"""How long one is used when it cannot be read again."""
RETRY = timedelta(hours=1)
"""How long nobody asks the API again after anybody did."""
RECHECK_AFTER = timedelta(minutes=10)
"""How long a function trusts its memory of the note."""
SHARED_FAMILIES = ("Database Storage", "System Operation", "Serverless", "ServerlessV2")
"""Product families of storage, I/O and ACUs, most of them sold for any engine."""
INSTANCES = "Database Instance"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEnginePrices:
    """The prices of one engine as they were last read."""

    engine: str
    prices: AuroraPrices
    read_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAuroraPrices:
    """What the note holds. A stored one outlives the release that wrote it."""

    engines: tuple[StoredEnginePrices, ...] = ()
    tried_at: datetime | None = None


class AuroraPriceBook:
    """Prices by engine of one Region; deciding never asks the API, `refresh` does."""

    def __init__(
        self, notes: Notes, price_list: PriceList | None, *, clock: Callable[[], datetime]
    ) -> None:
        self._notes = notes
        self._list = price_list
        self._clock = clock
        self._seen: tuple[datetime, StoredAuroraPrices] | None = None

    def aurora(self, region: str, engine: str) -> AuroraPrices:
        """Unit prices of `engine`: those kept, or else the dated table; raises PriceUnknown."""
        now, kept = self._clock(), self._kept()
        for one in kept.engines:
            ours = one.engine == engine and one.prices.region == region
            if ours and now - one.read_at <= USABLE:
                return one.prices
        dated = aurora_prices(region)
        return (
            dated if kept.tried_at is None else replace(dated, source="catalogue (list not read)")
        )

    def listed(self) -> bool:
        """Whether a list was ever read here; the dated table behind it has few classes."""
        return bool(self._kept().engines)

    def refresh(self, region: str) -> str | None:
        """Read the list anew if it is time; why that failed in one sentence, None if it did not."""
        now = self._clock()
        # What is remembered spares a read of the note each minute.
        if self._list is None or not _due(self._kept(), now):
            return None
        if not self._notes.amend(NOTE, lambda text: _claimed(text, now)):
            return None
        found, problems = [], []
        shared: list[str] = []
        for engine in ENGINES:
            try:
                shared = shared or list(self._list.products(region, DATABASES, SHARED_FAMILIES))
                own = self._list.products(
                    region, DATABASES, (INSTANCES,), databaseEngine=ENGINES[engine]
                )
                read = parse_aurora_offers(
                    chain(shared, own), region=region, engine=engine, today=now.date()
                )
                _believe(read.prices)
                found.append(StoredEnginePrices(engine=engine, prices=read.prices, read_at=now))
            except (PriceListUnreadable, ReadFailed) as problem:
                problems.append(f"{engine}: {problem}")
        if found:
            self._notes.amend(NOTE, lambda text: _with(text, tuple(found)))
            self._seen = None
        if problems:
            return f"The Aurora prices of {region} were not read anew: {'; '.join(problems)}."
        return None

    def _kept(self) -> StoredAuroraPrices:
        """What the note holds, as remembered for RECHECK_AFTER; what was remembered if it does not answer."""
        now = self._clock()
        if self._seen is not None and now - self._seen[0] < RECHECK_AFTER:
            return self._seen[1]
        try:
            kept = stored_aurora_prices(self._notes.note(NOTE))
        except ReadFailed:
            return StoredAuroraPrices() if self._seen is None else self._seen[1]
        if kept.engines:  # that nothing is kept is not remembered: somebody may be reading it
            self._seen = (now, kept)
        return kept


def stored_aurora_prices(text: str) -> StoredAuroraPrices:
    """What a note says; one that this release cannot read counts as none."""
    if not text:
        return StoredAuroraPrices()
    try:
        kept: StoredAuroraPrices = from_json(text, StoredAuroraPrices)
        return kept
    except Unreadable:
        return StoredAuroraPrices()


def _claimed(text: str, now: datetime) -> tuple[str, bool]:
    """Whether the caller is the one to ask."""
    kept = stored_aurora_prices(text)
    return (to_json(replace(kept, tried_at=now)), True) if _due(kept, now) else (text, False)


def _due(kept: StoredAuroraPrices, now: datetime) -> bool:
    """Whether it is time to ask: the list is not fresh, and nobody tried lately."""
    fresh = {one.engine for one in kept.engines if now - one.read_at < FRESH} == set(ENGINES)
    tried = kept.tried_at is not None and now - kept.tried_at < RETRY
    return not fresh and not tried


def _with(text: str, found: tuple[StoredEnginePrices, ...]) -> tuple[str, None]:
    """The note with what was read in place of the same engines' prices."""
    kept, read = stored_aurora_prices(text), {one.engine for one in found}
    left = tuple(one for one in kept.engines if one.engine not in read)
    return to_json(replace(kept, engines=(*left, *found))), None


def _believe(prices: AuroraPrices) -> None:
    """Raise PriceListUnreadable for prices that a wrong unit would make of a list."""
    standard, optimized = prices.gib
    if not Decimal("0.01") <= prices.million_ios <= Decimal(5):
        raise PriceListUnreadable(f"a million I/O at ${prices.million_ios}")
    if not Decimal("0.01") <= standard < optimized <= 5 * standard:
        raise PriceListUnreadable(f"a GiB at ${standard}, and at ${optimized} in I/O-Optimized")
