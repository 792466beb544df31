"""A cluster's bill, action and bill check in words, for summaries and messages."""

from __future__ import annotations

from headroom.domain.catalog.aurora import Bills
from headroom.domain.decision import Act, Action, BillCheck, ClusterDetail, Escalate, Hold
from headroom.domain.guardrails import Guardrail, Verdict


def bill_summary(both: Bills) -> str:
    """The bill in both modes in a few words."""
    return (
        f"${both.standard.total_usd:,.2f} a month in Standard, I/O "
        f"{100 * both.standard.io_share:.1f} % of it, ${both.io_optimized.total_usd:,.2f} in "
        "I/O-Optimized"
    )


def action_summary(action: Action) -> str:
    """The action in a few words, for the end of a summary."""
    match action:
        case Act(reason=why, plan=plan, approval=approval):
            sign = "+" if plan.price_change_usd >= 0 else "-"
            agree = "" if approval is None else f"a person must agree ({approval}): "
            return (
                f"{agree}{plan.origin} -> {plan.target} ({why.value.replace('_', ' ')}), "
                f"{sign}${abs(plan.price_change_usd):,.2f} a month"
            )
        case Hold(reason=why, until=until, proposed_plan=plan):
            text = f"held ({why.value.replace('_', ' ')})"
            if until is not None:
                text += f" until {until:%Y-%m-%d %H:%M} UTC"
            return text if plan is None else f"{text}; would take {plan.target}"
        case Escalate(cause=cause, remedy=remedy):
            return f"{cause.replace('_', ' ')}: {remedy}"


def longer_past_summary(detail: ClusterDetail, action: Action) -> str:
    """What a saving comes to by the longer past, in words; empty where that is no less."""
    if not isinstance(action, Act) or action.plan.price_change_usd >= 0:
        return ""
    found = detail.by_longer_past(action.plan.price_change_usd)
    return "" if found is None else f"; by the last {found[0]} days -${-found[1]:,.2f} a month"


def saves_too_little(verdict: Verdict) -> str:
    """Why a change that lowers the bill is not worth using up the 30 days, in words."""
    usd, limit = verdict.value, verdict.limit
    match verdict.guardrail:
        case Guardrail.MARGIN:
            return f"it saves {usd:.1f} % of the bill, and {limit:g} % are required"
        case Guardrail.STEADY:
            return f"it would not save anything {verdict.detail}"
        case _:
            return (
                f"it would have saved ${usd:,.2f} {verdict.detail}, which with the margin would have "
                f"lost ${limit:,.2f}"
            )


def bill_check_summary(check: BillCheck) -> str:
    """The bill since a switch beside its forecast, in words."""
    switch = check.switch
    text = (
        f"{check.days} whole days after the change to {switch.target} the bill is "
        f"${check.actual_usd:,.2f} a month, the forecast was ${switch.forecast_usd:,.2f} "
        f"({check.deviation_percent:+.1f} %)"
    )
    if check.counterfactual_usd is not None:
        text += f"; {switch.origin} would cost ${check.counterfactual_usd:,.2f} now"
    return text
