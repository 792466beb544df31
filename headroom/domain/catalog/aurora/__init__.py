"""Aurora storage modes: the bill in either mode, and which engine versions have I/O-Optimized.

May import: resources.
The door offers `AuroraPrices`, both bills of a cluster, and where they are equal.
"""

from headroom.domain.catalog.aurora.bill import (
    AURORA_PRICES,
    HOURS_PER_MONTH,
    MILLION,
    AuroraPrices,
    Bill,
    Bills,
    Pair,
    Usage,
    aurora_prices,
    bills,
)
from headroom.domain.catalog.aurora.versions import supports_io_optimized
