"""The storage mode of an Aurora cluster: decided, revalidated and verified in the values of the rooms above.

May import: resources to decision.
The door offers `decide_cluster`, and what is remembered of a cluster between two observations.
"""

from headroom.domain.aurora.bill_check import assess_cluster, check, mode_switch_of
from headroom.domain.aurora.decide import (
    ClusterDecisionInput,
    case_of,
    configuration_of,
    decide_cluster,
    empty_activity,
    mode_of,
)
from headroom.domain.aurora.memory import (
    ClusterMemory,
    ClusterModeChange,
    ObservedMode,
    remember,
    with_days,
)
from headroom.domain.aurora.revalidation import decide_cluster_rollback, revalidate_cluster
from headroom.domain.aurora.storage_mode import (
    AuroraAct,
    AuroraAction,
    AuroraDecision,
    AuroraEscalate,
    AuroraHold,
    decide_storage_mode,
)
from headroom.domain.aurora.verification import (
    ModeDiverged,
    ModeIneffective,
    ModePending,
    ModeRelieved,
    ModeVerification,
)
