"""AWS's own rules for changing storage: defaults, ranges, refusals, states, cool-downs, quotas.

May import nothing of the proving ground; every rule cites the AWS page it comes from.
Offers: the lifecycles of a volume, a database and an Aurora cluster, and ModificationRefused."""

from headroom.proving.awsrules.aurora import AuroraRules
from headroom.proving.awsrules.autoscaling import (
    FreeSpace,
    autoscaled_iops,
    autoscaled_size,
)
from headroom.proving.awsrules.creation import max_allocated_storage, storage_made
from headroom.proving.awsrules.database import (
    DATABASE_DELAYS,
    FULL_COPY_DELAYS,
    STORAGE_FIELDS,
    DatabaseEvent,
    DatabaseRules,
)
from headroom.proving.awsrules.database_request import (
    COMBINATION,
    FOUR_USED,
    OPTIMIZING,
    refusal_of,
)
from headroom.proving.awsrules.delays import DelayRanges, Delays, Range, drawn
from headroom.proving.awsrules.engines import (
    AURORA_ENGINES,
    ENGINE_PORTS,
    ENGINE_VERSIONS,
    OTHER_ENGINES,
    engine_family,
    engine_of,
)
from headroom.proving.awsrules.lifecycle import MODIFICATION_WINDOW, VolumeLifecycle
from headroom.proving.awsrules.settings import (
    DEFERRED_SETTINGS,
    MAINTENANCE_WINDOW,
    Settings,
    next_maintenance_window,
)
from headroom.proving.awsrules.volume_request import ModificationRefused, refuse_out_of_range
