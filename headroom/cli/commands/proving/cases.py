"""`headroom cases`: published measurements and bills beside what comes out here."""

from __future__ import annotations

from typing import Annotated

import typer

from headroom.cli.sources.options import JsonOption
from headroom.cli.terminal.output import emit, money, out, table
from headroom.cli.terminal.problems import FAILED, OK, BadRequest
from headroom.domain.catalog import catalogue_prices
from headroom.domain.planning import Alternative, alternatives
from headroom.domain.resources import Configuration, Database, Engine, VolumeType
from headroom.proving.scoring import CASES, TITLES, ReferenceFigure, reference_figures

TODAY = (
    ("an EBS volume, us-west-2", "us-west-2", None),
    ("RDS for MySQL, us-east-1", "us-east-1", Database(engine=Engine.MYSQL)),
)
"""Where case A is asked again today: in words, the Region, the database."""


def cases(
    case: Annotated[
        str | None, typer.Argument(help="One of A to E (docs/reference-cases.md). Default: all.")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Recalculate published measurements and bills, and print both figures side by side.

    Exit code 1 if a figure differs from the published one. Works offline.
    """
    names = CASES if case is None else (case.upper(),)
    if names[0] not in CASES:
        raise BadRequest(f"There is no case {case!r}; there are {', '.join(CASES)}.")
    found = {name: reference_figures(name) for name in names}
    if as_json:
        emit({name: [_as_object(one) for one in each] for name, each in found.items()})
    else:
        for name, each in found.items():
            columns = ("Figure", "Published", "Here", "Off")
            rows = [_row(one) for one in each]
            out().print(table(f"Case {name}: {TITLES[name]}", columns, rows))
            if name == "A":
                for where, region, database in TODAY:
                    title = f"Case A today: the cheapest of each type for 2,500 IOPS, {where}"
                    rows = [_today(one) for one in _offered(region, database)]
                    out().print(table(title, ("Type", "Would be", "USD a month"), rows))
    held = all(one.holds for each in found.values() for one in each)
    return OK if held else FAILED


def _row(figure: ReferenceFigure) -> tuple[str, ...]:
    off = f"{100 * figure.off:+.1f} %" if abs(figure.off) >= 0.0005 else "-"
    if not figure.holds:
        off += " (too far)"
    return (
        figure.what, _figure(figure, figure.published), _figure(figure, figure.ours), off
    )  # fmt: skip


def _figure(figure: ReferenceFigure, value: float) -> str:
    text = money(value) if figure.unit == "USD" else f"{_number(value)} {figure.unit}"
    return text.strip()


def _number(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def _offered(region: str, database: Database | None) -> tuple[Alternative, ...]:
    origin = Configuration(
        volume_type=VolumeType.GP2, size_gib=400, iops=None, throughput_mibps=None,
        database=database,
    )  # fmt: skip
    return alternatives(origin, iops=2_500, mibps=125, prices=catalogue_prices(region))


def _today(offer: Alternative) -> tuple[str, ...]:
    price = "?" if offer.monthly_usd is None else money(offer.monthly_usd)
    grows = " (grows, which cannot be undone)" if offer.grows else ""
    return offer.volume_type.value, f"{offer.target or '-'}{grows}", price


def _as_object(figure: ReferenceFigure) -> dict[str, object]:
    return {
        "what": figure.what, "unit": figure.unit, "published": figure.published,
        "ours": round(figure.ours, 4), "off": round(figure.off, 5),
        "may_be_off": figure.within, "holds": figure.holds, "note": figure.note,
    }  # fmt: skip
