"""What a resource went through, minute by minute, in the shape that plots and tables need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from headroom.domain.catalog.ebs import MIB

MOST_POINTS = 1_000
"""More minutes than this are drawn as averages of equal spans, which the report says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Minute:
    """One minute of one resource; None means not measured or not published.

    Operations are EBS operations per second, throughput MiB/s, latency ms, price USD per month.
    """

    at: datetime
    offered_iops: float | None
    served_iops: float | None
    limit_iops: float
    offered_mibps: float | None
    served_mibps: float | None
    limit_mibps: float
    credits_percent: float | None
    queue: float | None
    latency_ms: float | None
    usd_per_month: float
    starved: bool


def loaded_minute(
    *,
    at: datetime,
    known: bool,
    offered_ops: float,
    served_ops: float,
    served_bytes: float,
    ebs_iops: float,
    limits: tuple[float, float],
    credits_percent: float | None,
    queue: float,
    latency_ms: float | None,
    usd_per_month: float,
    starved: bool,
) -> Minute:
    """A minute from what the proving ground counted in it; `limits` are IOPS and MiB/s.

    What was offered but not served is taken to be like what was served.
    """
    mibps = served_bytes / MIB / 60
    more = offered_ops / served_ops if served_ops else 0.0
    return Minute(
        at=at,
        offered_iops=ebs_iops * more if known else None,
        served_iops=ebs_iops if known else None,
        limit_iops=limits[0],
        offered_mibps=mibps * more if known else None,
        served_mibps=mibps if known else None,
        limit_mibps=limits[1],
        credits_percent=credits_percent,
        queue=queue if known else None,
        latency_ms=latency_ms if known else None,
        usd_per_month=usd_per_month,
        starved=starved,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something that happened at an instant, drawn on every plot of its resource.

    `kind` is `act`, `hold`, `escalate`, `outcome` or `other` (a change by somebody else).
    """

    at: datetime
    kind: str
    label: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a plot; `role` is `offered`, `served`, `limit` or `plain`."""

    name: str
    role: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One plot: its lines share an axis and a unit."""

    title: str
    unit: str
    about: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The plots of one resource over common instants (seconds since 1970)."""

    times: tuple[int, ...]
    step_minutes: int
    plots: tuple[Plot, ...]
    starved: tuple[tuple[int, int], ...]
    """Spans of starved minutes as (first second, last second)."""


def timeline(minutes: Sequence[Minute]) -> Timeline:
    """The plots of `minutes`, thinned to at most `MOST_POINTS` instants."""
    step = -(-len(minutes) // MOST_POINTS) or 1
    spans = [minutes[i : i + step] for i in range(0, len(minutes), step)]

    def mean(pick: Callable[[Minute], float | None]) -> tuple[float | None, ...]:
        return tuple(_mean([pick(m) for m in span]) for span in spans)

    def most(pick: Callable[[Minute], float | None]) -> tuple[float | None, ...]:
        return tuple(_most([pick(m) for m in span]) for span in spans)

    load = (
        _load("IOPS", "operations/s", mean(lambda m: m.offered_iops),
              mean(lambda m: m.served_iops), mean(lambda m: m.limit_iops)),
        _load("Throughput", "MiB/s", mean(lambda m: m.offered_mibps),
              mean(lambda m: m.served_mibps), mean(lambda m: m.limit_mibps)),
    )  # fmt: skip
    credits_left = mean(lambda m: m.credits_percent)
    rest = (
        _single("Burst credits", "% of the bucket", "BurstBalance", credits_left),
        _single("Queue", "operations waiting", "VolumeQueueLength", most(lambda m: m.queue)),
        _single("Latency", "ms per operation", "mean latency", most(lambda m: m.latency_ms)),
        _single("Price", "USD per month", "price", mean(lambda m: m.usd_per_month)),
    )
    drawn = (p for p in (*load, *rest) if any(v is not None for v in p.lines[0].values))
    return Timeline(
        times=tuple(int(span[0].at.timestamp()) for span in spans),
        step_minutes=step,
        plots=tuple(drawn),
        starved=_starved(minutes),
    )


def _load(
    title: str, unit: str,
    offered: tuple[float | None, ...], served: tuple[float | None, ...],
    limit: tuple[float | None, ...],
) -> Plot:  # fmt: skip
    peak = max((v for v in offered if v is not None), default=0)
    held = max((v for v in served if v is not None), default=0)
    limits = [v for v in limit if v is not None]
    about = (
        f"{title} offered, served and allowed over time: offered load peaks at {peak:,.0f}, "
        f"served load at {held:,.0f}, and the limit goes from {limits[0]:,.0f} "
        f"to {limits[-1]:,.0f} {unit}."
    )
    lines = (
        Line(name="offered", role="offered", values=offered),
        Line(name="served", role="served", values=served),
        Line(name="limit", role="limit", values=limit),
    )
    return Plot(title=title, unit=unit, about=about, lines=lines)


def _single(title: str, unit: str, name: str, values: tuple[float | None, ...]) -> Plot:
    known = [v for v in values if v is not None]
    about = f"{title}: nothing was published."
    if known:
        about = (
            f"{title} over time: from {known[0]:,.4g} to {known[-1]:,.4g} {unit}, lowest "
            f"{min(known):,.4g}, highest {max(known):,.4g}."
        )
    line = Line(name=name, role="plain", values=values)
    return Plot(title=title, unit=unit, about=about, lines=(line,))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return _short(sum(known) / len(known)) if known else None


def _most(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return _short(max(known)) if known else None


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def _starved(minutes: Sequence[Minute]) -> tuple[tuple[int, int], ...]:
    spans: list[tuple[int, int]] = []
    for minute in minutes:
        if not minute.starved:
            continue
        at = int(minute.at.timestamp())
        if spans and spans[-1][1] == at:
            spans[-1] = (spans[-1][0], at + 60)
        else:
            spans.append((at, at + 60))
    return tuple(spans)
