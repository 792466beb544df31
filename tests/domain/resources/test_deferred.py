"""Fields that are computed when they are first read are like any other."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from headroom.domain.resources import Deferring, defer


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum(Deferring):
    parts: tuple[int, ...]
    total: int
    words: str = ""


@dataclass(frozen=True, kw_only=True)
class Loose(Deferring):
    total: int


def late(asked: list[str] | None = None) -> Sum:
    asked = [] if asked is None else asked

    def total() -> int:
        asked.append("total")
        return 3

    return defer(Sum(parts=(1, 2), total=0), total=total, words=lambda: "three")


AT_ONCE = Sum(parts=(1, 2), total=3, words="three")


def test_nothing_is_computed_until_it_is_read_and_then_once() -> None:
    asked: list[str] = []
    found = late(asked)
    assert found.parts == (1, 2)
    assert not asked
    assert (found.total, found.total, asked) == (3, 3, ["total"])


@pytest.mark.parametrize(
    "same",
    [
        lambda one: one, copy.copy, copy.deepcopy, replace,
        lambda one: pickle.loads(pickle.dumps(one)),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("later", "at_once"), [(late, AT_ONCE), (lambda: defer(Loose(total=0), total=lambda: 3), Loose(total=3))]
)  # fmt: skip
def test_it_equals_a_value_that_was_made_at_once(
    same: Callable[[object], object], later: Callable[[], object], at_once: object
) -> None:
    found = same(later())
    assert found == at_once == found
    assert (repr(found), hash(found)) == (repr(at_once), hash(at_once))


def test_what_is_no_field_is_an_attribute_error() -> None:
    for found in (late(), AT_ONCE, Loose(total=1)):
        with pytest.raises(AttributeError):
            _ = found.sum  # type: ignore[union-attr]


def test_what_a_function_raises_is_raised_each_time() -> None:
    def fails() -> int:
        raise ValueError("no total")

    found = defer(Sum(parts=(), total=0), total=fails)
    for _ in range(2):
        with pytest.raises(ValueError, match="no total"):
            _ = found.total
