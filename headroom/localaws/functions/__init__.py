"""Lambda: deployed packages under AWS's runtime client, queue mappings, asynchronous retries.

May import `events`, `metrics`, `state`.
Offers: fleet_of, MappingPoller."""

from headroom.localaws.functions.fleet import fleet_of
from headroom.localaws.functions.mappings import MappingPoller
