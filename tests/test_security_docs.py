"""SECURITY.md names what the deployed roles may do: every action of the adapters, and no other."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

from headroom.adapters import actions

TEXT = (Path(__file__).parents[1] / "SECURITY.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`([a-z0-9]+:[A-Za-z*]+)`", TEXT))
GRANTED = {
    action
    for name, value in vars(actions).items()
    if name.endswith("_ACTIONS")
    for action in value
}  # fmt: skip


def test_every_granted_action_is_named() -> None:
    assert [one for one in GRANTED if not any(fnmatchcase(one, name) for name in NAMED)] == []


def test_every_named_action_is_granted() -> None:
    assert [name for name in NAMED if not any(fnmatchcase(one, name) for one in GRANTED)] == []


def test_every_action_that_writes_is_named_in_full() -> None:
    assert {*actions.EBS_WRITE_ACTIONS, *actions.RDS_WRITE_ACTIONS} <= NAMED
