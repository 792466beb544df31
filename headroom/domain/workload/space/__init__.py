"""Free space: how fast storage fills, what growth by others did, and when there is too little left.

May import: resources, state and policy.
The door offers the forecast of free space and its parts.
"""

from headroom.domain.workload.space.fill_history import Point
from headroom.domain.workload.space.forecast import SpaceBasis, SpaceForecast
from headroom.domain.workload.space.free_space import space_forecast, spans
