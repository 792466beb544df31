"""Rhythms: competing hypotheses about when load comes again, weighted by how well each predicted the past.

May import: resources, state and policy.
The door offers `rhythms` and how it weighs earlier hours.
"""

from headroom.domain.workload.rhythms.weights import BACK, DOUBT, SURE, Height, Rhythm, rhythms
