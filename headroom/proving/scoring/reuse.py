"""Rows of an earlier comparison, so that only Headroom needs to run again."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

from headroom.proving.inputs import BadInput
from headroom.proving.scoring.rows import ComparisonRow, Measures

Case = tuple[str, str, str, str]
OURS = "headroom"
ROUNDING = 1e-3
"""Rounding of stored scores, in dollars."""
MAY_DIFFER = ("presets_usd_per_shortfall_minute", "scales")
"""Conditions that differ per row."""


def earlier_rows(
    path: Path, conditions: Mapping[str, object]
) -> dict[Case, tuple[ComparisonRow, ...]]:
    """All rows but Headroom's in an earlier `headroom compare --json`, by case.

    Raises BadInput for any other file, or other conditions.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        pairs = zip(document["rows"], document["details"], strict=True)
        made, rows = dict(document["conditions"]), [_row({**row, **more}) for row, more in pairs]
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError):
        raise BadInput(f"{path.name} is no result of `headroom compare --json`.") from None
    for name, value in conditions.items():
        if name not in MAY_DIFFER and made.get(name) != value:
            raise BadInput(f"{path.name} was made under other conditions: {name} differs.")
    found: dict[Case, list[ComparisonRow]] = defaultdict(list)
    for row in rows:
        if row.controller != OURS:
            found[row.case].append(row)
    return {case: tuple(own) for case, own in found.items()}


def joined(others: Sequence[ComparisonRow], own: ComparisonRow) -> list[ComparisonRow]:
    """The others' rows and Headroom's new one; where it beats the oracle, it becomes the oracle."""
    oracle = next(row for row in others if row.controller == "oracle")
    schedule = own.score - own.running_usd  # the oracle's schedules cost nothing to run
    better = schedule < oracle.score - ROUNDING
    best = schedule if better else oracle.score
    own = replace(own, oracle_bound=oracle.oracle_bound, oracle_exact=oracle.oracle_exact)
    if better:
        beaten = replace(
            own, controller="oracle", kind="reference", measures=Measures(), oracle_exact=False,
            score=schedule, running_usd=0.0,
        )  # fmt: skip
        others = [beaten if row.controller == "oracle" else row for row in others]
    return [replace(row, regret=row.score - best) for row in (*others, own)]


def _row(values: Mapping[str, object]) -> ComparisonRow:
    measures = {f.name for f in fields(Measures)}
    own = {f.name for f in fields(ComparisonRow)} - {"measures", "calibration"}
    return ComparisonRow(
        **{name: values[name] for name in own},  # type: ignore[arg-type]
        measures=Measures(**{name: values[name] for name in measures}),  # type: ignore[arg-type]
    )
