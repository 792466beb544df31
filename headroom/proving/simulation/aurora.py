"""Runs an Aurora scenario day by day: what is billed, what is published, and each change of mode.

AWS's rules are those of ModifyDBCluster: to I/O-Optimized once in 30 days, back at any time, refused
with StorageTypeNotAvailableFault. Headroom decides once a day, by the code of the deployed functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from headroom.domain.aurora import ClusterDecisionInput, decide_cluster, empty_activity
from headroom.domain.catalog.aurora import HOURS_PER_MONTH, Bills, bills
from headroom.domain.decision import Act, Decision, DecisionInput
from headroom.domain.policy import Limits, Policy, Rule, Selector
from headroom.domain.resources import (
    DatabaseFacts,
    Kind,
    Observation,
    StorageMode,
    Volume,
    configuration_of,
    mode_of,
)
from headroom.domain.state import Step
from headroom.domain.workload import LOOKBACK_WINDOW
from headroom.ports import Intent
from headroom.proving.memory import InMemoryLedger
from headroom.proving.scenarios import AuroraScenario, cluster_usage
from headroom.proving.simulation.aurora_cluster import ACCOUNT, SimulatedCluster

RECONCILED_AT = timedelta(hours=1)
"""When in a day Headroom decides: yesterday's last metrics are published by then."""

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeChange:
    """A change of storage mode that Headroom made."""

    at: datetime
    origin: StorageMode
    target: StorageMode
    reason: str
    decision_id: str
    price_change_usd: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraResult:
    """One controller on one scenario; USD over the simulated days, by mode in force."""

    scenario: AuroraScenario
    controller: str
    first: Bills
    """The month in both modes with the mean load of all simulated days."""
    end_mode: StorageMode
    paid_usd: Decimal
    paid_in_standard_usd: Decimal
    paid_in_optimized_usd: Decimal
    changes: tuple[ModeChange, ...]
    decisions: tuple[Decision, ...]
    refusals: int
    unknown_periods: int

    @property
    def news(self) -> tuple[Decision, ...]:
        """The decisions that differ from the previous one."""
        before = (None, *(each.signature for each in self.decisions))
        return tuple(
            d for d, last in zip(self.decisions, before, strict=False) if d.signature != last
        )

    def to_json(self) -> Json:
        """The object that `headroom simulate --json` prints for a cluster."""
        counts = {"act": 0, "hold": 0, "escalate": 0}
        for decision in self.decisions:
            counts[type(decision.answer).__name__.lower()] += 1
        return {
            "scenario": self.scenario.name,
            "controller": self.controller,
            "kind": "aurora",
            "simulated_days": self.scenario.days,
            "unknown_periods": self.unknown_periods,
            "storage_type_start": self.scenario.mode.value,
            "storage_type_end": self.end_mode.value,
            "usd_per_month": {
                mode.name.lower(): {
                    "instances": _money(bill.instances_usd),
                    "serverless": _money(bill.serverless_usd),
                    "storage": _money(bill.storage_usd),
                    "io": _money(bill.io_usd),
                    "total": _money(bill.total_usd),
                }
                for mode, bill in ((m, self.first.of(m)) for m in StorageMode)
            },
            "io_share_percent": round(100 * self.first.standard.io_share, 2),
            "break_even_io_millions_per_month": round(self.first.break_even_ios / 1e6, 3),
            "reserved_covers_percent": [round(one, 1) for one in self.first.covered_percent],
            "paid_usd": _money(self.paid_usd),
            "paid_in_standard_usd": _money(self.paid_in_standard_usd),
            "paid_in_io_optimized_usd": _money(self.paid_in_optimized_usd),
            "modifications": [
                {
                    "at": _instant(change.at), "from": change.origin.value,
                    "to": change.target.value, "reason": change.reason,
                    "decision_id": change.decision_id,
                    "price_change_usd_per_month": _money(change.price_change_usd),
                }
                for change in self.changes
            ],
            "decisions": counts,
            "said": [
                {"at": _instant(d.at), "reason": d.answer.reason.value, "summary": d.summary}
                for d in self.news
            ],
            "aws_refusals": self.refusals,
        }  # fmt: skip


