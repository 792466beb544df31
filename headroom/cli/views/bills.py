"""An Aurora cluster's bill in both modes, as a table."""

from __future__ import annotations

from decimal import Decimal

from headroom.cli.terminal.output import money
from headroom.domain.catalog.aurora import Bill, Bills
from headroom.domain.resources import StorageMode

NAMES = {StorageMode.STANDARD: "Standard", StorageMode.IO_OPTIMIZED: "I/O-Optimized"}
PARTS = ("instances", "serverless", "storage", "io", "total")


def rows(bills: Bills) -> list[tuple[str, str, str]]:
    """What each part costs a month in Standard and in I/O-Optimized."""
    return [
        ("I/O" if part == "io" else part, money(_part(bills.standard, part)),
         money(_part(bills.io_optimized, part)))
        for part in PARTS
    ]  # fmt: skip


def _part(bill: Bill, part: str) -> Decimal:
    usd: Decimal = getattr(bill, f"{part}_usd")
    return usd
