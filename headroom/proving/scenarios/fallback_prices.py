"""Fallback prices for engines without a dated price.

The deployed functions read each engine's own prices and buy nothing without them. A simulation
spends nothing: it uses PostgreSQL's of the same Region and deployment, with a note in its result.
"""

from __future__ import annotations

from dataclasses import replace

from headroom.domain.catalog import PriceTable
from headroom.domain.resources import Configuration, Engine

FALLBACK_ENGINE = Engine.POSTGRESQL


def with_fallback_prices(table: PriceTable, configuration: Configuration) -> tuple[PriceTable, str]:
    """The table with prices for the engine of `configuration`, and a note; unchanged and without a note
    if none are needed."""
    database = configuration.database
    if database is None or any(prices.sells(database) for prices in table.databases):
        return table, ""
    found = [
        replace(prices, engine=database.engine)
        for prices in table.databases
        if prices.engine is FALLBACK_ENGINE
    ]
    if not any(prices.sells(database) for prices in found):
        return table, ""
    note = (
        f"no dated prices of {database.engine} are known for {table.region}: those of {FALLBACK_ENGINE} "
        "stand in; a deployment reads the engine's own from AWS's price list"
    )
    return replace(table, databases=(*table.databases, *found)), note
