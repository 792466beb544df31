"""Release targets, each measured on the rows of one preset."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from headroom.proving.scoring.rows import ComparisonRow

OURS = "headroom"
REGRET_RATIO: Mapping[str, float] = MappingProxyType(
    {"performance": 0.10, "balanced": 0.20, "thrift": 0.60}
)
SCORE_RATIO: Mapping[str, float] = MappingProxyType(
    {"performance": 1.15, "balanced": 0.98, "thrift": 0.98}
)
ORACLE_RATIO: Mapping[str, float] = MappingProxyType(
    {"performance": 1.80, "balanced": 1.45, "thrift": 1.25}
)
REACTION_MIN, REACTION_USD = 15, 0.30
"""One reaction that nobody could have spared: minutes of shortfall, or dollars if that is more."""
CENT = 0.005
NAMED = 12
"""How many of the worst runs are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseTarget:
    """One target; `figure` is None where there was nothing to measure it on."""

    key: str
    about: str
    """What is measured, in one sentence."""
    limit: float
    at_most: bool
    figure: float | None
    tuning: float | None
    unseen: float | None
    met: bool | None
    detail: str


class _Found(NamedTuple):
    figure: float | None
    detail: str = ""


Measure = Callable[[Sequence[ComparisonRow]], _Found]


def release_targets(rows: Sequence[ComparisonRow]) -> tuple[ReleaseTarget, ...]:
    """Every target, measured on `rows` of one preset: on all runs and on either half."""
    preset = rows[0].preset if rows else "balanced"
    return tuple(
        _target(rows, key, about, limit, at_most, measure)
        for key, about, limit, at_most, measure in (
            (
                "score_ratio", "total score over that of best-static",
                SCORE_RATIO.get(preset, 1.0), True, _score_ratio,
            ),
            (
                "oracle_ratio", "total score over the oracle's",
                ORACLE_RATIO.get(preset, 1.0), True, _oracle_ratio,
            ),
            (
                "regret_ratio", "total regret over that of the best published rule, chosen in "
                "hindsight (for a half: of that half)", REGRET_RATIO.get(preset, 1.0), True, _regret_ratio,
            ),
            (
                "worst_on", "traces (by scale) on which it scores worst of all controllers",
                0.0, True, _worst_on,
            ),
            (
                "tolerable_share", "share of runs no worse than the better of none and "
                "static-peak plus one reaction (15 minutes of shortfall, or $0.30 if that is more)",
                0.90, False, _tolerable,
            ),
            (
                "worse_than_none", "runs that are worse than none by more than one reaction",
                0.0, True, _worse_than_none,
            ),
            (
                "foreseen_share", "share of foreseeable gp2 depletions acted on before their "
                "first starved minute", 0.90, False, _foreseen,
            ),
            (
                "left_alone_share", "share of the volume-days that would not have starved on which "
                "nothing raised the price, or added performance without lowering it",
                0.98, False, _left_alone,
            ),
            (
                "raises_per_episode", "price-raising modifications per starvation episode",
                1.5, True, _raises,
            ),
            (
                "runs_out_of_slots", "runs with a starved minute in which the policy's slots of "
                "24 hours were all used", 0.0, True, _slotless,
            ),
            (
                "violations", "changes outside the owner's limits", 0.0, True,
                lambda own: _Found(float(sum(r.guardrail_violations for r in _ours(own)))),
            ),
            (
                "invalid_plans", "plans that AWS would refuse as invalid", 0.0, True,
                lambda own: _Found(float(sum(r.measures.invalid_plans for r in _ours(own)))),
            ),
        )
    )  # fmt: skip


def _target(
    rows: Sequence[ComparisonRow],
    key: str,
    about: str,
    limit: float,
    at_most: bool,
    measure: Measure,
) -> ReleaseTarget:
    nothing = _Found(None, "headroom did not run")
    parts = (rows, *([r for r in rows if r.half == half] for half in ("tuning", "unseen")))
    measured = [measure(part) if _ours(part) else nothing for part in parts]
    exact = measured[0].figure
    met = None if exact is None else exact <= limit if at_most else exact >= limit
    figure, tuning, unseen = (None if f is None else round(f, 4) for f, _ in measured)
    return ReleaseTarget(
        key=key, about=about, limit=limit, at_most=at_most, figure=figure, tuning=tuning,
        unseen=unseen, met=met, detail=measured[0].detail,
    )  # fmt: skip


