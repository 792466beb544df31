"""The stories of Aurora clusters at their end: their bill and billed I/O by the hour, and marks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal

from headroom.cli.demo.expectations.clusters import applied, bills_of, ending
from headroom.cli.demo.results.section import Ended
from headroom.cli.demo.script.clusters import PlayedCluster
from headroom.cli.demo.script.outcome import Ending
from headroom.cli.terminal.output import money
from headroom.cli.views import decision as telling
from headroom.cli.views.report import Section
from headroom.cli.views.timeline import Line, Plot, Timeline
from headroom.domain.catalog.aurora import Bills
from headroom.domain.resources import StorageMode

MILLION = 1_000_000
WORDS = {StorageMode.STANDARD: "Standard", StorageMode.IO_OPTIMIZED: "I/O-Optimized"}


def of_cluster(played: PlayedCluster) -> Ended:
    """A cluster's story, judged."""
    end = ending(played)
    both = bills(played)
    first, last = played.seen[0].mode, played.seen[-1].mode
    change = Decimal(0) if both is None else both.of(last).total_usd - both.of(first).total_usd
    return Ended(
        key=played.story.key,
        title=played.story.title,
        kind="cluster",
        resource=played.name,
        told=played.told,
        changes=len(applied(played)),
        ending=end,
        section=_section(played, end, both),
        price_change=change,
        starved_minutes=0,
    )


def bills(played: PlayedCluster) -> Bills | None:
    """The month on both sides as the record has it last; None where it never has."""
    found = [b for t in played.told if (b := bills_of(t.decision)) is not None]
    return found[-1] if found else None


def _section(played: PlayedCluster, end: Ending, both: Bills | None) -> Section:
    story, first, last = played.story, played.seen[0], played.seen[-1]
    price = "not on record"
    if both is not None:
        was, now = both.of(first.mode).total_usd, both.of(last.mode).total_usd
        price = f"{money(was)} to {money(now)} a month"
    marks = (mark for told in played.told for mark in telling.marks(told))
    return Section(
        key=story.key,
        title=story.title,
        ending=end.line + "".join(f" It is not so that {claim}." for claim in end.amiss),
        ok=end.ok,
        facts=(
            ("cluster", played.name),
            ("members", f"{story.members} of {story.instance_class}"),
            ("at first", WORDS[first.mode]),
            ("at last", WORDS[last.mode]),
            ("price", price),
            ("messages to people", str(played.messages)),
        ),
        timeline=_timeline(played, both),
        marks=tuple(sorted((m for m in marks if m.at >= first.at), key=lambda m: m.at)),
        decisions=tuple(telling.row(told) for told in played.told),
    )


def _timeline(played: PlayedCluster, both: Bills | None) -> Timeline:
    """Billed I/O by the hour, and what a month costs in the mode in force beside the other one."""
    times = [at for at, _ in played.billed_ios]
    counts = tuple(float(f"{ios / MILLION:.5g}") for _, ios in played.billed_ios)
    plots = [_plot("Billed I/O", "million an hour", (("billed I/O", counts),))]
    if both is not None:
        sides = (("in force", lambda mode: mode), ("in the other mode", lambda mode: mode.other))
        plots.append(
            _plot(
                "Price", "USD per month",
                tuple((name, _prices(played, times, both, side)) for name, side in sides),
            )
        )  # fmt: skip
    return Timeline(
        times=tuple(int(at.timestamp()) for at in times), step_minutes=60, plots=tuple(plots),
        starved=(),
    )  # fmt: skip


def _prices(
    played: PlayedCluster, times: list[datetime], both: Bills,
    side: Callable[[StorageMode], StorageMode],
) -> tuple[float, ...]:  # fmt: skip
    def mode(at: datetime) -> StorageMode:
        return [seen for seen in played.seen if seen.at <= at][-1].mode

    return tuple(float(round(both.of(side(mode(at))).total_usd, 2)) for at in times)


def _plot(title: str, unit: str, lines: tuple[tuple[str, tuple[float, ...]], ...]) -> Plot:
    values = lines[0][1]
    about = f"{title}: nothing was published."
    if values:
        about = f"{title} over time: from {values[0]:,.4g} to {values[-1]:,.4g} {unit}."
    return Plot(
        title=title, unit=unit, about=about,
        lines=tuple(
            Line(name=name, role="plain" if number == 0 else "limit", values=each)
            for number, (name, each) in enumerate(lines)
        ),
    )  # fmt: skip
