"""Summary of a comparison: totals, ranking, Pareto front, targets.

Every sum is over the runs of one preset; short traces and the two halves are summed apart too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType

from headroom.proving.scoring.release_targets import release_targets
from headroom.proving.scoring.rows import HALVES, ComparisonRow, ControllerKind
from headroom.proving.trials import Calibration, bands

GROUPS: Mapping[str, Callable[[ComparisonRow], bool]] = MappingProxyType(
    {
        "all": lambda row: True,
        "tuning": lambda row: row.half == "tuning",
        "unseen": lambda row: row.half == "unseen",
        "long": lambda row: not row.short,
        "short": lambda row: row.short,
    }
)
"""Groups of runs that are summed by themselves; `short` are traces under seven days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """Sums over the runs of one controller in one group. Money in USD."""

    runs: int
    score: float
    regret: float
    storage_usd: float
    running_usd: float
    shortfall_minutes: float
    starved_minutes: int
    unsavable_minutes: int
    modifications: int
    price_raising: int
    aws_refusals: int
    guardrail_violations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingEntry:
    """One controller at one preset; `rank` counts from 1 among its kind, references apart."""

    controller: str
    kind: ControllerKind
    rank: int
    dominated: bool
    """Whether another of its kind has no more shortfall and no more dollars, and less of one."""
    totals: Mapping[str, Total]


def rank_controllers(rows: Sequence[ComparisonRow]) -> tuple[RankingEntry, ...]:
    """Controllers by total score, the best first, then the references; `rows` of one preset."""
    by_name: dict[str, list[ComparisonRow]] = defaultdict(list)
    for row in rows:
        by_name[row.controller].append(row)
    totals = {name: _totals(own) for name, own in by_name.items()}
    found: list[RankingEntry] = []
    for reference in (False, True):
        names = [n for n, own in by_name.items() if (own[0].kind == "reference") is reference]
        names.sort(key=lambda name: totals[name]["all"].score)
        for rank, name in enumerate(names, start=1):
            found.append(
                RankingEntry(
                    controller=name,
                    kind=by_name[name][0].kind,
                    rank=rank,
                    dominated=_dominated(name, names, totals),
                    totals=totals[name],
                )
            )
    return tuple(found)


def total_of(rows: Sequence[ComparisonRow]) -> Total:
    """Sums over rows of one controller."""
    summed = [field.name for field in fields(Total) if field.name not in ("runs", "price_raising")]
    return Total(
        runs=len(rows),
        price_raising=sum(row.measures.price_raising for row in rows),
        **{name: sum(getattr(row, name) for row in rows) for name in summed},
    )


def _totals(rows: Sequence[ComparisonRow]) -> Mapping[str, Total]:
    return {name: total_of([r for r in rows if inside(r)]) for name, inside in GROUPS.items()}


def _dominated(name: str, names: Sequence[str], totals: Mapping[str, Mapping[str, Total]]) -> bool:
    own = _point(totals[name]["all"])
    return any(
        point[0] <= own[0] and point[1] <= own[1] and point != own
        for point in (_point(totals[other]["all"]) for other in names)
    )


def _point(of: Total) -> tuple[float, float]:
    return round(of.shortfall_minutes, 2), round(of.storage_usd, 2)


def summary(rows: Sequence[ComparisonRow]) -> dict[str, object]:
    """The object under `summary` in `headroom compare --json`."""
    presets = list(dict.fromkeys(row.preset for row in rows))
    half = {row.trace: row.half for row in rows}
    return {
        "runs": len(rows),
        "cases": len({(row.trace, row.scale, row.start) for row in rows}),
        "halves": {
            "rule": HALVES,
            "tuning": sorted(name for name in half if half[name] == "tuning"),
            "unseen": sorted(name for name in half if half[name] == "unseen"),
        },
        "traces": [
            {
                "trace": row.trace,
                "half": row.half,
                "days": round(row.trace_days, 2),
                "short": row.short,
                "scales": {r.scale: round(r.scale_factor, 3) for r in rows if r.trace == row.trace},
            }
            for row in {row.trace: row for row in rows}.values()
        ],
        "presets": {
            preset: _of_preset([row for row in rows if row.preset == preset]) for preset in presets
        },
    }


def _of_preset(rows: Sequence[ComparisonRow]) -> dict[str, object]:
    order = rank_controllers(rows)
    return {
        "ranking": [s.controller for s in order if s.kind != "reference"],
        "references": [s.controller for s in order if s.kind == "reference"],
        "pareto_front": [s.controller for s in order if not s.dominated and s.kind != "reference"],
        "controllers": [
            {
                "controller": s.controller,
                "kind": s.kind,
                "rank": s.rank,
                "dominated": s.dominated,
                "totals": {name: _rounded(asdict(t)) for name, t in s.totals.items()},
            }
            for s in order
        ],
        "oracle": _oracle([row for row in rows if row.controller == "oracle"]),
        "calibration": _calibration(
            [row.calibration for row in rows if row.calibration is not None]
        ),
        "targets": [asdict(target) for target in release_targets(rows)],
        "by_trace": list(_by_trace(rows)),
    }


def _oracle(rows: Sequence[ComparisonRow]) -> dict[str, object]:
    """What the oracle's schedules score, and what no schedule scores less than."""
    return {
        "score": round(sum(row.score for row in rows), 4),
        "bound": round(sum(row.oracle_bound for row in rows), 4),
        "proven_optimal": sum(row.oracle_exact for row in rows),
        "runs": len(rows),
    }


def _calibration(found: Sequence[Calibration]) -> dict[str, object] | None:
    """The forecasts of all runs by band of probability, with shares; None without any."""
    total = sum(found, Calibration())
    if not any(total.hours):
        return None
    return {
        "bands": [
            {
                "from": low, "to": high, "hours": hours,
                "forecast": round(forecast / max(1, hours), 4), "came": round(came / max(1, hours), 4),
            }
            for (low, high), hours, forecast, came in zip(
                bands(), total.hours, total.forecast, total.came, strict=True
            )
        ],
        "log_score": round(total.mean_log_score, 4),
        "log_score_of_the_rate": round(total.mean_log_score_of_the_rate, 4),
    }  # fmt: skip


def _by_trace(rows: Sequence[ComparisonRow]) -> Iterator[dict[str, object]]:
    """Every controller's score on each trace at each scale, and the oracle's bound, over all starts."""
    bounds: dict[tuple[str, str], float] = defaultdict(float)
    found: dict[tuple[str, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in rows:
        found[row.trace, row.scale][row.controller] += row.score
        if row.controller == "oracle":
            bounds[row.trace, row.scale] += row.oracle_bound
    for (trace, scale), scores in found.items():
        bound = round(bounds[trace, scale], 4)
        yield {"trace": trace, "scale": scale, "scores": _rounded(scores), "oracle_bound": bound}


def _rounded(values: Mapping[str, object]) -> dict[str, object]:
    return {k: round(v, 4) if isinstance(v, float) else v for k, v in values.items()}
