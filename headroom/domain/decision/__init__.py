"""The decision and its verification. Read `decide.py` first: input, diagnosis, plans, verdicts, action.

May import: resources to guardrails.
The door offers `Decision`, `decide`, `assess`, approval, rollback and revalidation of a plan.
"""

from headroom.domain.decision import rollback
from headroom.domain.decision.action import (
    Act,
    Action,
    Diverged,
    Escalate,
    FailedAtAws,
    Hold,
    Ineffective,
    Pending,
    Reason,
    ReducedTooFar,
    ReductionConfirmed,
    Relieved,
    RollbackConfirmed,
    Untested,
    Verification,
)
from headroom.domain.decision.approval import (
    InvalidAnswer,
    after_answer,
    after_rejection,
    answered_request,
    max_approved_usd,
    message_due,
    notified_before,
    price_rise,
    requested_in_advance,
    unapproved,
    why_approval,
)
from headroom.domain.decision.asking import (
    FOR_GOOD,
    KEPT_FROM,
    LEFT_AS_CHANGED,
    URGENT,
    act_or_hold,
    has_less,
    part_without_approval,
)
from headroom.domain.decision.assess import (
    assess,
    assess_latency,
    assess_rollback,
    verification_timeout,
)
from headroom.domain.decision.cluster_detail import (
    BillCheck,
    BilledIoDay,
    ClusterDetail,
    ModeSwitch,
)
from headroom.domain.decision.decide import (
    Decision,
    decide,
    place_of,
    recorded,
    with_judgements,
    written_back,
)
from headroom.domain.decision.decision_input import (
    ANSWERED_WITHIN,
    DecisionInput,
    policy_of,
    situation_of,
)
from headroom.domain.decision.escalation import AMOUNTS, EXPLAINED, escalate_once
from headroom.domain.decision.group_blocks import approval_needed
from headroom.domain.decision.group_decision import (
    GroupDecision,
    blocked_by_members,
    decide_group,
)
from headroom.domain.decision.group_shapes import beyond_the_instance, instance_capacity_left
from headroom.domain.decision.known_events import KNOWN_EVENT
from headroom.domain.decision.next_reconcile import (
    CLOSE_TO_LIMIT,
    DAILY,
    costs_more,
    next_reconcile_at,
    queue_entry_of,
    space_check,
    urgency,
    urgency_of,
)
from headroom.domain.decision.revalidation import (
    NOT_DECIDED,
    Proceed,
    Revalidation,
    StillBlocked,
    Withdrawal,
    approval_obsolete,
    judge_target,
    pending_decision,
    renewed_request,
    revalidate,
    revalidated_decision,
    waiting_for,
)
from headroom.domain.decision.rollback import (
    decide_rollback,
    performance_still_used,
    request_rollback,
    reversal,
)
from headroom.domain.decision.space import SPACE_CAUSE, STORAGE_FULL, full_within_a_day, still_short
from headroom.domain.decision.write_back import (
    Settings,
    claim_patch,
    class_manifest,
    class_name,
    class_text,
    settings,
    write_back_text,
)
