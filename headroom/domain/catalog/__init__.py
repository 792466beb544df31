"""What AWS offers: what a storage type delivers, what one change can lead to, and what it costs.

May import: resources, and the folder of each kind below it.
The door offers `capability`, `cheapest`, `why_refused` for every kind of storage, the price table, regional quotas.
"""

from headroom.domain.catalog.ebs import GP3_INCLUDED_IOPS, GP3_INCLUDED_MIBPS
from headroom.domain.catalog.operations import Served, merged, same_io_size, served
from headroom.domain.catalog.pricing import (
    CATALOGUE_PRICES,
    SECONDS_PER_MONTH,
    PriceTable,
    catalogue_prices,
    why_implausible,
    with_databases,
)
from headroom.domain.catalog.quotas import BY_NAME, MOST_IOPS, MOST_TIB, QUOTAS, quota_limit
from headroom.domain.catalog.reachable import (
    cheapest,
    highest_settings,
    included,
    rules_of,
    setting_names,
    why_invalid,
    why_refused,
)
