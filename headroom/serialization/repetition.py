"""What a stored decision says once: each function here takes JSON's own types, and has one that reverts it.

The verdicts on the first plan are written in full, of every other plan the fields that differ (`differs`).
A verdict has no field at its default, and only `value` where that is what it must be. The plan of the
answer is not written again, and of another plan what differs from it. Of the plans in one line each has
what differs from the line before it. All series of one grid are one object; one that never changes is a
single value, and a value that repeats is one pair, the value and how often.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Any

from headroom.domain.guardrails import Relation

ANSWER = "answer"
"""In place of a plan: it is the one of the answer."""
DIFFERENCES_FIRST = 3
"""The format from which on verdicts, plans and lines are written as what differs, and values as pairs."""
Json = dict[str, Any]
_SERIES = ("activity", "instance_activity")
_DEFAULTS: Json = {"detail": "", "unit": "", "clears_at": None, "temporary": False}
_PARTS = ("origin", "target", "capability", "growth")
"""Of a plan or a line: objects of which only what differs is written, too."""


def without_repetition(plain: Json) -> Json:
    """The stored form of a whole decision, whose judgements say what they are `blocked_by`."""
    found = dict(plain)
    found["observation"] = _with_series(plain["observation"], _series_once)
    found["judgements"] = _judgements_once(plain["judgements"], _chosen(plain))
    if lines := plain.get("other_plans"):
        changes = (_differences(line, before) for before, line in pairwise(lines))
        found["other_plans"] = [lines[0], *changes]
    return found


def with_repetition(plain: Json, form: int) -> Json:
    """The whole decision of a stored form, of format 2 or later."""
    found, judgements, chosen = dict(plain), plain["judgements"], _chosen(plain)
    found["observation"] = _with_series(plain["observation"], _activity_of)
    if form >= DIFFERENCES_FIRST:
        judgements = _judgements_in_full(judgements, chosen)
        if lines := plain.get("other_plans"):
            found["other_plans"] = [*accumulate(lines, _with_differences)]
    found["judgements"] = _judgements_of(judgements, chosen)
    return found


def _chosen(plain: Json) -> Json | None:
    """The plan of the answer."""
    answer = plain["answer"]
    found: Json | None = answer.get("plan") or answer.get("proposed_plan")
    return found


def _same(one: object, other: object) -> bool:
    """Whether they are one text in JSON: True is no 1, and 1 no 1.0."""
    return repr(one) == repr(other)


def _differences(part: Json, base: Json) -> Json:
    """The fields of `part` that are not those of `base`; one that it lacks is None."""
    found: Json = {name: None for name in base if name not in part}
    for name, value in part.items():
        if name not in base or not _same(value, base[name]):
            inner = name in _PARTS and isinstance(value, dict) and isinstance(base.get(name), dict)
            found[name] = _differences(value, base[name]) if inner else value
    return found


def _with_differences(base: Json, found: Json) -> Json:
    whole = base | found
    for name in _PARTS:
        if isinstance(found.get(name), dict) and isinstance(base.get(name), dict):
            whole[name] = base[name] | found[name]
    return whole


def _judgements_once(judgements: Sequence[Json], chosen: Json | None) -> list[Json]:
    """The judgements with the verdicts of the first one in full, of the others what differs."""
    found: list[Json] = []
    for judgement in judgements:
        plan, verdicts = judgement["plan"], judgement["verdicts"]
        base = chosen or (judgements[0]["plan"] if found else None)
        entry = {"plan": plan, "blocked_by": judgement["blocked_by"]}
        if base is not None:
            entry["plan"] = ANSWER if _same(plan, chosen) else _differences(plan, base)
        first = judgements[0]["verdicts"] if found else []
        names = [verdict["guardrail"] for verdict in verdicts]
        if [v["guardrail"] for v in first] == names and len({*names}) == len(names):
            pairs = zip(verdicts, first, strict=True)
            changed = [(v, _differences(v, of)) for v, of in pairs if not _same(v, of)]
            differs = [{"guardrail": v["guardrail"]} | each for v, each in changed]
            found.append(entry | {"differs": differs})
        else:
            found.append(entry | {"verdicts": [*map(_short, verdicts)]})
    return found


def _judgements_in_full(judgements: Sequence[Json], chosen: Json | None) -> list[Json]:
    """The judgements as format 2 has them: with whole plans, and whole verdicts that differ."""
    found: list[Json] = []
    for entry in judgements:
        whole = dict(entry)
        base = chosen or (found[0]["plan"] if found else None)
        if base is not None and entry["plan"] != ANSWER:
            whole["plan"] = _with_differences(base, entry["plan"])
        if "differs" in entry:
            first = {v["guardrail"]: _long(v) for v in found[0]["verdicts"]}
            whole["differs"] = [first[v["guardrail"]] | v for v in entry["differs"]]
        found.append(whole)
    return found


def _judgements_of(judgements: Sequence[Json], chosen: Json | None) -> list[Json]:
    found: list[Json] = []
    for entry in judgements:
        verdicts = [*map(_long, entry.get("verdicts", ()))]
        if "verdicts" not in entry:
            differs = {v["guardrail"]: _long(v) for v in entry["differs"]}
            verdicts = [differs.get(v["guardrail"], v) for v in found[0]["verdicts"]]
        plan = chosen if entry["plan"] == ANSWER else entry["plan"]
        found.append({"plan": plan, "verdicts": verdicts})
    return found


def _short(verdict: Json) -> Json:
    found = {k: v for k, v in verdict.items() if k not in _DEFAULTS or v != _DEFAULTS[k]}
    if found["relation"] == Relation.IS and _same(found["value"], found["limit"]):
        del found["relation"], found["limit"]
    return found


def _long(verdict: Json) -> Json:
    found = _DEFAULTS | verdict
    if "relation" not in found:
        found |= {"relation": Relation.IS, "limit": found["value"]}
    return found


def _with_series(observation: Json, change: Callable[[Any], Any]) -> Json:
    return observation | {name: change(observation[name]) for name in _SERIES}


def _series_once(activity: Json | None) -> list[Json] | None:
    """The series by grid: start, period in seconds, number of values, and the values by name."""
    if activity is None:
        return None
    grids: dict[tuple[Any, ...], Json] = defaultdict(dict)
    for name, series in activity.items():
        if series is not None:
            values = [int(v) if v is not None and v % 1 == 0 else v for v in series["values"]]
            same = values and values.count(values[0]) == len(values)
            grid = grids[series["start"], series["period_s"], len(values)]
            grid[name] = values[0] if same else _pairs(values)
    return [
        {"start": start, "period_s": period_s, "count": count, "values": values}
        for (start, period_s, count), values in grids.items()
    ]


def _pairs(values: Sequence[float | None]) -> list[Any]:
    """The values, and a pair in place of those that repeat where that is shorter."""
    found: list[Any] = []
    for value, repeated in groupby(values):
        times = len([*repeated])
        length = len(repr(value)) + len(",")
        pair = length + len(repr(times)) + len("[],")
        found += [[value, times]] if pair < length * times else [value] * times
    return found


def _each(values: Any, count: int) -> list[Any]:
    if not isinstance(values, list):
        return [values] * count
    pairs = (each if isinstance(each, list) else (each, 1) for each in values)
    return [value for value, times in pairs for _ in range(times)]


def _activity_of(grids: list[Any] | None) -> Json | None:
    if grids is None:
        return None
    return {
        name: {
            "start": grid["start"],
            "period_s": grid["period_s"],
            "values": _each(values, grid["count"]),
        }
        for grid in grids
        for name, values in grid["values"].items()
    }
