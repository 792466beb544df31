"""The guardrails: each one small function, all of them answer, all fail closed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import MappingProxyType

from headroom.domain.guardrails import (
    approvals,
    aws,
    clusters,
    concurrency,
    cost_benefit,
    databases,
    external_owners,
    giving_back,
    owner,
)
from headroom.domain.guardrails.case import Case, verdict_of
from headroom.domain.guardrails.verdicts import Guardrail, PlanJudgement, Relation, Verdict
from headroom.domain.policy import HARD_CAP
from headroom.domain.resources import defer

CAP_REACHED = "the deployment's hard cap, which no policy, tag or approval exceeds"
GUARDRAILS: tuple[tuple[Guardrail, Callable[[Case], Verdict]], ...] = (
    # The order is the one people read them in: permission, when and how many, safety, the owner's
    # limits, money, AWS's limits, cost_benefit. No rule depends on another.
    (Guardrail.POLICY, owner.enrolled),
    (Guardrail.PAUSE, owner.pause),
    (Guardrail.BREAKER, owner.breaker),
    (Guardrail.MODE, owner.mode),
    (Guardrail.APPROVAL, approvals.approval),
    (Guardrail.CHANGE_WINDOW, concurrency.change_window),
    (Guardrail.FREEZE, concurrency.freeze),
    (Guardrail.CALENDAR, concurrency.calendar),
    (Guardrail.MAX_IN_FLIGHT, concurrency.max_in_flight),
    (Guardrail.MAX_IN_FLIGHT_PER_AZ, concurrency.max_in_flight_per_az),
    (Guardrail.MAX_CHANGES_PER_HOUR, concurrency.max_changes_per_hour),
    (Guardrail.MANAGED_ELSEWHERE, aws.managed_elsewhere),
    (Guardrail.MULTI_ATTACH, aws.multi_attach),
    (Guardrail.INFRASTRUCTURE_AS_CODE, external_owners.infrastructure_as_code),
    (Guardrail.REVERTED, external_owners.not_reverted),
    (Guardrail.DATABASE_STATE, databases.database_state),
    (Guardrail.PENDING_CHANGES, databases.pending_changes),
    (Guardrail.STORAGE_AUTOSCALING, databases.storage_autoscaling),
    (Guardrail.FREE_SPACE, databases.space_first),
    (Guardrail.GROUP, external_owners.whole_group),
    (Guardrail.VALID, aws.valid),
    (Guardrail.NEVER_SHRINK, aws.never_shrink),
    (Guardrail.DURABILITY, aws.durability),
    (Guardrail.GROWTH, owner.growth),
    (Guardrail.FULL_COPY, databases.full_copy),
    (Guardrail.ONE_WAY, owner.one_way),
    (Guardrail.TYPES, owner.types),
    (Guardrail.MAX_IOPS, owner.max_iops),
    (Guardrail.MAX_THROUGHPUT, owner.max_throughput),
    (Guardrail.MAX_SIZE, owner.max_size),
    (Guardrail.LARGEST_STEP, owner.largest_step),
    (Guardrail.PRICE_PER_RESOURCE, owner.price_per_resource),
    (Guardrail.PRICE_PER_ACCOUNT, owner.price_per_account),
    (Guardrail.SLOTS, aws.slots),
    (Guardrail.IN_FLIGHT, aws.in_flight),
    (Guardrail.REGIONAL_QUOTA, concurrency.regional_quota),
    (Guardrail.RETRY_BACKOFF, aws.retry_backoff),
    (Guardrail.COOLDOWN, owner.cooldown),
    (Guardrail.ROLLED_BACK, approvals.rolled_back),
    (Guardrail.FAILURES, aws.failures),
    (Guardrail.INSTANCE_LIMIT, cost_benefit.instance_limit),
    (Guardrail.DATA, cost_benefit.data),
    (Guardrail.GIVE_BACK, giving_back.give_back),
    (Guardrail.GIVE_BACK_DATA, giving_back.give_back_data),
    (Guardrail.GIVE_BACK_STABILIZATION, giving_back.give_back_stabilization),
    (Guardrail.GIVE_BACK_SLOT, giving_back.give_back_slot),
    (Guardrail.GIVE_BACK_FLOOR, giving_back.give_back_floor),
    (Guardrail.GIVE_BACK_REVERSIBLE, giving_back.give_back_reversible),
    (Guardrail.COST_BENEFIT, cost_benefit.cost_benefit),
)


CLUSTER_GUARDRAILS: tuple[tuple[Guardrail, Callable[[Case], Verdict]], ...] = (
    # Of an Aurora cluster, whose only setting is how its storage is billed: what holds for all
    # storage, then what asks for days, AWS's limits, side effects, money and speed.
    *((name, rule) for name, rule in GUARDRAILS if name in clusters.SHARED),
    (Guardrail.USAGE_HISTORY, clusters.usage_history),
    (Guardrail.BILLED_IO, clusters.billed_io),
    (Guardrail.MODE_CHANGE_INTERVAL, clusters.mode_change_interval),
    (Guardrail.MODE_REVERSIBLE, clusters.mode_reversible),
    (Guardrail.ENGINE_VERSION, clusters.engine_version),
    (Guardrail.RESTART, clusters.restart),
    (Guardrail.PARALLEL_QUERY, clusters.parallel_query),
    (Guardrail.RESERVATIONS, clusters.reservations),
    (Guardrail.MARGIN, clusters.margin),
    (Guardrail.STEADY, clusters.steady),
    (Guardrail.RHYTHM, clusters.rhythm),
    (Guardrail.SLOW_COMMITS, clusters.slow_commits),
)


ABOUT_THE_RESOURCE = frozenset(
    {
        Guardrail.POLICY, Guardrail.PAUSE, Guardrail.BREAKER, Guardrail.MODE, Guardrail.CHANGE_WINDOW,
        Guardrail.FREEZE, Guardrail.CALENDAR, Guardrail.MAX_IN_FLIGHT, Guardrail.MAX_IN_FLIGHT_PER_AZ,
        Guardrail.MAX_CHANGES_PER_HOUR, Guardrail.MANAGED_ELSEWHERE, Guardrail.MULTI_ATTACH,
        Guardrail.INFRASTRUCTURE_AS_CODE, Guardrail.DATABASE_STATE, Guardrail.PENDING_CHANGES,
        Guardrail.GROUP, Guardrail.SLOTS, Guardrail.IN_FLIGHT, Guardrail.ROLLED_BACK,
        Guardrail.FAILURES,
    }
)  # fmt: skip
"""Guardrails that read nothing of the plan: they say the same about all plans of one decision."""


CAPPED: Mapping[Guardrail, tuple[str, ...]] = MappingProxyType(
    {
        Guardrail.TYPES: ("types",),
        Guardrail.MAX_IOPS: ("max_iops",),
        Guardrail.MAX_THROUGHPUT: ("max_throughput_mibps",),
        Guardrail.MAX_SIZE: ("max_size_gib",),
        Guardrail.GROWTH: ("growth", "grow_space"),
        Guardrail.FULL_COPY: ("full_copy",),
        Guardrail.ONE_WAY: ("one_way",),
        Guardrail.GIVE_BACK: ("give_back",),
        Guardrail.PRICE_PER_RESOURCE: ("price_increase_usd",),
        Guardrail.RESTART: ("aurora_restart",),
    }
)
"""The limits that a guardrail reads and a hard cap may set; `mode` names its origin by itself."""


def judge(case: Case) -> PlanJudgement:
    """What every guardrail says about one plan; a rule that raises blocks."""
    return judge_all((case,))[0]


def judge_all(cases: Sequence[Case]) -> tuple[PlanJudgement, ...]:
    """What every guardrail says about each plan; the cases differ in their plans only.

    Only whether a plan is worth its price is asked at once, the rest when somebody reads it.
    """
    if not cases:
        return ()
    rules = dict(GUARDRAILS if cases[0].cluster is None else CLUSTER_GUARDRAILS)

    @cache
    def of_all() -> Mapping[Guardrail, Verdict]:
        names = (name for name in rules if name in ABOUT_THE_RESOURCE)
        return {name: _ask(name, rules[name], cases[0]) for name in names}

    return tuple([_judged(case, rules, of_all) for case in cases])


def _judged(
    case: Case, rules: Mapping[Guardrail, Callable[[Case], Verdict]],
    of_all: Callable[[], Mapping[Guardrail, Verdict]],
) -> PlanJudgement:  # fmt: skip
    judged, asked = PlanJudgement(plan=case.plan, verdicts=()), dict[Guardrail, Verdict]()
    if (worth := rules.get(Guardrail.COST_BENEFIT)) is not None:
        asked[Guardrail.COST_BENEFIT] = said = _ask(Guardrail.COST_BENEFIT, worth, case)
        vars(judged)["worthless"] = not said.allows

    def verdicts() -> tuple[Verdict, ...]:
        known = {**of_all(), **asked}
        return tuple([known.get(name) or _ask(name, rule, case) for name, rule in rules.items()])

    return defer(judged, verdicts=verdicts)


def _ask(name: Guardrail, rule: Callable[[Case], Verdict], case: Case) -> Verdict:
    try:
        verdict = rule(case)
        allows = verdict.allows  # a verdict whose numbers cannot be compared is a failed one
    except Exception as error:
        return verdict_of(name, Relation.FAILED, None, None, "", f"{type(error).__name__}: {error}")
    if not allows and _by_hard_cap(name, case):
        return replace(verdict, detail="; ".join(filter(None, (verdict.detail, CAP_REACHED))))
    return verdict


def _by_hard_cap(name: Guardrail, case: Case) -> bool:
    if name is Guardrail.PRICE_PER_ACCOUNT:
        return case.policy.account_increase_usd == case.policy.caps.account_increase_usd
    origins = dict(case.effective.origins)
    return any(origins.get(one) == HARD_CAP for one in CAPPED.get(name, ()))
