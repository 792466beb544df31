"""Metric math: evaluates an expression over series, arrays of series and numbers.

A series is a mapping of period start to value; an operation on two series has a value only
where both have one, as in CloudWatch. Comparisons give 1 and 0.
"""

from __future__ import annotations

import ast
import math
import operator as of
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import TypeAlias

from headroom.localaws.metrics.expressions import BadExpression, parse
from headroom.localaws.metrics.statistics import Points

Value: TypeAlias = float | Points | list[Points]


Operation: TypeAlias = Callable[[float, float], float]

_OPERATIONS: Mapping[type[ast.AST], Operation] = {
    ast.Add: of.add,
    ast.Sub: of.sub,
    ast.Mult: of.mul,
    ast.Div: lambda a, b: a / b if b else math.nan,
    ast.Pow: of.pow,
    ast.Lt: of.lt,
    ast.LtE: of.le,
    ast.Gt: of.gt,
    ast.GtE: of.ge,
    ast.Eq: of.eq,
    ast.NotEq: of.ne,
    ast.And: lambda a, b: bool(a and b),
    ast.Or: lambda a, b: bool(a or b),
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
    """The names of an expression. `period` in seconds; `grid` are all period starts."""

    values: Callable[[str], Value]
    metrics: Callable[[str | None], list[Points]]
    """All metric queries (not expressions) whose id contains the text, for METRICS()."""
    grid: Sequence[int]
    period: int


def evaluate(expression: str, frame: Frame) -> Value:
    """The value of the expression; raises BadExpression."""
    return _value(parse(expression), frame)


def as_series(value: Value, grid: Sequence[int]) -> list[Points]:
    """A result as series: a number holds at every period."""
    if isinstance(value, dict):
        return [value]
    if isinstance(value, list):
        return value
    return [dict.fromkeys(grid, float(value))]


def _value(node: ast.expr, frame: Frame) -> Value:
    match node:
        case ast.Constant(value=float(number)):
            return number
        case ast.Name(id=name):
            return frame.values(name[1:])
        case ast.UnaryOp(operand=operand):
            return _operate(of.sub, 0.0, _value(operand, frame))
        case ast.BinOp(left=left, op=operator, right=right):
            operation = _OPERATIONS[type(operator)]
            return _operate(operation, _value(left, frame), _value(right, frame))
        case ast.BoolOp(op=operator, values=operands):
            values = [_value(operand, frame) for operand in operands]
            return reduce(lambda a, b: _operate(_OPERATIONS[type(operator)], a, b), values)
        case ast.Compare(left=left, ops=operators, comparators=rights):
            value = _value(left, frame)
            for each, right in zip(operators, rights, strict=True):
                value = _operate(_OPERATIONS[type(each)], value, _value(right, frame))
            return value
        case ast.List(elts=items):
            return [p for item in items for p in as_series(_value(item, frame), frame.grid)]
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _call(name[1:].upper(), arguments, frame)
    raise BadExpression("A text cannot be used as a value.")


def _operate(operation: Operation, left: Value, right: Value) -> Value:
    if isinstance(left, list) and isinstance(right, list):
        raise BadExpression("Two arrays of series cannot be combined with an operator.")
    if isinstance(left, list):
        return [_points(_operate(operation, one, right)) for one in left]
    if isinstance(right, list):
        return [_points(_operate(operation, left, one)) for one in right]
    if isinstance(left, dict) and isinstance(right, dict):
        joined = {at: operation(value, right[at]) for at, value in left.items() if at in right}
    elif isinstance(left, dict):
        joined = {at: operation(value, _number(right)) for at, value in left.items()}
    elif isinstance(right, dict):
        joined = {at: operation(_number(left), value) for at, value in right.items()}
    else:
        return float(operation(_number(left), _number(right)))
    return {at: float(value) for at, value in joined.items() if not math.isnan(value)}


def _call(name: str, arguments: Sequence[ast.expr], frame: Frame) -> Value:
    if name == "METRICS":
        texts = [a.value for a in arguments[:1] if isinstance(a, ast.Constant)]
        return frame.metrics(next((text for text in texts if isinstance(text, str)), None))
    if name in _AGGREGATES:
        return _aggregate(name, _value(_only(name, arguments), frame))
    if name in _ELEMENTWISE:
        return _each(_value(_only(name, arguments), frame), _ELEMENTWISE[name])
    special = _SPECIAL.get(name)
    if special is None:
        raise BadExpression(f"Function {name} is not known to this endpoint.")
    return special(arguments, frame)


def _aggregate(name: str, value: Value) -> Value:
    total = _AGGREGATES[name]
    if isinstance(value, dict):
        return total(list(value.values())) if value else {}
    if isinstance(value, list):
        instants = sorted({at for one in value for at in one})
        return {at: total([one[at] for one in value if at in one]) for at in instants}
    return value


def _each(value: Value, function: Callable[[float], float]) -> Value:
    if isinstance(value, list):
        return [_points(_each(one, function)) for one in value]
    if isinstance(value, dict):
        return {at: function(number) for at, number in value.items()}
    return function(value)


def _if(arguments: Sequence[ast.expr], frame: Frame) -> Value:
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


def _fill(arguments: Sequence[ast.expr], frame: Frame) -> Value:
    if len(arguments) != 2:
        raise BadExpression("FILL takes a series and what to put where it has no data.")
    series, by = _value(arguments[0], frame), arguments[1]
    if isinstance(series, list):
        raise BadExpression("FILL takes one series.")
    present = series if isinstance(series, dict) else dict.fromkeys(frame.grid, series)
    if isinstance(by, ast.Name) and by.id.upper() == "_REPEAT":
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


def _period(arguments: Sequence[ast.expr], frame: Frame) -> Value:
    _only("PERIOD", arguments)
    return float(frame.period)


def _rate(arguments: Sequence[ast.expr], frame: Frame) -> Value:
    differences = _diff(arguments, frame)
    return _each(differences, lambda change: change / frame.period)


def _diff(arguments: Sequence[ast.expr], frame: Frame) -> Value:
    series = _points(_value(_only("DIFF", arguments), frame))
    instants = sorted(series)
    return {later: series[later] - series[before] for before, later in pairwise(instants)}


_SPECIAL: Mapping[str, Callable[[Sequence[ast.expr], Frame], Value]] = {
    "IF": _if,
    "FILL": _fill,
    "PERIOD": _period,
    "RATE": _rate,
    "DIFF": _diff,
}


def _only(name: str, arguments: Sequence[ast.expr]) -> ast.expr:
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
