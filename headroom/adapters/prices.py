"""Where prices come from: for now the catalogue's dated table."""

from __future__ import annotations

from headroom.domain.pricing import PriceTable, catalogue_prices


class CataloguePrices:
    """The tables shipped with the catalogue; their source and date are part of every table."""

    def table(self, region: str) -> PriceTable:
        """EBS unit prices of `region`; raises PriceUnknown where the catalogue has none."""
        return catalogue_prices(region)
