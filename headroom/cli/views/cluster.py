"""The bill of an Aurora cluster in both modes, in words and as JSON."""

from __future__ import annotations

from headroom.cli.terminal.output import money, number
from headroom.domain.catalog.aurora import Bill, Bills
from headroom.domain.decision import BillCheck, ClusterDetail

_PARTS = ("instances", "serverless", "storage", "io")


def lines(side: ClusterDetail) -> tuple[str, ...]:
    """Members, days, both bills part by part, break-even and reservations."""
    cluster = side.cluster
    members = ", ".join(f"{m.count} x {m.instance_class}" for m in cluster.members) or "none"
    first = f"{cluster.engine} {cluster.engine_version}: {members}; goal {side.goal.value}"
    return (first, *_days(side), *_bills(side.bills), *_gate(side), *_check(side.check))


def _days(side: ClusterDetail) -> tuple[str, ...]:
    demand, found = side.demand, []
    if demand.days:
        size = "unknown size" if demand.storage_gib is None else f"{number(demand.storage_gib)} GiB"
        month = number(demand.ios_a_month() / 1e6)
        found.append(
            f"{len(demand.days)} whole days from {demand.days[0].start:%Y-%m-%d} to "
            f"{demand.days[-1].start:%Y-%m-%d}: {month} million I/O a month, {size}"
        )
    if side.earlier_days:
        mean = sum(day.ios for day in side.earlier_days) / len(side.earlier_days)
        found.append(
            f"earlier days: {len(side.earlier_days)} days under {side.earlier_days[-1].mode}, until "
            f"{side.earlier_days[-1].start:%Y-%m-%d}, {number(mean / 1e6)} million I/O a day"
        )
    return tuple(found)


def _bills(both: Bills | None) -> tuple[str, ...]:
    if both is None:
        return ("no bill: its usage is not known",)
    before, after = both.covered_percent
    return (
        f"Standard: {_parts(both.standard)}; I/O is {100 * both.standard.io_share:.1f} % of it",
        f"I/O-Optimized: {_parts(both.io_optimized)}",
        f"equal at {number(both.break_even_ios / 1e6)} million I/O a month; reservations cover "
        f"{before:.0f} % of the instances in Standard, {after:.0f} % in I/O-Optimized",
    )


def _parts(bill: Bill) -> str:
    amounts = (bill.instances_usd, bill.serverless_usd, bill.storage_usd, bill.io_usd)
    names = ("instances", "ACUs", "storage", "I/O")
    parts = (f"{name} {money(usd)}" for name, usd in zip(names, amounts, strict=True) if usd)
    return f"{money(bill.total_usd)} a month ({', '.join(parts) or 'nothing'})"


def _gate(side: ClusterDetail) -> tuple[str, ...]:
    opens = side.cluster.next_allowed_at
    return (
        ()
        if opens is None
        else (f"I/O-Optimized is allowed again from {opens:%Y-%m-%d %H:%M} UTC",)
    )


def _check(check: BillCheck | None) -> tuple[str, ...]:
    if check is None:
        return ()
    return (
        f"since decision {check.switch.decision_id} {check.days} whole days: "
        f"{money(check.actual_usd)} a month, {money(check.switch.forecast_usd)} was forecast "
        f"({check.deviation_percent:+.1f} %)",
    )


def as_object(side: ClusterDetail) -> dict[str, object]:
    """The same for machines; USD a month."""
    return {
        "mode": side.cluster.mode.value,
        "goal": side.goal.value,
        "members": {m.instance_class: m.count for m in side.cluster.members},
        "whole_days": len(side.demand.days),
        "storage_gib": side.demand.storage_gib,
        "bills": None if side.bills is None else _bills_object(side.bills),
        "next_allowed_at": side.cluster.next_allowed_at,
        "check": None
        if side.check is None
        else {
            "decision_id": side.check.switch.decision_id,
            "days": side.check.days,
            "actual_usd": side.check.actual_usd,
            "forecast_usd": side.check.switch.forecast_usd,
        },
    }


def _bills_object(both: Bills) -> dict[str, object]:
    sides = {
        bill.mode.value: {
            **{part: getattr(bill, f"{part}_usd") for part in _PARTS},
            "total": bill.total_usd,
        }
        for bill in (both.standard, both.io_optimized)
    }
    return {
        **sides,
        "io_share_percent": round(100 * both.standard.io_share, 2),
        "break_even_io_millions_per_month": round(both.break_even_ios / 1e6, 2),
        "reserved_covers_percent": list(both.covered_percent),
    }
