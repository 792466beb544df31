"""Metric math: what an expression comes to over series, arrays of series and numbers.

A series is a mapping of period start to value; an operation on two series has a value only
where both have one, as in CloudWatch. Comparisons give 1 and 0.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from headroom.localaws.metrics.expressions import (
    Array,
    BadExpression,
    Call,
    Node,
    Number,
    Operation,
    Reference,
    Text,
    parse,
)
from headroom.localaws.metrics.statistics import Points

Value: TypeAlias = float | Points | list[Points]


def _divide(a: float, b: float) -> float:
    return a / b if b else math.nan


_OPERATORS: Mapping[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "^": lambda a, b: a**b,
    "<": lambda a, b: float(a < b),
    "<=": lambda a, b: float(a <= b),
    ">": lambda a, b: float(a > b),
    ">=": lambda a, b: float(a >= b),
    "==": lambda a, b: float(a == b),
    "!=": lambda a, b: float(a != b),
    "&&": lambda a, b: float(bool(a) and bool(b)),
    "||": lambda a, b: float(bool(a) or bool(b)),
}
_AGGREGATES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "SUM": sum,
    "AVG": lambda values: sum(values) / len(values),
    "MIN": min,
    "MAX": max,
    "STDDEV": statistics.pstdev,
}
_ELEMENTWISE: Mapping[str, Callable[[float], float]] = {
    "ABS": abs,
    "CEIL": math.ceil,
    "FLOOR": math.floor,
}


@dataclass(frozen=True, slots=True)
class Frame:
    """What an expression may refer to. `period` in seconds; `grid` are all period starts."""

    values: Callable[[str], Value]
    metrics: Callable[[str | None], list[Points]]
    """All metric queries (not expressions) whose id contains the text, for METRICS()."""
    grid: Sequence[int]
    period: int


def evaluate(expression: str, frame: Frame) -> Value:
    """What the expression comes to; raises BadExpression."""
    return _value(parse(expression), frame)


def as_series(value: Value, grid: Sequence[int]) -> list[Points]:
    """A result as series: a number holds at every period."""
    if isinstance(value, dict):
        return [value]
    if isinstance(value, list):
        return value
    return [dict.fromkeys(grid, float(value))]


def _value(node: Node, frame: Frame) -> Value:
    match node:
        case Number(value):
            return value
        case Reference(name):
            return frame.values(name)
        case Operation(operator, left, right):
            return _operate(operator, _value(left, frame), _value(right, frame))
        case Array(items):
            return [p for item in items for p in as_series(_value(item, frame), frame.grid)]
        case Call(name, arguments):
            return _call(name, arguments, frame)
        case Text(value):
            raise BadExpression(f"A text ({value!r}) cannot stand there.")


def _operate(operator: str, left: Value, right: Value) -> Value:
    operation = _OPERATORS[operator]
    if isinstance(left, list) and isinstance(right, list):
        raise BadExpression("Two arrays of series cannot be combined with an operator.")
    if isinstance(left, list):
        return [_points(_operate(operator, one, right)) for one in left]
    if isinstance(right, list):
        return [_points(_operate(operator, left, one)) for one in right]
    if isinstance(left, dict) and isinstance(right, dict):
        joined = {at: operation(value, right[at]) for at, value in left.items() if at in right}
    elif isinstance(left, dict):
        joined = {at: operation(value, _number(right)) for at, value in left.items()}
    elif isinstance(right, dict):
        joined = {at: operation(_number(left), value) for at, value in right.items()}
    else:
        return operation(_number(left), _number(right))
    return {at: value for at, value in joined.items() if not math.isnan(value)}


def _call(name: str, arguments: tuple[Node, ...], frame: Frame) -> Value:
    if name == "METRICS":
        wanted = arguments[0].value if arguments and isinstance(arguments[0], Text) else None
        return frame.metrics(wanted)
    if name in _AGGREGATES:
        return _aggregate(name, _value(_only(name, arguments), frame))
    if name in _ELEMENTWISE:
        return _each(_value(_only(name, arguments), frame), _ELEMENTWISE[name])
    special = _SPECIAL.get(name)
    if special is None:
        raise BadExpression(f"Function {name} is not known to this endpoint.")
    return special(arguments, frame)


def _aggregate(name: str, value: Value) -> Value:
    reduce = _AGGREGATES[name]
    if isinstance(value, dict):
        return reduce(list(value.values())) if value else {}
    if isinstance(value, list):
        instants = sorted({at for one in value for at in one})
        return {at: reduce([one[at] for one in value if at in one]) for at in instants}
    return value


def _each(value: Value, function: Callable[[float], float]) -> Value:
    if isinstance(value, list):
        return [_points(_each(one, function)) for one in value]
    if isinstance(value, dict):
        return {at: function(number) for at, number in value.items()}
    return function(value)


def _if(arguments: tuple[Node, ...], frame: Frame) -> Value:
    if not 2 <= len(arguments) <= 3:
        raise BadExpression("IF takes a condition, a value and another value.")
    condition, then, *rest = (_value(argument, frame) for argument in arguments)
    otherwise: Value = rest[0] if rest else {}
    if isinstance(condition, list):
        raise BadExpression("The condition of IF must be one series or a number.")
    if not isinstance(condition, dict):
        return then if condition else otherwise
    chosen = {at: then if truth else otherwise for at, truth in condition.items()}
    return {
        at: number
        for at, side in chosen.items()
        if (number := side.get(at) if isinstance(side, dict) else _number(side)) is not None
    }


def _fill(arguments: tuple[Node, ...], frame: Frame) -> Value:
    if len(arguments) != 2:
        raise BadExpression("FILL takes a series and what to put where it has no data.")
    series, by = _value(arguments[0], frame), arguments[1]
    if isinstance(series, list):
        raise BadExpression("FILL takes one series.")
    present = series if isinstance(series, dict) else dict.fromkeys(frame.grid, series)
    if isinstance(by, Reference) and by.name.upper() == "REPEAT":
        repeated: Points = {}
        last: float | None = None
        for at in frame.grid:
            last = present.get(at, last)
            if last is not None:
                repeated[at] = last
        return repeated
    filler = _value(by, frame)
    if isinstance(filler, list):
        raise BadExpression("FILL takes a number or one series to fill with.")
    filled: Points = filler if isinstance(filler, dict) else dict.fromkeys(frame.grid, filler)
    return {at: v for at in frame.grid if (v := present.get(at, filled.get(at))) is not None}


def _period(arguments: tuple[Node, ...], frame: Frame) -> Value:
    _only("PERIOD", arguments)
    return float(frame.period)


def _rate(arguments: tuple[Node, ...], frame: Frame) -> Value:
    differences = _diff(arguments, frame)
    return _each(differences, lambda change: change / frame.period)


def _diff(arguments: tuple[Node, ...], frame: Frame) -> Value:
    series = _points(_value(_only("DIFF", arguments), frame))
    instants = sorted(series)
    return {later: series[later] - series[before] for before, later in pairwise(instants)}


_SPECIAL: Mapping[str, Callable[[tuple[Node, ...], Frame], Value]] = {
    "IF": _if,
    "FILL": _fill,
    "PERIOD": _period,
    "RATE": _rate,
    "DIFF": _diff,
}


def _only(name: str, arguments: tuple[Node, ...]) -> Node:
    if len(arguments) != 1:
        raise BadExpression(f"{name} takes one argument.")
    return arguments[0]


def _points(value: Value) -> Points:
    if not isinstance(value, dict):
        raise BadExpression("One series is needed here.")
    return value


def _number(value: Value) -> float:
    if isinstance(value, dict | list):
        raise BadExpression("A number is needed here.")
    return value
