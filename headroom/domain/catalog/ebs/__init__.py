"""EBS volume types: limits, what one ModifyVolume call can lead to, and its parameters.

May import: resources.
The door offers the limits table, `capability`, and the rules that `catalog.rules_of` hands out for volumes.
"""

from headroom.domain.catalog.ebs import reachable
from headroom.domain.catalog.ebs.change import NAMES, parameters
from headroom.domain.catalog.ebs.limits import (
    DURABILITY_PERCENT,
    GP2_BURST_IOPS,
    HDD_IO_BYTES,
    LIMITS,
    MAX_MODIFICATIONS,
    MIB,
    SSD_IO_BYTES,
    Capability,
    capability,
    cheapest,
    fewest,
    gp2_baseline,
    least_size_for,
    max_iops,
    volumes_under,
)
from headroom.domain.catalog.ebs.prices import (
    CATALOGUE_EBS_PRICES,
    GP3_INCLUDED_IOPS,
    GP3_INCLUDED_MIBPS,
    EbsPrices,
)
