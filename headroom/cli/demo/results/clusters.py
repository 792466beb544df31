"""The plots of an Aurora cluster's story: billed I/O by the hour, and the price in both modes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from headroom.cli.demo.expectations.clusters import bills_of
from headroom.cli.demo.script.outcome import ClusterRun
from headroom.cli.views.timeline import Line, Plot, Timeline
from headroom.domain.catalog.aurora import Bills
from headroom.domain.resources import StorageMode

MILLION = 1_000_000


def bills(run: ClusterRun) -> Bills | None:
    """The latest monthly bills in both modes on record; None without them."""
    found = [b for story in run.decisions if (b := bills_of(story.decision)) is not None]
    return found[-1] if found else None


def cluster_timeline(run: ClusterRun, both: Bills | None) -> Timeline:
    """Billed I/O by the hour, and what a month costs in the mode in force beside the other one."""
    times = [at for at, _ in run.billed_ios]
    counts = tuple(float(f"{ios / MILLION:.5g}") for _, ios in run.billed_ios)
    plots = [_plot("Billed I/O", "million an hour", (("billed I/O", counts),))]
    if both is not None:
        sides = (("in force", lambda mode: mode), ("in the other mode", lambda mode: mode.other))
        plots.append(
            _plot(
                "Price", "USD per month",
                tuple((name, _prices(run, times, both, side)) for name, side in sides),
            )
        )  # fmt: skip
    return Timeline(
        times=tuple(int(at.timestamp()) for at in times), step_minutes=60, plots=tuple(plots),
        starved=(),
    )  # fmt: skip


def _prices(
    run: ClusterRun, times: list[datetime], both: Bills,
    side: Callable[[StorageMode], StorageMode],
) -> tuple[float, ...]:  # fmt: skip
    def mode(at: datetime) -> StorageMode:
        return [state for state in run.states if state.at <= at][-1].mode

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