def _ours(rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    return [row for row in rows if row.controller == OURS]


def _sums(rows: Sequence[ComparisonRow], of: Callable[[ComparisonRow], float]) -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for row in rows:
        found[row.controller] += of(row)
    return found


def _named(trace: str, scale: str) -> str:
    return trace if scale == "1" else f"{trace} at scale {scale}"


def _ratio(above: float, below: float) -> float | None:
    if below > CENT:
        return above / below
    return 1.0 if above <= CENT else None


def _regret_ratio(rows: Sequence[ComparisonRow]) -> _Found:
    published = _sums([r for r in rows if r.kind == "published"], lambda r: r.regret)
    if not published:
        return _Found(None, "no published rule ran")
    best = min(published, key=lambda name: published[name])
    own = sum(row.regret for row in _ours(rows))
    return _Found(
        _ratio(own, published[best]), f"${own:,.2f} against ${published[best]:,.2f} of {best}"
    )


def _score_ratio(rows: Sequence[ComparisonRow]) -> _Found:
    scores = _sums(rows, lambda r: r.score)
    if "best-static" not in scores:
        return _Found(None, "best-static did not run")
    detail = f"${scores[OURS]:,.2f} against ${scores['best-static']:,.2f}"
    if scores.get("oracle"):
        detail += f"; oracle {scores['oracle'] / scores['best-static']:.2f}"
    return _Found(_ratio(scores[OURS], scores["best-static"]), detail)


def _oracle_ratio(rows: Sequence[ComparisonRow]) -> _Found:
    scores = _sums(rows, lambda r: r.score)
    if "oracle" not in scores:
        return _Found(None, "the oracle did not run")
    bound = sum(row.oracle_bound for row in rows if row.controller == "oracle")
    detail = f"${scores[OURS]:,.2f} against ${scores['oracle']:,.2f}, bound ${bound:,.2f}"
    return _Found(_ratio(scores[OURS], scores["oracle"]), detail)


def _worst_on(rows: Sequence[ComparisonRow]) -> _Found:
    by_trace: dict[tuple[str, str], list[ComparisonRow]] = defaultdict(list)
    for row in rows:
        if row.kind != "reference":
            by_trace[row.trace, row.scale].append(row)
    worst = []
    for (trace, scale), own in by_trace.items():
        scores = _sums(own, lambda r: r.score)
        ours = scores.pop(OURS, None)
        if ours is not None and scores and ours > max(scores.values()) + CENT:
            worst.append(
                f"{_named(trace, scale)} (${ours - max(scores.values()):,.2f} above the next)"
            )
    return _Found(float(len(worst)), ", ".join(worst))


def _tolerable(rows: Sequence[ComparisonRow]) -> _Found:
    count, outside, detail = _over(rows, ("none", "static-peak"))
    return _Found(1 - outside / count if count else None, detail)


def _worse_than_none(rows: Sequence[ComparisonRow]) -> _Found:
    count, outside, detail = _over(rows, ("none",))
    return _Found(float(outside) if count else None, detail)


def _over(rows: Sequence[ComparisonRow], names: Sequence[str]) -> tuple[int, int, str]:
    """Runs, those worse than the best of `names` by more than one reaction, and the worst named."""
    scores = {(row.case, row.controller): row.score for row in rows}
    outside, count = [], 0
    for row in _ours(rows):
        others = [scores[row.case, name] for name in names if (row.case, name) in scores]
        if len(others) < len(names):
            continue
        count += 1
        over = row.score - min(others) - max(REACTION_USD, REACTION_MIN * row.value_usd)
        if over > 0:
            outside.append(
                (over, f"{_named(row.trace, row.scale)} {row.start} (${over:,.2f} over)")
            )
    named = [text for _, text in sorted(outside, reverse=True)]
    more = f", and {len(named) - NAMED} more" if len(named) > NAMED else ""
    return count, len(outside), ", ".join(named[:NAMED]) + more


def _foreseen(rows: Sequence[ComparisonRow]) -> _Found:
    return _share(
        sum(r.measures.foreseen for r in _ours(rows)),
        sum(r.measures.foreseeable for r in _ours(rows)),
        "foreseeable depletions",
    )


def _left_alone(rows: Sequence[ComparisonRow]) -> _Found:
    days = sum(r.measures.calm_days for r in _ours(rows))
    disturbed = sum(r.measures.disturbed_days for r in _ours(rows))
    found = _share(days - disturbed, days, "volume-days")
    if not days:
        return found
    strict = 1 - sum(r.measures.sped_up_days for r in _ours(rows)) / days
    return _Found(
        found.figure, f"{found.detail}; {strict:.1%} if a cheaper type that serves as much or more "
        "(gp2 to gp3) counts as disturbing",
    )  # fmt: skip


def _share(part: int, whole: int, of: str) -> _Found:
    return _Found(part / whole if whole else None, f"{part:,} of {whole:,} {of}")


def _raises(rows: Sequence[ComparisonRow]) -> _Found:
    raises = sum(r.measures.price_raising for r in _ours(rows))
    episodes = sum(r.measures.episodes for r in _ours(rows))
    ratio = raises / episodes if episodes else 0.0 if not raises else None
    return _Found(ratio, f"{raises:,} for {episodes:,} episodes")


def _slotless(rows: Sequence[ComparisonRow]) -> _Found:
    own = _ours(rows)
    found = [r for r in own if r.measures.slotless_minutes]
    runs = ", ".join(
        f"{_named(r.trace, r.scale)} {r.start} ({r.measures.slotless_minutes} min)" for r in found
    )
    most = max((r.measures.most_in_24h for r in own), default=0)
    times = sum(r.measures.most_in_24h == most for r in own)
    used = f"at most {most} modifications in 24 h, in {times:,} of {len(own):,} runs"
    return _Found(float(len(found)), used + (f"; {runs}" if runs else ""))
