"""The law under hard caps: policies and tags ask for anything, and no act exceeds a cap."""

from __future__ import annotations

from dataclasses import replace
from pprint import pformat
from random import Random
from typing import Any

import pytest

from tests.laws.law import Broken
from tests.laws.script import ASKED, OPEN, Event, Script, play, script

CAPS = ("mode", "types", "max_iops", "max_throughput_mibps", "max_size_gib", "growth", "one_way",
        "price_increase_usd_per_month", "approve_above_usd_per_month", "give_back")  # fmt: skip
RUNS = 28


def capped(found: Script) -> Script:
    """The same trial under policies that allow nearly everything, and under some hard caps."""
    draw = Random(found.seed)
    names = draw.sample(CAPS, draw.choice((1, 2, 4)))
    caps: dict[str, Any] = {name: draw.choice(ASKED[name]) for name in names}
    if draw.random() < 0.5:
        caps["account_price_increase_usd_per_month"] = draw.choice((0, 5, 40, 100))

    def wide(document: dict[str, Any] | None) -> dict[str, Any] | None:
        if document is None:
            return None
        return {"defaults": {**OPEN, "tags_may": "widen"}, "rules": [], "hard_caps": caps}

    events: list[Event] = [
        (kind, wide(rest[0])) if kind == "policy" else (kind, *rest) for kind, *rest in found.events
    ]
    return replace(found, document=wide(found.document) or {}, events=tuple(events))


@pytest.mark.explores
def test_no_act_exceeds_a_hard_cap_whatever_policies_and_tags_ask_for() -> None:
    changes = 0
    for seed in range(RUNS):
        trial = capped(script(seed))
        try:
            changes += play(trial).changes
        except Broken as said:
            pytest.fail(f"trial {seed}: {said}\n{pformat(trial, width=120)}")
    assert changes > RUNS // 4
