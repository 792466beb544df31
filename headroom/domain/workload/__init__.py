"""What the load wants: pressure, censoring, worker pools, credits, free space, its history and forecast.

May import: resources to policy.
The door offers `Demand`, `Past`, `Forecast` and the functions that estimate them.
"""

from headroom.domain.workload.billed_io import (
    DAYS,
    GIB,
    LOOKBACK_WINDOW,
    PAST_WINDOW,
    WHOLE,
    AuroraDemand,
    UsageDay,
    cluster_demand,
    midnight,
    usage,
)
from headroom.domain.workload.coming_day import PresentLoad
from headroom.domain.workload.demand import (
    AT_LIMIT,
    ON_INSTANCE,
    BalanceForecast,
    Binding,
    CreditForecast,
    Demand,
    Diagnosis,
    Estimate,
    Forecast,
    Level,
    LoadShape,
    Minute,
)
from headroom.domain.workload.estimate import estimate, near_depletion
from headroom.domain.workload.forecast import (
    calm_days,
    chances_from_history,
    demand_forecast,
    later_minutes,
)
from headroom.domain.workload.growth import grown, growth_of
from headroom.domain.workload.history import Past, checked_days, demand_levels, load_rates, past_of
from headroom.domain.workload.instance_balance import (
    class_pressed,
    forecast_balance,
    forecast_text,
    given_in_bursts,
    held_by_instance,
    imminent,
    limited_all_day,
)
from headroom.domain.workload.known_load import (
    KnownLoad,
    explained_hours,
    hours_of,
    mib_per_op,
    through_instance,
)
from headroom.domain.workload.latency import (
    BUSY_IOPS,
    missed_for_days,
    slow_below_limits,
    slowest_ms,
)
from headroom.domain.workload.pressed_periods import (
    A_WEEK,
    SHOWN_MIN,
    same_load,
    with_hidden_bursts,
)
from headroom.domain.workload.pressure import (
    EMPTY_PERCENT,
    clear_run,
    goes_on,
    minutes,
    recent_minutes,
    since,
)
from headroom.domain.workload.profile import digest_of
from headroom.domain.workload.recurrence import HOURS, Recurrence
from headroom.domain.workload.short_minutes import (
    SEEN_ABOVE,
    above_a_limit,
    backlog_minutes,
    drained_minutes,
    hidden_in_its_minutes,
    minutes_at_limit,
    short_minutes,
    shortfalls,
)
from headroom.domain.workload.space import Point, SpaceBasis, SpaceForecast, space_forecast, spans
