"""Admission: whether a change may be in flight beside the others, and when its slot is free again.

Pure; the ledger makes it binding: it writes the concurrency state in the transaction of the intent
and of the chain's end, if its version is unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from math import ceil

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import Act, Decision, beyond_the_instance, instance_capacity_left
from headroom.domain.guardrails import Guardrail, asks_too_much, left_of_instance
from headroom.domain.ledger.reservation import IntentRefusal
from headroom.domain.ledger.transitions import LANDED_STEPS
from headroom.domain.planning import Plan
from headroom.domain.resources import VolumeType
from headroom.domain.state import (
    AWAITED,
    NEXT,
    SHOWS,
    ConcurrencyState,
    InFlight,
    Refusal,
    Refused,
    Step,
    after_change_ended,
    after_change_started,
    just_before,
    promised_beside,
    quota_usage,
)

WHY = "blast_radius"
"""Why an intent is refused without a free slot, as ports.NotIntended names it."""
LIMITS = (
    Guardrail.MAX_IN_FLIGHT, Guardrail.MAX_IN_FLIGHT_PER_AZ, Guardrail.MAX_CHANGES_PER_HOUR,
)  # fmt: skip
NOTHING_DONE = frozenset({Step.REFUSED, Step.STALE, Step.NOT_APPLIED})
"""Steps after which AWS changed nothing."""
IN_FORCE = frozenset({Step.RELIEVED, Step.INEFFECTIVE, Step.UNTESTED})
"""Steps after which a raise still counts for its instance."""
QUOTA_FULL = timedelta(hours=1)
"""How long Headroom does not change a volume type after AWS refused it for a quota."""


def admit_change(
    concurrency: ConcurrencyState, decision: Decision, now: datetime,
    together: Sequence[Decision] = (),
) -> ConcurrencyState | IntentRefusal:  # fmt: skip
    """The concurrency state with the decision's change in flight, or why it is not admitted.

    The limits are those its chosen plan was judged by; without them it is not admitted. Changes of one set
    are made `together`: their sum is compared with what the instance leaves them.
    """
    answer = decision.answer
    if not isinstance(answer, Act):
        return IntentRefusal(why=WHY, detail="only an act takes a place")
    limits = limits_of(decision, answer.plan)
    if limits is None:
        return IntentRefusal(why=WHY, detail="the decision names no limits for changes under way")
    volume = decision.observation.volume
    others = concurrency.in_flight_elsewhere(volume.ref.arn, now)
    here = sum(change.zone == volume.availability_zone for change in others)
    begun = len(concurrency.started_last_hour(now))
    for taken, guardrail, what in (
        (len(others), Guardrail.MAX_IN_FLIGHT, "changes are under way"),
        (here, Guardrail.MAX_IN_FLIGHT_PER_AZ,
         f"changes are under way in {volume.availability_zone}"),
        (begun, Guardrail.MAX_CHANGES_PER_HOUR, "changes were begun in the last 60 minutes"),
    ):  # fmt: skip
        if taken >= limits[guardrail]:
            detail = f"{guardrail.value}: {taken} {what}, {limits[guardrail]} allowed"
            return IntentRefusal(why=WHY, detail=detail)
    if decision.rollback_of is None and _taken_meanwhile(
        concurrency, decision, answer.plan, together
    ):
        detail = (
            "another volume of its instance was raised meanwhile, and may take what is left of it"
        )
        return IntentRefusal(why=WHY, detail=detail)
    return after_change_started(concurrency, _in_flight(decision, answer.plan, now))


def _in_flight(decision: Decision, plan: Plan, now: datetime) -> InFlight:
    """The change as it counts for others, with what it may take of its instance beyond today's load."""
    volume = decision.observation.volume
    iops, mibps, all_iops, all_mibps = just_before(decision.observation)
    before, after = capability(plan.origin), plan.capability
    return InFlight(
        resource=volume.ref.arn, decision_id=decision.decision_id, since=now,
        zone=volume.availability_zone, counts=quota_usage(plan.origin, plan.target),
        adds_iops=_adds(before.sustained_iops, after.sustained_iops, iops),
        adds_mibps=_adds(before.sustained_mibps, after.sustained_mibps, mibps),
        instance_iops=None if all_iops is None else round(all_iops),
        instance_mibps=None if all_mibps is None else round(all_mibps),
        ahead=decision.demand.pressed_minutes == 0,
    )  # fmt: skip


def _adds(before: float, after: float, took: float | None) -> int:
    return 0 if after <= before else max(0, ceil(after - (before if took is None else took)))


def _taken_meanwhile(
    concurrency: ConcurrencyState, decision: Decision, plan: Plan, together: Sequence[Decision]
) -> bool:
    """Whether raises of other volumes take what the instance had left for the change, or for its whole set."""
    if decision.group is not None:
        made = [(d.observation, d.answer.plan) for d in together if isinstance(d.answer, Act)]
        seen, plans = zip(*made or [(decision.observation, plan)], strict=True)
        beyond = beyond_the_instance(seen, plans, instance_capacity_left(seen, concurrency))
        return beyond is not None and beyond.temporary
    promised = promised_beside((decision.observation,), concurrency)
    if promised is None:
        return False
    left = left_of_instance(decision.diagnosis, promised.iops, promised.mibps)
    return asks_too_much(plan, decision.observation, left)


def limits_of(decision: Decision, plan: Plan) -> Mapping[Guardrail, int] | None:
    """The limits that `plan` was judged by; None if any is missing."""
    judgement = next((j for j in decision.judgements if j.plan == plan), None)
    found: dict[Guardrail, int] = {}
    for verdict in () if judgement is None else judgement.verdicts:
        limit = verdict.limit
        if verdict.guardrail in LIMITS and isinstance(limit, int) and not isinstance(limit, bool):
            found[verdict.guardrail] = limit
    return found if len(found) == len(LIMITS) else None


def after_step(
    concurrency: ConcurrencyState,
    decision_id: str,
    step: Step,
    *,
    at: datetime,
    body: Mapping[str, object],
) -> ConcurrencyState:
    """The concurrency state after `step`; the same object unless it ends a change in flight.

    `body` may contain `outcome` (an Outcome), which names a quota, and `completed`, whether AWS
    has finished the change.
    """
    if step in NEXT:  # something follows: the chain goes on
        return concurrency
    outcome = body.get("outcome")
    full = isinstance(outcome, Refused) and outcome.refusal is Refusal.REGION_QUOTA
    mine = next((c for c in concurrency.in_flight if c.decision_id == decision_id), None)
    counted = () if mine is None else mine.counts
    types = {name.partition("_")[0] for name, _ in counted}.intersection(
        VolumeType
    )  # a newer release may know more
    return after_change_ended(
        concurrency, decision_id, at, landed=step in LANDED_STEPS, nothing_done=step in NOTHING_DONE,
        completed=body.get("completed") is True,
        quota_full_until=at + QUOTA_FULL if full else None,
        types=tuple(VolumeType(name) for name in sorted(types)),
        counts_until=_counts_until(mine, step, at),
    )  # fmt: skip


def _counts_until(change: InFlight | None, step: Step, at: datetime) -> datetime | None:
    """Until when a raise counts for its instance, now that its chain ended; None if not at all."""
    if change is None or step not in IN_FORCE:
        return None
    return at + (AWAITED if step is Step.UNTESTED and change.ahead else SHOWS)
