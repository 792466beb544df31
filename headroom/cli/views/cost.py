"""The bill of running Headroom, for people and scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from rich.console import Console

from headroom.cli.terminal.output import money, say, table
from headroom.domain.decision import costs_more
from headroom.domain.policy import MODE_TAG, Mode
from headroom.domain.resources import Volume, VolumeType
from headroom.running_cost import Fleet, Item, Part, Range, RunningCost, Saving

ENROLLED = (Mode.AUTO.value, Mode.APPROVE.value, Mode.OBSERVE.value)
WITH_CREDITS = (VolumeType.GP2, VolumeType.ST1, VolumeType.SC1)


def counted(volumes: Iterable[Volume]) -> Fleet:
    """The attached ones, of these with burst credits, and enrolled by their tag with something to give back."""
    attached = [volume for volume in volumes if volume.instance_ids]
    return Fleet(
        volumes=len(attached),
        with_credits=sum(one.configuration.volume_type in WITH_CREDITS for one in attached),
        paid=sum(
            one.tag(MODE_TAG) in ENROLLED and costs_more(one.configuration) for one in attached
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CostView:
    """A bill, what it is of, and the setting that lowers it most."""

    place: str
    detection: str
    fleet: Fleet
    cost: RunningCost
    saving: Saving | None


def show(view: CostView, console: Console) -> None:
    """For people."""
    rows = [row for item in view.cost.items for row in _rows(item)]
    title = f"Running Headroom for a month: {view.place}, detection {view.detection}"
    console.print(table(title, ("Item", "What", "Quantity", "Unit price", "USD a month"), rows))
    say(f"Total: {amount(view.cost.usd)} a month{_per_thousand(view)}.", console)
    largest = view.cost.largest
    say(f"Most of it: {largest.name.lower()}, {amount(largest.usd)}.", console)
    if view.saving is not None:
        saved = view.saving
        say(f"`{saved.setting}` saves at most {money(saved.usd)}: {saved.remark}.", console)
    fleet = view.fleet
    say(
        f"For {fleet.volumes:,} attached volumes ({fleet.with_credits:,} with burst credits, "
        f"{fleet.paid:,} enrolled that cost more than the least of their type), "
        f"{fleet.databases:,} databases and {fleet.clusters:,} Aurora clusters; "
        f"{fleet.at_risk_percent:g} % of the volumes under pressure all month. "
        "Prices of us-east-1, free tiers not deducted.",
        console,
    )
    for source in sorted({part.price.source for part in _parts(view.cost)}):
        say(f"Source: {source}.", console)


def as_object(view: CostView) -> dict[str, object]:
    """For scripts: one JSON object; amounts in USD a month, from and to."""
    fleet = view.fleet
    return {
        "place": view.place,
        "detection": view.detection,
        "fleet": {
            "volumes": fleet.volumes, "with_credits": fleet.with_credits, "paid": fleet.paid,
            "databases": fleet.databases, "clusters": fleet.clusters,
            "at_risk_percent": fleet.at_risk_percent,
        },
        "items": [
            {"key": item.key, "name": item.name, "fixed": item.fixed, "usd": _both(item.usd),
             "parts": [_part_object(part) for part in item.parts]}
            for item in view.cost.items
        ],
        "usd_per_month": _both(view.cost.usd),
        "largest": view.cost.largest.key,
        "saving": None if view.saving is None else {
            "setting": view.saving.setting, "usd_per_month": round(float(view.saving.usd), 4),
            "remark": view.saving.remark,
        },
    }  # fmt: skip


def amount(usd: Range) -> str:
    """One price, or from and to where they differ by a cent."""
    low, high = (money(each) for each in usd)
    return low if low == high else f"{low}-{high}"


def _rows(item: Item) -> Iterator[tuple[str, ...]]:
    for number, part in enumerate(part for part in item.parts if part.quantity[1]):
        yield (
            "" if number else item.name,
            part.what,
            _quantity(part.quantity),
            f"${part.price.usd:f} per {part.price.unit}",
            amount(part.usd),
        )


def _quantity(quantity: Range) -> str:
    low, high = (f"{each:,.0f}" if each >= 10 or each == int(each) else f"{each:.3f}"
                 for each in quantity)  # fmt: skip
    return low if low == high else f"{low}-{high}"


def _per_thousand(view: CostView) -> str:
    volumes = view.fleet.volumes
    if not volumes or volumes == 1_000:
        return ""
    low, high = (each / volumes * 1_000 for each in view.cost.usd)
    return f", {amount((low, high))} per 1,000 volumes"


def _parts(cost: RunningCost) -> Iterator[Part]:
    return (part for item in cost.items for part in item.parts)


def _part_object(part: Part) -> dict[str, object]:
    return {
        "what": part.what, "quantity": _both(part.quantity), "usd": _both(part.usd),
        "unit_price_usd": part.price.usd, "unit": part.price.unit, "source": part.price.source,
    }  # fmt: skip


def _both(amounts: tuple[Decimal, Decimal]) -> dict[str, float]:
    return {"from": round(float(amounts[0]), 4), "to": round(float(amounts[1]), 4)}