def simulate_aurora(scenario: AuroraScenario, controller: str = "headroom") -> AuroraResult:
    """Run `scenario` under `headroom`, or under `none`, which only pays."""
    cluster, ledger = SimulatedCluster(scenario), InMemoryLedger(ACCOUNT, scenario.region)
    policy = _policy(scenario.limits)
    decisions: list[Decision] = []
    changes: list[ModeChange] = []
    paid = {mode: Decimal(0) for mode in StorageMode}
    spent = Decimal(0)
    for day in range(scenario.days):
        if controller == "headroom":
            at = scenario.start + timedelta(days=day) + RECONCILED_AT
            decision = _decide(cluster, ledger, policy, at)
            decisions.append(decision)
            if isinstance(decision.answer, Act) and _execute(cluster, ledger, decision):
                plan = decision.answer.plan
                changes.append(
                    ModeChange(
                        at=at, origin=mode_of(plan.origin), target=mode_of(plan.target),
                        reason=decision.answer.reason.value, decision_id=decision.decision_id,
                        price_change_usd=plan.price_change_usd,
                    )
                )  # fmt: skip
        month = bills(
            cluster_usage(scenario, cluster.ios_of(day) * HOURS_PER_MONTH / 24), scenario.prices
        )
        share = Decimal(24) / HOURS_PER_MONTH
        for mode in StorageMode:
            paid[mode] += month.of(mode).total_usd * share
        spent += month.of(cluster.mode).total_usd * share
    return AuroraResult(
        scenario=scenario,
        controller=controller,
        first=bills(cluster_usage(scenario, cluster.mean_ios_a_month()), scenario.prices),
        end_mode=cluster.mode,
        paid_usd=spent,
        paid_in_standard_usd=paid[StorageMode.STANDARD],
        paid_in_optimized_usd=paid[StorageMode.IO_OPTIMIZED],
        changes=tuple(changes),
        decisions=tuple(decisions),
        refusals=cluster.refusals,
        unknown_periods=sum(one is None for one in cluster.counts),
    )


def _policy(limits: Limits) -> Policy:
    """The policy that sets `limits` for clusters, and their limit on price for the whole account."""
    settings = tuple((each.name, getattr(limits, each.name)) for each in fields(Limits))
    return Policy(
        version="scenario", rules=(Rule(selector=Selector(kind=Kind.AURORA), settings=settings),),
        account_increase_usd=limits.price_increase_usd,
    )  # fmt: skip


def _decide(
    cluster: SimulatedCluster, ledger: InMemoryLedger, policy: Policy, at: datetime
) -> Decision:
    """Decide on what is published at `at`, and record it."""
    observed = cluster.observed(at)
    described = observed.cluster
    volume = Volume(
        ref=described.ref, configuration=configuration_of(described.mode), availability_zone="",
        state=described.status, created_at=cluster.scenario.start - LOOKBACK_WINDOW,
        instance_ids=(), multi_attach=False, managed_by=None, on_outpost=False, tags=(),
        facts=DatabaseFacts(instance_class="", status=described.status, members=()),
    )  # fmt: skip
    decision = decide_cluster(
        ClusterDecisionInput(
            decision_input=DecisionInput(
                trigger="sweep",
                observation=Observation(
                    at=at, volume=volume, modification=None, activity=empty_activity(observed),
                    history=None, instance=None, instance_activity=None,
                ),
                resource_state=ledger.resource_state(described.ref, at), policy=policy, prices=None,
            ),
            observed=observed, prices=cluster.scenario.prices,
        )
    )  # fmt: skip
    ledger.decided(decision, due_at=None)
    return decision


def _execute(cluster: SimulatedCluster, ledger: InMemoryLedger, decision: Decision) -> bool:
    """Change the mode and record the chain; False where AWS refuses."""
    ref, at = decision.observation.volume.ref, decision.at
    intent = ledger.intend(decision, lease_until=at + timedelta(hours=1), now=at)
    if not isinstance(intent, Intent):
        return False
    changed = cluster.change(at, cluster.mode.other)
    for step in (Step.APPLIED, Step.RELIEVED) if changed else (Step.REFUSED,):
        ledger.append(
            decision.decision_id, step, ref=ref, at=at, summary=step.value, body={},
            fencing=intent.fencing, due_at=None,
        )  # fmt: skip
    return changed


def _money(value: Decimal) -> float:
    return float(round(value, 6))


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
