"""What a month of running Headroom costs: one arithmetic for synth, `headroom cost` and the deployment page.

May import `settings`. How often something is read is in `Rates`, what AWS charges in `PRICES`: change them there.
The door offers the bill, its items, and what it is made of."""

from headroom.running_cost.bill import (
    Saving,
    alarms,
    cluster_reads,
    daily,
    database_reads,
    pressure,
    running_cost,
    scans,
    suggestion,
)
from headroom.running_cost.items import Item, Part, Range, RunningCost
from headroom.running_cost.rates import (
    DAYS_PER_MONTH,
    MINUTES_PER_MONTH,
    PRICES,
    Fleet,
    Rates,
    rates_of,
)
