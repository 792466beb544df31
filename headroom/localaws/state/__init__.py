"""The shared state of an endpoint: clock, identifiers, options, metrics by account and Region.

May import `metrics`.
Offers: Cloud, current_cloud, Clock, AwsError."""

from headroom.localaws.state.clock import Clock, ClockMode, ClockRefused
from headroom.localaws.state.cloud import (
    AccountRegion,
    Cloud,
    Options,
    current_cloud,
    install_cloud,
)
from headroom.localaws.state.errors import AwsError
from headroom.localaws.state.identifiers import Identifiers
