"""Decisions about Aurora clusters in every ledger: the same chain, lease and budget as for volumes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from headroom.domain.aurora import decide_cluster, decide_cluster_rollback
from headroom.domain.decision import Act, Decision
from headroom.domain.policy import Mode, Rule, Selector
from headroom.domain.resources import Goal, Kind, ResourceRef
from headroom.domain.state import ResourceState, RollbackRequest, Step
from headroom.ports import Intent, NotIntended
from tests.builders import ACCOUNT, NOW, REGION, policy
from tests.domain.clusters import IO_OPTIMIZED, cluster, cluster_input, seen

ORDERS = ResourceRef(kind=Kind.AURORA, account_id=ACCOUNT, region=REGION, resource_id="orders")
ASKED_AS = replace(ORDERS, kind=Kind.RDS, resource_id="cluster:orders")
FOR_SPEED = Rule(
    selector=Selector(kind=Kind.AURORA),
    settings=(
        ("mode", Mode.AUTO), ("aurora_goal", Goal.PERFORMANCE),
        ("price_increase_usd", Decimal(400)),
    ),
)  # fmt: skip
SLOW = replace(policy(), rules=(FOR_SPEED,))


def saving(stand: ResourceState) -> Decision:
    return decide_cluster(cluster_input(policy(mode=Mode.AUTO), stand=stand))


def spending(stand: ResourceState) -> Decision:
    """For speed, at a price."""
    return decide_cluster(cluster_input(SLOW, seen(5e6, commit_ms=30.0), stand=stand))


def plan_usd(decision: Decision) -> Decimal:
    assert isinstance(decision.answer, Act), decision.summary
    return decision.answer.plan.price_change_usd


def landed(ledger: Any, decision: Decision) -> None:
    assert ledger.decided(decision, due_at=NOW)
    intent = ledger.intend(decision, lease_until=NOW + timedelta(minutes=20), now=NOW)
    assert isinstance(intent, Intent), intent
    for step in (Step.APPLIED, Step.RELIEVED):
        ledger.append(
            decision.decision_id, step, ref=ORDERS, at=NOW, summary=step.value, body={},
            fencing=intent.fencing, due_at=NOW + timedelta(days=1),
        )  # fmt: skip


def test_a_saving_is_recorded_intended_and_read_back_and_takes_nothing_of_the_budget(
    ledger: Any,
) -> None:
    decision = saving(ledger.resource_state(ORDERS, NOW))
    landed(ledger, decision)
    assert ledger.decision(decision.decision_id) == decision
    assert [r.step for r in ledger.chain(decision.decision_id)] == [
        Step.DECIDED, Step.INTENDED, Step.APPLIED, Step.RELIEVED,
    ]  # fmt: skip
    known = ledger.resource_state(ORDERS, NOW)
    assert known.resource_increase_usd == 0
    assert known.last_decision_id == decision.decision_id
    assert ledger.resource_state(ASKED_AS, NOW) == known  # one cluster, however it is asked for
    (due,) = ledger.due(NOW + timedelta(days=2), 10)
    assert due.ref.arn == ORDERS.arn


def test_what_speed_costs_is_reserved_and_given_back_when_it_is_undone(ledger: Any) -> None:
    decision = spending(ledger.resource_state(ORDERS, NOW))
    cost = plan_usd(decision)
    assert cost > 0
    landed(ledger, decision)
    known = ledger.resource_state(ORDERS, NOW)
    assert (known.resource_increase_usd, known.account_increase_usd) == (cost, cost)
    asked = ledger.request_rollback(decision.decision_id, at=NOW, who="alice")
    assert asked.step is Step.ROLLBACK_REQUESTED
    wish = ledger.resource_state(ORDERS, NOW).rollback
    assert isinstance(wish, RollbackRequest)
    now_optimized = seen(5e6, cluster(mode=IO_OPTIMIZED, mode_since=NOW), commit_ms=30.0)
    found = cluster_input(SLOW, now_optimized, stand=ledger.resource_state(ORDERS, NOW))
    back = decide_cluster_rollback(found, wish, decision)
    landed(ledger, back)
    known = ledger.resource_state(ORDERS, NOW)
    assert (known.resource_increase_usd, known.account_increase_usd) == (0, 0)
    assert known.rollback is None


def test_a_busier_month_is_no_increase_of_ours(ledger: Any) -> None:
    """Enrolled while it was quiet: the bill that grew by itself takes nothing from the saving."""
    quiet = decide_cluster(
        cluster_input(policy(mode=Mode.AUTO), seen(5e6), stand=ledger.resource_state(ORDERS, NOW))
    )
    assert ledger.decided(quiet, due_at=None)
    landed(ledger, saving(ledger.resource_state(ORDERS, NOW)))
    assert ledger.resource_state(ORDERS, NOW).resource_increase_usd == 0


def test_more_than_the_account_allows_is_not_intended(ledger: Any) -> None:
    decision = spending(ledger.resource_state(ORDERS, NOW))
    tight = replace(SLOW, account_increase_usd=plan_usd(decision))
    fits = decide_cluster(
        cluster_input(tight, seen(5e6, commit_ms=30.0), stand=ledger.resource_state(ORDERS, NOW))
    )
    other = replace(ORDERS, resource_id="other")
    elsewhere = decide_cluster(
        cluster_input(
            tight,
            seen(5e6, cluster(ref=other), commit_ms=30.0),
            stand=ledger.resource_state(other, NOW),
        )
    )
    assert ledger.decided(fits, due_at=None)
    assert ledger.decided(elsewhere, due_at=None)
    lease = NOW + timedelta(minutes=20)
    assert isinstance(ledger.intend(fits, lease_until=lease, now=NOW), Intent)
    refused = ledger.intend(elsewhere, lease_until=lease, now=NOW)
    assert isinstance(refused, NotIntended)
    assert refused.why == "budget"
