"""Decisions as the ledger keeps them: at most LARGEST_BODY bytes of JSON that any program can read.

The verdicts on the first plan are written in full, of every other plan those that differ (`differs`).
A verdict has no field at its default, and only `value` where that is what it must be. The plan of the
answer is not written again. All series of one grid are one object; one that never changes is a
single value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any, TypeVar

from headroom.domain.decision import Decision, place_of, recorded, with_judgements
from headroom.domain.guardrails import Relation
from headroom.domain.resources import InstanceActivity, Series, VolumeActivity
from headroom.domain.state import DECISION_FORMAT, ConcurrencyState, WrongFormat, require_format
from headroom.serialization.canonical import (
    Unreadable,
    from_plain,
    parsed,
    plain_to_json,
    to_json,
    to_plain,
)

LARGEST_BODY = 64_000
"""Bytes a stored decision may have. Most have less than 24,000."""
DIGITS = 3
"""Significant digits of a stored measurement; one more from 1,000 on."""
_SMALL, _LARGE = f"%.{DIGITS}g", f"%.{DIGITS + 1}g"
REPEATED_FIRST = 2
"""The format from which on verdicts and series are written once."""
ANSWER = "answer"
"""In place of a plan: it is the one of the answer."""
LONGEST_TEXT = 2_000
"""Characters of one text in a body that would be too large."""
KEPT_MINUTES = 30
KEPT_OTHERS = 20
_SERIES = ("activity", "instance_activity")
_DEFAULTS: dict[str, Any] = {"detail": "", "unit": "", "clears_at": None, "temporary": False}

A = TypeVar("A", VolumeActivity, InstanceActivity)


class DecisionTooLarge(ValueError):
    """The decision does not fit in a record, so it must not be acted on."""


def stored(decision: Decision) -> Decision:
    """The decision as the ledger keeps it: `recorded`, with measurements to DIGITS digits.

    Nothing of it touches the id. Reading what was written gives exactly this, unless it had to be
    made smaller still; `left_out` then says what is missing.
    """
    return _with_series(recorded(decision), _rounded)


def decision_to_json(decision: Decision, kept: Decision | None = None) -> str:
    """Canonical JSON of `stored(decision)` with its format, at most LARGEST_BODY bytes of ASCII.

    `kept` is `stored(decision)`, where the caller has it. Raises DecisionTooLarge if the size cannot
    be reached.
    """
    kept = stored(decision) if kept is None else kept
    text = _text(kept)
    for smaller in _SMALLER:
        if len(text) <= LARGEST_BODY:
            return text
        kept = smaller(kept)
        text = _text(kept)
    if len(text) > LARGEST_BODY:
        name = decision.decision_id
        raise DecisionTooLarge(f"{name} takes {len(text)} bytes of at most {LARGEST_BODY}")
    return text


def decision_from_json(text: str, *, for_display: bool = False) -> Decision:
    """The decision as it was stored; raises Unreadable.

    A chain may outlive the release that began it: a field added to anything in a decision needs a
    default, and a field that was removed is ignored. A decision in a newer format is refused,
    unless it is only displayed: then what this release knows of it is read.
    """
    plain = parsed(text)
    found = plain.get("format") if isinstance(plain, dict) else None
    try:
        require_format(found, DECISION_FORMAT, "the stored decision")
    except WrongFormat as problem:
        if not (for_display and isinstance(found, int)):
            raise Unreadable(str(problem)) from None
    if isinstance(found, int) and found >= REPEATED_FIRST:
        try:
            plain = _expanded(plain)
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise Unreadable(f"not a Decision: {type(problem).__name__}: {problem}") from None
    return from_plain(plain, Decision)


def body_to_json(body: object) -> str:
    """Canonical JSON of the body of any other record; texts are clipped if it is too large."""
    text = to_json(body)
    return text if len(text) <= LARGEST_BODY else to_json(_clipped(to_plain(body)))


def _clipped(plain: Any) -> Any:
    if isinstance(plain, str):
        return plain if len(plain) <= LONGEST_TEXT else f"{plain[:LONGEST_TEXT]}..."
    if isinstance(plain, dict):
        return {name: _clipped(value) for name, value in plain.items()}
    return [_clipped(part) for part in plain] if isinstance(plain, list) else plain


def _text(kept: Decision) -> str:
    plain = to_plain(kept)
    plain["format"] = DECISION_FORMAT
    for name in _SERIES:
        plain["observation"][name] = _series_once(plain["observation"][name])
    plain["judgements"] = _verdicts_once(plain["judgements"], kept)
    return plain_to_json(plain)


def _verdicts_once(judgements: list[Any], kept: Decision) -> list[Any]:
    """The judgements with the verdicts of the first one in full, of the others what differs."""
    found: list[Any] = []
    for plain, judgement in zip(judgements, kept.judgements, strict=True):
        short = [*map(_short, plain["verdicts"])]
        plan = ANSWER if judgement.plan == kept.plan else plain["plan"]
        entry = {"plan": plan, "blocked_by": judgement.summary.blocked_by}
        names = [v["guardrail"] for v in short]
        first = found[0]["verdicts"] if found else []
        if [v["guardrail"] for v in first] == names and len({*names}) == len(names):
            differs = [v for v, same in zip(short, first, strict=True) if v != same]
            found.append(entry | {"differs": differs})
        else:
            found.append(entry | {"verdicts": short})
    return found


def _short(verdict: dict[str, Any]) -> dict[str, Any]:
    found = {k: v for k, v in verdict.items() if k not in _DEFAULTS or v != _DEFAULTS[k]}
    if found["relation"] == Relation.IS and _same(found["value"], found["limit"]):
        del found["relation"], found["limit"]
    return found


def _same(one: object, other: object) -> bool:
    """Whether they are one text in JSON: True is no 1, and 1 no 1.0."""
    return repr(one) == repr(other)


def _long(verdict: dict[str, Any]) -> dict[str, Any]:
    found = _DEFAULTS | verdict
    if "relation" not in found:
        found |= {"relation": Relation.IS, "limit": found["value"]}
    return found


def _series_once(activity: dict[str, Any] | None) -> list[Any] | None:
    """The series by grid: start, period in seconds, number of values, and the values by name."""
    if activity is None:
        return None
    grids: dict[tuple[Any, ...], dict[str, Any]] = defaultdict(dict)
    for name, series in activity.items():
        if series is not None:
            values = [int(v) if v is not None and v % 1 == 0 else v for v in series["values"]]
            same = values and values.count(values[0]) == len(values)
            grid = grids[series["start"], series["period_s"], len(values)]
            grid[name] = values[0] if same else values
    return [
        {"start": start, "period_s": period_s, "count": count, "values": values}
        for (start, period_s, count), values in grids.items()
    ]


def _expanded(plain: dict[str, Any]) -> dict[str, Any]:
    observation = dict(plain["observation"])
    for name in _SERIES:
        observation[name] = _activity_of(observation[name])
    answer = plain["answer"]
    judgements: list[dict[str, Any]] = []
    chosen = answer.get("plan") or answer.get("proposed_plan")
    for entry in plain["judgements"]:
        verdicts = [*map(_long, entry.get("verdicts", ()))]
        if "verdicts" not in entry:
            differs = {v["guardrail"]: _long(v) for v in entry["differs"]}
            verdicts = [differs.get(v["guardrail"], v) for v in judgements[0]["verdicts"]]
        plan = chosen if entry["plan"] == ANSWER else entry["plan"]
        judgements.append({"plan": plan, "verdicts": verdicts})
    return plain | {"observation": observation, "judgements": judgements}


def _activity_of(grids: list[Any] | None) -> dict[str, Any] | None:
    if grids is None:
        return None
    return {
        name: {
            "start": grid["start"],
            "period_s": grid["period_s"],
            "values": values if isinstance(values, list) else [values] * grid["count"],
        }
        for grid in grids
        for name, values in grid["values"].items()
    }


def _with_series(decision: Decision, change: Callable[[Series], Series]) -> Decision:
    observation = decision.observation
    instance = observation.instance_activity
    return replace(
        decision,
        observation=replace(
            observation,
            activity=_changed(observation.activity, change),
            instance_activity=None if instance is None else _changed(instance, change),
        ),
    )


def _changed(activity: A, change: Callable[[Series], Series]) -> A:
    every = ((one.name, getattr(activity, one.name)) for one in fields(activity))
    return replace(activity, **{n: change(s) for n, s in every if s is not None})


def _rounded(series: Series) -> Series:
    return replace(series, values=tuple(None if v is None else _digits(v) for v in series.values))


def _digits(value: float) -> float:
    if abs(value) >= 1_000:
        return float(_LARGE % value)
    return float(value) if value % 1 == 0 else float(_SMALL % value)


def _fewer_lines(decision: Decision) -> Decision:
    return _without(
        decision, f"plans beyond the {KEPT_OTHERS} best of the others",
        other_plans=decision.other_plans[:KEPT_OTHERS],
    )  # fmt: skip


def _recent_series(decision: Decision) -> Decision:
    begin = decision.at - timedelta(minutes=KEPT_MINUTES)
    recent = _with_series(decision, lambda series: series.since(begin))
    return _without(recent, f"measurements before the last {KEPT_MINUTES} minutes")


def _only_chosen(decision: Decision) -> Decision:
    chosen = place_of(decision.judgements, decision.plan)
    fewer = with_judgements(decision, {chosen})
    return _without(
        fewer, "verdicts on all plans but the first one here",
        other_plans=fewer.other_plans[:KEPT_OTHERS],
    )  # fmt: skip


def _without_tags(decision: Decision) -> Decision:
    observation, detail = decision.observation, decision.cluster
    if detail is not None:
        detail = replace(detail, cluster=replace(detail.cluster, tags=()))
    return _without(
        decision, "tags of the resource", cluster=detail,
        observation=replace(observation, volume=replace(observation.volume, tags=())),
    )  # fmt: skip


def _without_others(decision: Decision) -> Decision:
    return _without(
        decision, "changes of other resources that were in flight",
        resource_state=replace(decision.resource_state, concurrency=ConcurrencyState()),
    )  # fmt: skip


def _without(decision: Decision, what: str, **changes: Any) -> Decision:
    return replace(decision, left_out=(*decision.left_out, what), **changes)


_SMALLER: tuple[Callable[[Decision], Decision], ...] = (
    # The least valuable first; each is said in `left_out`.
    _fewer_lines, _recent_series, _only_chosen, _without_others, _without_tags,
)  # fmt: skip
