"""The second opinion on one resource, for people and scripts."""

from __future__ import annotations

from datetime import datetime

from rich.console import Console

from headroom.cli.second_opinion.opinion import SecondOpinion, second_opinion
from headroom.cli.second_opinion.reading import recommended
from headroom.cli.sources.account import Account
from headroom.cli.terminal.output import money, number, say, table, utc
from headroom.domain.catalog import PriceTable
from headroom.domain.decision import Decision
from headroom.domain.policy import Policy


def opinion_on(
    where: Account, decision: Decision, policy: Policy, listed: PriceTable | None
) -> SecondOpinion | str:
    """What Compute Optimizer recommends beside `decision`, or one sentence on why there is nothing."""
    ref = decision.observation.volume.ref
    advice = recommended(where, (ref.kind,), ref.arn)
    found = advice.by_arn.get(ref.arn)
    if found is None:
        return "; ".join(advice.notes)
    return second_opinion(decision, found, policy, listed)


def as_object(opinion: SecondOpinion | str | None) -> dict[str, object]:
    """For scripts: what is added to the object of a plan."""
    return {"second_opinion": opinion.to_json() if isinstance(opinion, SecondOpinion) else None}


def show(opinion: SecondOpinion, console: Console) -> None:
    """For people: both targets with their prices, and why they differ."""
    columns = ("Second opinion", "Target", "A month", "Its own estimate of the saving")
    console.print(table("", columns, _rows(opinion)))
    for line in _lines(opinion):
        say(line, console)


def _rows(opinion: SecondOpinion) -> list[tuple[str, ...]]:
    """Headroom's target and Compute Optimizer's, side by side."""
    return [
        ("Headroom", opinion.headroom, _usd(opinion.headroom_usd_per_month), "-"),
        ("Compute Optimizer", opinion.target, _usd(opinion.usd_per_month), opinion.own_saving),
    ]


def _lines(opinion: SecondOpinion) -> list[str]:
    """Where the recommendation comes from, and why the two disagree."""
    parts = [opinion.finding]
    if opinion.refreshed_at is not None:
        parts.append(f"of {utc(datetime.fromisoformat(opinion.refreshed_at))}")
    if opinion.lookback_days is not None:
        parts.append(f"from {number(opinion.lookback_days)} days")
    if opinion.risk is not None:
        parts.append(f"performance risk {number(opinion.risk)} of 4")
    about = ", ".join(part for part in parts if part)
    return [f"Compute Optimizer's finding: {about or 'none'}.", opinion.explanation]


def _usd(amount: float | None) -> str:
    return "?" if amount is None else money(amount)
