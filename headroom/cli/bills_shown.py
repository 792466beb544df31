"""An Aurora cluster's bill on both sides, as people and scripts read it."""

from __future__ import annotations

from decimal import Decimal

from headroom.cli.output import money
from headroom.domain.aurora import StorageMode
from headroom.domain.aurora_bill import Bill, Bills
from headroom.domain.cluster_side import ClusterSide

NAMES = {StorageMode.STANDARD: "Standard", StorageMode.IO_OPTIMIZED: "I/O-Optimized"}
PARTS = ("instances", "serverless", "storage", "io", "total")


def rows(bills: Bills) -> list[tuple[str, str, str]]:
    """What each part costs a month in Standard and in I/O-Optimized."""
    return [
        ("I/O" if part == "io" else part, money(_part(bills.standard, part)),
         money(_part(bills.io_optimized, part)))
        for part in PARTS
    ]  # fmt: skip


def lines(side: ClusterSide) -> tuple[str, ...]:
    """What an owner asks first about a cluster."""
    cluster, days = side.cluster, side.demand.days
    members = ", ".join(f"{m.count} {m.instance_class}" for m in cluster.members) or "no member"
    found = [
        f"{cluster.engine} {cluster.engine_version}, {NAMES[cluster.mode]}; {members}",
        f"status {cluster.status}, goal {side.goal.value}, {len(days)} whole days of billed I/O",
    ]
    if cluster.next_allowed_at is not None:
        opens = f"{cluster.next_allowed_at:%Y-%m-%d %H:%M} UTC"
        found.append(f"AWS allows I/O-Optimized again from {opens}")
    if cluster.restarts:
        found.append("a change of mode restarts the engine (members with local NVMe)")
    if side.bills is not None:
        before, after = side.bills.covered_percent
        found.append(
            f"I/O is {100 * side.bills.standard.io_share:.1f} % of the bill in Standard; both are "
            f"equal at {side.bills.break_even_ios / 1e6:,.0f} million I/O a month"
        )
        if before:
            found.append(
                f"reservations cover {before:.0f} % of the instances in Standard, {after:.0f} % in "
                "I/O-Optimized"
            )
    return tuple(found)


def as_object(side: ClusterSide) -> dict[str, object]:
    """The cluster and both bills for JSON; USD a month."""
    cluster, bills = side.cluster, side.bills
    opens = cluster.next_allowed_at
    return {
        "engine": cluster.engine,
        "engine_version": cluster.engine_version,
        "storage_type": cluster.mode.value,
        "members": [{"class": m.instance_class, "count": m.count} for m in cluster.members],
        "status": cluster.status,
        "goal": side.goal.value,
        "days": len(side.demand.days),
        "next_allowed_at": None if opens is None else opens.isoformat(),
        "usd_per_month": None
        if bills is None
        else {
            name: {part: round(float(_part(bill, part)), 2) for part in PARTS}
            for name, bill in (("standard", bills.standard), ("io_optimized", bills.io_optimized))
        },
        "io_share_percent": None if bills is None else round(100 * bills.standard.io_share, 1),
        "break_even_io_millions_per_month": None
        if bills is None
        else round(bills.break_even_ios / 1e6, 1),
        "reserved_covers_percent": None if bills is None else list(bills.covered_percent),
    }


def _part(bill: Bill, part: str) -> Decimal:
    usd: Decimal = getattr(bill, f"{part}_usd")
    return usd
