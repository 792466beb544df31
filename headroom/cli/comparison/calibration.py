"""The calibration of the forecast: a plot as SVG, and the rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import sqrt
from typing import Any

Json = Mapping[str, Any]
COLUMNS = ("forecast between", "hours", "forecast on average", "came")
SIZE, LEFT, BOTTOM, TOP = 320, 48, 44, 12
"""Of the square, and of the margins around it, in pixels."""
TICKS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
FEW = 30
"""A band with fewer hours is drawn small and hollow: its share says little."""
STYLE = """<style>
.calibration { --ink: #1f2933; --soft: #616e7c; --rule: #d9dee5; --dot: #0b69a3; font: 11px system-ui, sans-serif }
@media (prefers-color-scheme: dark) {
  .calibration { --ink: #e4e7eb; --soft: #9aa5b1; --rule: #3e4c59; --dot: #47a3f3 }
}
</style>"""


def rows(calibration: Json) -> Iterator[tuple[str, ...]]:
    """The bands of probability with any forecast, in the order of COLUMNS."""
    for band in calibration["bands"]:
        if band["hours"]:
            yield (
                f"{band['from']:.0%} and {band['to']:.0%}", f"{band['hours']:,}",
                f"{band['forecast']:.1%}", f"{band['came']:.1%}",
            )  # fmt: skip


def remark(calibration: Json) -> str:
    """The log score in a sentence."""
    return (
        f"Log score {calibration['log_score']:.4f} an hour (0 is perfect); always forecasting the share of "
        f"all hours that came, known in hindsight only, scores {calibration['log_score_of_the_rate']:.4f}."
    )


def plot(calibration: Json) -> str:
    """An SVG element: the share of hours that came against the probability forecast.

    Its bars are twice the standard error of a share of as many independent hours.
    """
    width, height = LEFT + SIZE + 16, TOP + SIZE + BOTTOM
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="calibration" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" aria-label="Share of hours that came, by the '
            'probability forecast; on the diagonal both are equal">',
            STYLE,
            *_axes(),
            *(part for band in calibration["bands"] if band["hours"] for part in _band(band)),
            "</svg>",
        ]
    )


def _x(share: float) -> float:
    return round(LEFT + SIZE * share, 1)


def _y(share: float) -> float:
    return round(TOP + SIZE * (1 - share), 1)


def _axes() -> Iterator[str]:
    for tick in TICKS:
        yield (
            f'<path d="M{_x(tick)} {_y(0)}V{_y(1)}M{_x(0)} {_y(tick)}H{_x(1)}" stroke="var(--rule)"/>'
            f'<text x="{_x(tick)}" y="{_y(0) + 16}" text-anchor="middle" fill="var(--soft)">{tick:.0%}</text>'
            f'<text x="{_x(0) - 6}" y="{_y(tick) + 4}" text-anchor="end" fill="var(--soft)">{tick:.0%}</text>'
        )
    yield f'<path d="M{_x(0)} {_y(0)}L{_x(1)} {_y(1)}" stroke="var(--soft)" stroke-dasharray="4 4"/>'
    yield (
        f'<text x="{_x(0.5)}" y="{_y(0) + 36}" text-anchor="middle" fill="var(--ink)">probability forecast</text>'
        f'<text transform="translate(12 {_y(0.5)}) rotate(-90)" text-anchor="middle" fill="var(--ink)">came</text>'
    )


def _band(band: Json) -> Iterator[str]:
    x, came, hours = _x(band["forecast"]), band["came"], band["hours"]
    error = 2 * sqrt(came * (1 - came) / hours)
    few = hours < FEW
    yield f'<path d="M{x} {_y(max(0.0, came - error))}V{_y(min(1.0, came + error))}" stroke="var(--dot)"/>'
    yield (
        f'<circle cx="{x}" cy="{_y(came)}" r="{3 if few else 5}" stroke="var(--dot)" '
        f'fill="{"none" if few else "var(--dot)"}"><title>{band["forecast"]:.1%} forecast, {came:.1%} came, '
        f"{hours:,} hours</title></circle>"
    )
