"""What could be done: candidate plans, their value over the coming day, striped sets, growth for space.

May import: resources to workload.
The door offers `Plan`, the planner, and plans with their value.
"""

from headroom.domain.planning.alternatives import Alternative, alternatives
from headroom.domain.planning.announced import (
    credits_serve,
    events_in_sight,
    hours_between_two,
    reach_of,
    serves,
    unserved_events,
)
from headroom.domain.planning.build_plan import TIME_TO_EFFECT, relieves
from headroom.domain.planning.coming_hours import (
    FORESEEN_USD,
    LEAD,
    begins,
    closed_hours_after,
)
from headroom.domain.planning.gp2_to_gp3 import (
    costs_no_more,
    gives_up_less_than_it_brings,
    gives_up_only_unused,
)
from headroom.domain.planning.groups import (
    BY_HAND,
    Candidate,
    GroupConstraint,
    GroupDetail,
    GroupMember,
    VolumeShape,
    group_of,
    named,
    set_names,
    under_way,
    volume_shape,
    why_not_a_group,
    why_not_alike,
    why_not_one_set,
    with_shape,
)
from headroom.domain.planning.levels import may_have, reached_by_two
from headroom.domain.planning.plan import HOURS_PER_MONTH, Plan, a_month, one_way
from headroom.domain.planning.planner import IO2_MS
from headroom.domain.planning.plans_from_history import HDD, TARGETS, least_planned
from headroom.domain.planning.present_load import starvation_chances
from headroom.domain.planning.restoring import STEPS_BACK
from headroom.domain.planning.reverts import undone_still
from headroom.domain.planning.situation import (
    CALM_MINUTES,
    Situation,
    at_any_price,
    closed_by,
    step_of,
)
from headroom.domain.planning.space_plans import (
    autoscaling_can_add,
    held_by_raises,
    next_growth_usd,
    rds_autoscales,
    with_space_plans,
)
from headroom.domain.planning.value import (
    NO_VALUED_PLANS,
    ValuedPlans,
    leaves_what_is_used,
    value_plans,
    value_targets,
)
