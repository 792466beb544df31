"""One list of requirements: the pins of development are within the ranges that users install."""

from __future__ import annotations

import tomllib
from itertools import chain

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def _ranges(lines: list[str]) -> dict[str, Requirement]:
    found = [Requirement(line) for line in lines]
    return {canonicalize_name(r.name): r for r in found if r.name != PROJECT["name"]}


def _pins(name: str) -> dict[str, Requirement]:
    lines = (ROOT / name).read_text().splitlines()
    return _ranges([line for line in lines if line and not line.startswith("#")])


RANGES = _ranges([*PROJECT["dependencies"], *chain.from_iterable(EXTRAS.values())])
PINS = _pins("requirements.txt") | _pins("requirements-dev.txt")
LOCK = _pins("requirements-lock.txt")


def test_what_is_pinned_is_what_the_project_requires() -> None:
    assert sorted(PINS) == sorted(RANGES)


@pytest.mark.parametrize("name", sorted(PINS))
def test_a_pin_is_exact_in_the_range_and_in_the_lock(name: str) -> None:
    pinned, allowed = PINS[name], RANGES[name]
    (only,) = pinned.specifier
    assert only.operator == "=="
    assert only.version in allowed.specifier
    assert pinned.extras == allowed.extras
    assert str(LOCK[name].specifier) == str(pinned.specifier)


def test_a_range_has_both_ends_where_a_newer_version_may_break_what_users_run() -> None:
    ranges = [*PROJECT["dependencies"], *EXTRAS["cdk"], *EXTRAS["local"]]
    open_ended = [name for name, each in _ranges(ranges).items() if len(each.specifier) < 2]
    assert open_ended == ["tzdata"], "its versions are years"


def test_what_the_owner_asked_for_is_at_the_top_level() -> None:
    named = {"aws-cdk-lib", "aws-lambda-powertools", "boto3", "pytest", "moto"}
    assert named <= set(_pins("requirements.txt"))
