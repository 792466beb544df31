"""A recommendation beside a decision, priced by the same table, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from headroom.adapters.compute_optimizer import Recommendation
from headroom.cli.second_opinion.comparison import Comparison, configured
from headroom.cli.second_opinion.explain import BOTH_KEEP, explained
from headroom.cli.terminal.output import money
from headroom.domain.catalog import PriceTable
from headroom.domain.decision import Decision, DecisionInput, judge_target
from headroom.domain.guardrails import PlanJudgement
from headroom.domain.policy import Policy, owner_prices
from headroom.domain.resources import STORAGE_MODES, Configuration, PriceUnknown, StorageMode


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondOpinion:
    """What Compute Optimizer recommends beside what Headroom would do. Prices in USD per month.

    Both are priced by Headroom's table, after the owner's discount. `saving_usd` is Compute
    Optimizer's own estimate, after the account's discounts if `after_discounts` says so.
    """

    finding: str
    target: str
    """What it recommends; the present configuration if it recommends none."""
    usd_per_month: float | None
    usd_change: float | None
    saving_usd: float | None
    after_discounts: bool
    risk: float | None
    """Its performance risk, 0 (none) to 4."""
    lookback_days: float | None
    refreshed_at: str | None
    headroom: str
    """What Headroom would make of it, or keep."""
    headroom_usd_per_month: float | None
    agrees: bool
    explanation: str
    """One sentence on why they disagree, or that they agree."""

    @property
    def usd_difference(self) -> float | None:
        """What its target costs more a month than Headroom's; None where a price is not known."""
        if self.usd_per_month is None or self.headroom_usd_per_month is None:
            return None
        return self.usd_per_month - self.headroom_usd_per_month

    @property
    def own_saving(self) -> str:
        """Compute Optimizer's own estimate a month, for example `$3.20 after discounts`."""
        if self.saving_usd is None:
            return "-"
        return f"{money(self.saving_usd)} {'after' if self.after_discounts else 'before'} discounts"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def opinion_from_json(fields: Mapping[str, Any]) -> SecondOpinion:
    """What `to_json` made; raises KeyError for anything else."""
    return SecondOpinion(**{name: fields[name] for name in SecondOpinion.__slots__})


def keeps(recommendation: Recommendation, current: Configuration) -> bool:
    """Whether it recommends what the storage is."""
    said = recommendation.target
    return said is None or configured(said, current) == current


def both_keep(
    recommendation: Recommendation, current: Configuration, usd_per_month: float | None
) -> SecondOpinion:
    """The opinion on a resource that Headroom and Compute Optimizer leave as it is."""
    at = recommendation.refreshed_at
    return SecondOpinion(
        finding=recommendation.finding, target=str(current), usd_per_month=usd_per_month,
        usd_change=None if usd_per_month is None else 0.0, saving_usd=None, after_discounts=False,
        risk=recommendation.risk, lookback_days=recommendation.lookback_days,
        refreshed_at=None if at is None else at.isoformat(), headroom=str(current),
        headroom_usd_per_month=usd_per_month, agrees=True, explanation=BOTH_KEEP,
    )  # fmt: skip


def second_opinion(
    decision: Decision, recommendation: Recommendation, policy: Policy, listed: PriceTable | None
) -> SecondOpinion:
    """The recommendation beside the decision; `listed` are prices before the owner's discount."""
    prices = owner_prices(policy, decision.observation.volume, listed)
    bare = Comparison(decision=decision, recommendation=recommendation, judged=None)
    judged = None
    if bare.advised is not None and not bare.keeps:
        judged = _judged(decision, bare.advised, policy, prices)
    it = Comparison(decision=decision, recommendation=recommendation, judged=judged)
    said, at = recommendation.target, recommendation.refreshed_at
    unknown = "" if said is None else said.volume_type
    usd = None if it.advised is None else _monthly(decision, it.advised, prices)
    now = decision.current_usd
    ours = now if it.plan is None else it.plan.monthly_usd
    return SecondOpinion(
        finding=recommendation.finding,
        target=unknown if it.advised is None else str(it.advised),
        usd_per_month=_rounded(usd),
        usd_change=None if usd is None or now is None else _rounded(usd - now),
        saving_usd=_rounded(recommendation.saving_usd),
        after_discounts=recommendation.after_discounts,
        risk=recommendation.risk,
        lookback_days=recommendation.lookback_days,
        refreshed_at=None if at is None else at.isoformat(),
        headroom=str(it.target),
        headroom_usd_per_month=_rounded(ours),
        agrees=it.agrees,
        explanation=explained(it),
    )  # fmt: skip


def _judged(
    decision: Decision, target: Configuration, policy: Policy, prices: PriceTable | None
) -> PlanJudgement | None:
    """Headroom's own verdict on the target; that of the decision where it considered it."""
    known = next((j for j in decision.judgements if j.plan.target == target), None)
    if known is not None or decision.cluster is not None:
        return known
    return judge_target(
        DecisionInput(
            trigger=decision.trigger, observation=decision.observation,
            resource_state=decision.resource_state, policy=policy, prices=prices,
        ),
        target,
    )  # fmt: skip


def _monthly(
    decision: Decision, configuration: Configuration, prices: PriceTable | None
) -> Decimal | None:
    if configuration.volume_type in STORAGE_MODES:
        bills = None if decision.cluster is None else decision.cluster.bills
        mode = StorageMode(configuration.volume_type.value)
        return None if bills is None else bills.of(mode).total_usd
    try:
        return None if prices is None else prices.monthly(configuration)
    except PriceUnknown:
        return None


def _rounded(usd: Decimal | None) -> float | None:
    return None if usd is None else round(float(usd), 4)
