"""Rules on Headroom's own events, matched by AWS's event-ruler; none of its own rules is one."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from headroom.adapters.events.bus import entry
from headroom.domain.state import Step
from headroom.ports import Recorded
from tests.adapters.events.test_bus import EVERY, as_received, decided, later, stopped
from tests.adapters.notifications.test_topic import acting, escalating, holding
from tests.stacks.conftest import ROOT, Matching

pytestmark = pytest.mark.java
TEXT = (ROOT / "docs" / "events.md").read_text(encoding="utf-8")
RULES = re.findall(r"```json\n(.*?)```", TEXT.split("## Rules")[1].split("## An event")[0], re.S)
DEAR, NEEDS, APPLIED, OBSERVED, WRITE_BACK, STOPS = RULES
CASES: tuple[tuple[str, Recorded, tuple[str, ...]], ...] = (
    ("an act", decided(acting()), ()),
    ("a hold in observe", decided(holding()), (OBSERVED,)),
    ("an escalation", decided(escalating()), (NEEDS,)),
    ("a change applied", later(Step.APPLIED), (APPLIED,)),
    ("one relieved", later(Step.RELIEVED), ()),
    ("one that failed", later(Step.FAILED), (NEEDS,)),
    ("a pause", stopped()[0], (STOPS,)),
    ("a breaker", stopped()[2], (STOPS, NEEDS)),
)


@pytest.mark.parametrize(("what", "recorded", "rules"), CASES, ids=[case[0] for case in CASES])
def test_the_rules_shown_match_what_they_say(
    ruler: Any, what: str, recorded: Recorded, rules: tuple[str, ...]
) -> None:  # fmt: skip
    matcher = ruler.JClass("software.amazon.event.ruler.Ruler")
    event = json.dumps(as_received(entry(recorded)))
    assert {rule for rule in RULES if matcher.matchesRule(event, rule)} == set(rules), what


def test_a_rule_on_the_price_compares_numbers(ruler: Any) -> None:
    matcher = ruler.JClass("software.amazon.event.ruler.Ruler")
    event = as_received(entry(later(Step.APPLIED)))
    for price, wanted in ((99.99, False), (100.01, True), (-500.0, False)):
        event["detail"]["plan"]["price_change_usd"] = price
        assert bool(matcher.matchesRule(json.dumps(event), DEAR)) is wanted


def test_a_rule_on_code_takes_accepted_changes_of_code_that_can_be_patched(ruler: Any) -> None:
    matcher = ruler.JClass("software.amazon.event.ruler.Ruler")
    event = as_received(entry(later(Step.APPLIED)))
    for tool, wanted in (("Terraform", True), ("CloudFormation", True), ("Kubernetes", False)):
        event["detail"]["write_back"] = {"tool": tool}
        assert bool(matcher.matchesRule(json.dumps(event), WRITE_BACK)) is wanted


def test_every_rule_shown_is_one_that_eventbridge_accepts(ruler: Any) -> None:
    compiler = ruler.JClass("software.amazon.event.ruler.RuleCompiler")
    assert [compiler.check(rule) for rule in RULES] == [None] * 6


@pytest.mark.parametrize("recorded", EVERY, ids=lambda r: r.record.step.value)
def test_headroom_never_wakes_itself(matching: Matching, recorded: Recorded) -> None:
    assert matching(as_received(entry(recorded))) == []
