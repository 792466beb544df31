"""The storage mode of an Aurora cluster: demand of whole days, both bills, and a plan for money or for speed.

May import: resources to decision.
The door offers `decide_cluster`, and what is remembered of a cluster between two observations.
"""

from headroom.domain.aurora.bill_check import check, mode_switch_of
from headroom.domain.aurora.decide import ClusterDecisionInput, cluster_case, decide_cluster
from headroom.domain.aurora.memory import (
    ClusterMemory,
    ClusterModeChange,
    ObservedMode,
    remember,
    with_days,
    with_members,
)
from headroom.domain.aurora.revalidation import decide_cluster_rollback, revalidate_cluster
from headroom.domain.aurora.terms import empty_activity
from headroom.domain.aurora.verification import assess_cluster
from headroom.domain.resources import configuration_of, mode_of
