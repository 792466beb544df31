"""A stack may hold one deployment or several; its outputs say which."""

from __future__ import annotations

import pytest

from headroom.cli.sources.outputs import outputs_of, stack_of
from headroom.cli.terminal.problems import Problem
from headroom.settings import Names


def _of(*prefixes: str) -> dict[str, str]:
    found = {"Unrelated": "1"}
    for names in map(Names, prefixes):
        found |= {
            names.output("RecordsTable"): f"{names.prefix}-records",
            names.output("StateTable"): f"{names.prefix}-state",
            names.output("RequestsFunction"): names.requests_function,
        }
    return found


@pytest.mark.parametrize(
    ("prefixes", "option", "expected"),
    [
        (["headroom"], "HeadroomState", "headroom"),
        (["blue"], "Storage", "blue"),
        (["blue", "green-two"], "Storage/green-two", "green-two"),
        (["headroom", "blue"], "Storage/headroom", "headroom"),
    ],
)
def test_the_tables_are_those_of_the_deployment_that_is_named(
    prefixes: list[str], option: str, expected: str
) -> None:
    found = outputs_of(_of(*prefixes), option)
    assert found.names == Names(expected)
    assert found.values["RecordsTable"] == f"{expected}-records"
    assert found.values["StateTable"] == f"{expected}-state"


def test_outputs_without_names_are_those_of_the_usual_deployment() -> None:
    found = outputs_of({"RecordsTable": "a", "StateTable": "b"}, "HeadroomState")
    assert (found.names, found.values["RecordsTable"]) == (Names(), "a")


def test_a_stack_with_several_deployments_asks_for_one_of_them() -> None:
    with pytest.raises(Problem, match="give --stack Storage/PREFIX with one of blue, green"):
        outputs_of(_of("green", "blue"), "Storage")


@pytest.mark.parametrize("option", ["Storage/red", "Storage"])
def test_a_stack_without_the_deployment_is_refused(option: str) -> None:
    found = _of("blue") if "/" in option else {}
    with pytest.raises(Problem, match=f"{option} has no outputs that name Headroom's tables"):
        outputs_of(found, option)


def test_the_prefix_is_no_part_of_the_stacks_name() -> None:
    assert [stack_of(option) for option in ("Storage", "Storage/blue")] == ["Storage"] * 2
