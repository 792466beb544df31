"""What IAM said during the demo: nothing denied, and no grant that nobody used without a reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).parents[1] / "expectations" / "grants.yaml"
_ROLE = re.compile(r"(?:HeadroomLoop-)?(.+?)Role[0-9A-F]{8}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Accesses of the deployed roles, and what is wrong with them, a sentence each."""

    evaluated: int
    grants: int
    unused: int
    problems: tuple[str, ...]

    @property
    def line(self) -> str:
        """The result in one line."""
        return (
            f"{self.evaluated:,} accesses of the deployed roles evaluated, "
            f"problems: {len(self.problems)}; grants used: {self.grants - self.unused} of {self.grants}"
        )


@dataclass(frozen=True, slots=True)
class Grants:
    """The checked list: grants that the whole demo uses, and why it does not use the others."""

    used: frozenset[str]
    unused: Mapping[str, str]
    """Reason by grant."""


@cache
def listed() -> Grants:
    """The list in `grants.yaml`."""
    found = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    used = {
        f"{role} {sid} {grant}"
        for role, sids in found["used"].items()
        for sid, grants in sids.items()
        for grant in grants
    }
    unused = {grant: each["reason"] for each in found["unused"] for grant in each["grants"]}
    return Grants(frozenset(used), unused)


def names_of(grants: Iterable[Mapping[str, Any]]) -> list[str]:
    """Each grant as the list names it: role, statement, action, and which of several resources."""
    every = list(grants)
    several = Counter((g["role"], g["sid"], g["action"]) for g in every)
    return [
        f"{_function(g['role'])} {g['sid']} {g['action']}"
        + (f" {g['resource'].rpartition('/')[2]}" if several[g["role"], g["sid"], g["action"]] > 1 else "")
        for g in every
    ]  # fmt: skip


def access_of(report: Mapping[str, Any], *, whole: bool) -> Access:
    """What the endpoint reports; grants are held against the list only after the whole demo."""
    names = names_of(report["grants"])
    used = {name for name, g in zip(names, report["grants"], strict=True) if g["used"]}
    problems = [
        f"Denied {one['times']} times: {one['session']} {one['action']} on {one['resource']} {one['why']}"
        for one in report["denials"]
    ]
    if not report["evaluated"]:
        problems.append("No access was evaluated")
    if whole:
        expected = listed()
        problems += [f"No request used the grant {g}" for g in sorted(expected.used - used)]
        problems += [
            f"Used, though listed as unused: {g}" for g in sorted(used & set(expected.unused))
        ]
        known = expected.used | set(expected.unused)
        problems += [f"The grant is not listed: {g}" for g in sorted(set(names) - known)]
    return Access(
        evaluated=report["evaluated"], grants=len(names), unused=len(names) - len(used),
        problems=tuple(problems),
    )  # fmt: skip


def _function(role: str) -> str:
    found = _ROLE.match(role)
    return found[1] if found else role
