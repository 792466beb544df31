"""Decisions as the ledger keeps them: at most LARGEST_BODY bytes of JSON that any program can read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any, TypeVar

from headroom.domain.decision import Decision, place_of, recorded, with_judgements
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
from headroom.serialization.repetition import with_repetition, without_repetition

LARGEST_BODY = 64_000
"""Bytes a stored decision may have. Most have less than 24,000."""
DIGITS = 3
"""Significant digits of a stored measurement; one more from 1,000 on."""
_SMALL, _LARGE = f"%.{DIGITS}g", f"%.{DIGITS + 1}g"
REPEATED_FIRST = 2
"""The format from which on verdicts and series are written once."""
LONGEST_TEXT = 2_000
"""Characters of one text in a body that would be too large."""
KEPT_MINUTES = 30
KEPT_OTHERS = 20

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
            plain = with_repetition(plain, found)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
            raise Unreadable(f"not a Decision: {type(problem).__name__}: {problem}") from None
    with suppress(
        KeyError, TypeError, AttributeError
    ):  # the first records do not say it: it was a day
        plain["effective"]["limits"].setdefault("give_back_after_days", 1.0)
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
    for entry, judgement in zip(plain["judgements"], kept.judgements, strict=True):
        entry["blocked_by"] = judgement.summary.blocked_by
    return plain_to_json(without_repetition(plain))


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
