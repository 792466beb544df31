"""Prices from the AWS Price List API: read, believed within bounds, and kept in the state table.

May import `adapters.ledger` (tables and items), `adapters.errors`, `ports` and the domain.
The door offers `PriceList`, `PriceStore`, the price tables of EBS and RDS, and the price book of Aurora."""

from headroom.adapters.prices.aurora import AuroraPriceBook
from headroom.adapters.prices.price_list import PriceList, endpoint_region
from headroom.adapters.prices.store import PriceStore
from headroom.adapters.prices.table import CataloguePrices, ListedPrices, StoredPriceTable
