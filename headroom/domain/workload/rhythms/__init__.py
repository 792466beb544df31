"""Rhythms: competing hypotheses about when load comes again, weighted by how well each predicted the past.

May import: resources, state and policy.
The door offers `rhythms` and how it weighs earlier hours.
"""

from headroom.domain.workload.rhythms.heights import (
    OF_A_KIND,
    Height,
    NewHeights,
    at_a_time_of_day,
    highest,
    load_of,
    new_heights,
)
from headroom.domain.workload.rhythms.likes import Coming, hours_like
from headroom.domain.workload.rhythms.weights import SURE, Rhythm, rhythms
