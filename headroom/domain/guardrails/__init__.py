"""What stands between a plan and an action: one small function each, with the numbers it compared.

May import: resources to planning.
The door offers `judge`, the registry of all guardrails, and their verdicts.
"""

from headroom.domain.guardrails.approvals import approved_price
from headroom.domain.guardrails.case import Case, ClusterCase, verdict_of
from headroom.domain.guardrails.concurrency import only_saves
from headroom.domain.guardrails.cost_benefit import MIN_KNOWN_MINUTES
from headroom.domain.guardrails.databases import AVAILABLE
from headroom.domain.guardrails.instance_share import (
    asks_too_much,
    instance_left,
    left_beside,
    left_of_instance,
    less_promised,
    more_than_left,
)
from headroom.domain.guardrails.owner import gains_durability
from headroom.domain.guardrails.registry import (
    ABOUT_THE_RESOURCE,
    CLUSTER_GUARDRAILS,
    GUARDRAILS,
    judge,
    judge_all,
)
from headroom.domain.guardrails.verdicts import (
    CONCURRENCY_GUARDRAILS,
    NEVER,
    QUEUEABLE_GUARDRAILS,
    WITHOUT_SETTING,
    Guardrail,
    PlanJudgement,
    PlanSummary,
    Quantity,
    Relation,
    Verdict,
    all_clear_at,
    all_clear_by,
    all_known_clear_at,
    distance,
    in_the_policy,
)
