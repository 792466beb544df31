"""A policy of any size in parameters of one fixed size."""

from __future__ import annotations

import pytest

from headroom.domain.policy import PolicyError
from headroom.policy import LONGEST_POLICY, parameter_texts, part_index

PART = 4_096


@pytest.mark.parametrize(("size", "parts"), [(1, 0), (PART, 0), (PART + 1, 2), (3 * PART, 3)])
def test_a_policy_that_fits_is_its_own_parameter_and_a_longer_one_is_cut(
    size: int, parts: int
) -> None:
    first, *others = parameter_texts("x" * size)
    assert len(others) == parts
    index = part_index(first)
    assert (None if index is None else index.count) == (parts or None)


@pytest.mark.parametrize("size", [PART + 1, 2 * PART, 2 * PART + 7])
def test_the_parts_are_the_text_and_nothing_else(size: int) -> None:
    text = "".join(str(number % 7) for number in range(size))
    first, *parts = parameter_texts(text)
    index = part_index(first)
    assert index is not None
    assert index.joined(parts, source="here") == text
    assert max(map(len, (first, *parts))) <= PART
    for wrong in (parts[:-1], [*reversed(parts)], [*parts, " "], ["".join(parts)]):
        with pytest.raises(PolicyError, match="not of one policy"):
            index.joined(wrong, source="here")


def test_the_longest_policy_is_cut_and_a_longer_one_refused_with_what_to_do() -> None:
    assert len(parameter_texts("x" * LONGEST_POLICY)) <= 65
    with pytest.raises(PolicyError, match=r"262,145 characters .* merge rules"):
        parameter_texts("x" * (LONGEST_POLICY + 1))


@pytest.mark.parametrize("text", ["", "null", "{", "{}", '{"version": 1}', "[1]"])
def test_anything_else_is_no_index(text: str) -> None:
    assert part_index(text) is None


@pytest.mark.parametrize("count", ["0", "65", "true", '"2"', "1.0", "null"])
def test_an_index_of_no_possible_number_of_parts_is_refused(count: str) -> None:
    with pytest.raises(PolicyError, match="parts"):
        part_index(f'{{"policy_parts": {count}, "sha256": ""}}')
