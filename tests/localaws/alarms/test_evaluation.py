"""How datapoints become alarm states; the rows are those of AWS's tables on missing data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.localaws.alarms import State
from headroom.localaws.alarms.evaluation import MissingData, Rule, evaluate

OK, ALARM, NONE, KEPT = State.OK, State.ALARM, State.INSUFFICIENT_DATA, "kept"


def rule(m: int, n: int, missing: str) -> Rule:
    return Rule(
        comparison="GreaterThanOrEqualToThreshold", threshold=1.0, evaluation_periods=n,
        datapoints_to_alarm=m, period=60, missing=MissingData(missing),
    )  # fmt: skip


def points(picture: str) -> dict[int, float]:
    """`0`, `X` and `-` from the oldest period to the newest, which starts at 240."""
    return {
        60 * i: 1.0 if mark == "X" else 0.0 for i, mark in enumerate(picture.split()) if mark != "-"
    }


def state(picture: str, m: int, n: int, missing: str, before: State) -> State:
    return evaluate(rule(m, n, missing), points(picture), 240, before).state


@pytest.mark.parametrize(
    ("picture", "m", "missing", "ignore", "breaching", "not_breaching"),
    [
        ("0 - X - X", 3, OK, OK, OK, OK),
        ("- - - - 0", 3, OK, OK, OK, OK),
        ("- - - - -", 3, NONE, KEPT, ALARM, OK),
        ("0 X X - X", 3, ALARM, ALARM, ALARM, ALARM),
        ("- - X - -", 3, ALARM, KEPT, ALARM, OK),
        ("0 - X - X", 2, ALARM, ALARM, ALARM, ALARM),
        ("0 0 X 0 X", 2, ALARM, ALARM, ALARM, ALARM),
        ("0 - X - -", 2, OK, OK, ALARM, OK),
        ("- - - - 0", 2, OK, OK, ALARM, OK),
        ("- - - X -", 2, ALARM, KEPT, ALARM, OK),
    ],
)
@pytest.mark.parametrize("before", [OK, ALARM, NONE])
def test_missing_data_counts_as_in_awss_tables(
    picture: str,
    m: int,
    missing: State,
    ignore: State | str,
    breaching: State,
    not_breaching: State,
    before: State,
) -> None:
    expected = {
        "missing": missing,
        "ignore": before if ignore == KEPT else ignore,
        "breaching": breaching,
        "notBreaching": not_breaching,
    }
    assert {how: state(picture, m, 3, how, before) for how in expected} == expected


@pytest.mark.parametrize(
    ("picture", "m", "n", "expected"),
    [
        ("0 0 0 X X", 2, 3, ALARM),
        ("X X 0 0 X", 2, 3, OK),
        ("X X X X X", 3, 3, ALARM),
        ("X X X X 0", 3, 3, OK),
        ("0 0 0 0 X", 1, 1, ALARM),
        ("X X X X 0", 1, 1, OK),
    ],
)
def test_m_out_of_the_last_n_datapoints_decide(
    picture: str, m: int, n: int, expected: State
) -> None:
    assert state(picture, m, n, "missing", OK) is expected


def test_late_datapoints_are_evaluated_in_place_of_the_newest_periods() -> None:
    assert state("X X X - -", 2, 3, "notBreaching", OK) is ALARM


@given(
    st.lists(st.sampled_from("0X-"), min_size=5, max_size=5),
    st.integers(1, 3),
    st.sampled_from(["missing", "ignore", "breaching", "notBreaching"]),
)
def test_one_more_breaching_datapoint_never_ends_an_alarm(
    marks: list[str], m: int, missing: str
) -> None:
    worse = [mark if mark != "0" else "X" for mark in marks]
    if state(" ".join(marks), m, 3, missing, OK) is ALARM:
        assert state(" ".join(worse), m, 3, missing, OK) is ALARM
