"""Names that more than one resource must agree on, and the Regions Headroom can buy in."""

from __future__ import annotations

from headroom.domain.catalog import CATALOGUE_PRICES
from headroom.settings import Names

DETECTION_ALARM_PREFIX = Names().detection_alarms
OWN_ALARM_PREFIX = Names().own_alarms
"""Prefixes of alarms of a deployment that has no prefix of its own."""

PRICED_REGIONS = tuple(sorted(CATALOGUE_PRICES))
"""Regions whose EBS prices the catalogue has, whether or not AWS's price list can be read."""
PRICED_PARTITION = "aws"
"""Where AWS's price list is in US dollars and its API open to everyone; elsewhere nothing is ever
changed."""
