"""RDS storage by engine: limits, striping, prices, changes under way and the parameters of one call.

May import: resources and catalog/ebs.
The door offers the bands of each engine, and the rules that `catalog.rules_of` hands out for databases.
"""

from headroom.domain.catalog.rds import reachable
from headroom.domain.catalog.rds.change import (
    ADDITIONAL_NAMES,
    CLUSTER_NAMES,
    INSTANCE_NAMES,
    Parameters,
    flushed,
    parameters,
    request,
)
from headroom.domain.catalog.rds.limits import Band, band_of, bands, least_mibps, why_invalid
from headroom.domain.catalog.rds.modifications import (
    SETTLES,
    Attempt,
    LastObserved,
    ObservedStorage,
    after_accepted,
    after_rename,
    at_work,
    next_remembered,
)
from headroom.domain.catalog.rds.prices import (
    CATALOGUE_RDS_PRICES,
    RdsPrices,
    unit_prices,
    why_implausible,
)
from headroom.domain.catalog.rds.reachable import at_size
from headroom.domain.catalog.rds.steps import full_copy, least_iops, least_size, why_refused
