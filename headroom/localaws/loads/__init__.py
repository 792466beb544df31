"""Loads on volumes, databases and Aurora clusters of the endpoint, and the metrics they produce.

May import `rds`, `ebs`, `metrics`, `state`.
Offers: Loads, LoadedMinute."""

from headroom.localaws.loads.loads import Loads
from headroom.localaws.loads.requests import LoadedMinute, as_json, place_of
