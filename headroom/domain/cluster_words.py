"""A cluster's bill, answer and check in words, as summaries and messages have them."""

from __future__ import annotations

from headroom.domain.answers import Act, Answer, Escalate, Hold
from headroom.domain.aurora_bill import Bills
from headroom.domain.cluster_side import BillCheck


def bill_in_words(both: Bills) -> str:
    """The bill on both sides in a few words."""
    return (
        f"${both.standard.total_usd:,.2f} a month in Standard, I/O "
        f"{100 * both.standard.io_share:.1f} % of it, ${both.io_optimized.total_usd:,.2f} in "
        "I/O-Optimized"
    )


def answered(answer: Answer) -> str:
    """An answer in a few words, as summaries end."""
    match answer:
        case Act(reason=why, plan=plan, approval=approval):
            sign = "+" if plan.price_change_usd >= 0 else "-"
            agree = "" if approval is None else f"a person must agree ({approval}): "
            return (
                f"{agree}{plan.origin} -> {plan.target} ({why.value.replace('_', ' ')}), "
                f"{sign}${abs(plan.price_change_usd):,.2f} a month"
            )
        case Hold(reason=why, until=until, would_take=plan):
            text = f"held ({why.value.replace('_', ' ')})"
            if until is not None:
                text += f" until {until:%Y-%m-%d %H:%M} UTC"
            return text if plan is None else f"{text}; would take {plan.target}"
        case Escalate(cause=cause, remedy=remedy):
            return f"{cause.replace('_', ' ')}: {remedy}"


def check_in_words(check: BillCheck) -> str:
    """What the bill since a switch says of its forecast."""
    switch = check.switch
    text = (
        f"{check.days} whole days after the change to {switch.target} the bill is "
        f"${check.found_usd:,.2f} a month, ${switch.forecast_usd:,.2f} was foreseen "
        f"({check.off_percent:+.1f} %)"
    )
    if check.instead_usd is not None:
        text += f"; {switch.origin} would cost ${check.instead_usd:,.2f} now"
    return text
