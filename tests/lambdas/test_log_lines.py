"""Every field that the dashboard's log queries name is in the lines that the functions write."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest

from headroom.cdk.dashboards import LogPanel, Part, panels
from headroom.domain.decision import Act, Escalate, Hold
from tests.builders import NOW
from tests.lambdas.conftest import Context, Deployment
from tests.lambdas.test_signals import Function, alarm_for, batch

QUERIES = [panel for panel in panels() if isinstance(panel, LogPanel)]
WORDS = frozenset(
    "filter stats by as sort desc limit and or fields unnest into bin sum max latest count "  # noqa: SIM905
    "strcontains greatest ispresent jsonParse".split()
)
"""Commands and functions. Source: CloudWatch Logs, Logs Insights query syntax (2026-11)."""
Line = dict[str, Any]


_written: dict[Part, list[Line]] = {}
_recorded: list[str] = []


@pytest.fixture
def lines(request: pytest.FixtureRequest) -> dict[Part, list[Line]]:
    """The log of both functions, written once for all tests of this file."""
    if not _written:
        deployment, function = map(request.getfixturevalue, ("deployment", "function"))
        _written.update(_log_of(deployment, function))
        _recorded.extend(deployment.steps())
    return _written


def _log_of(deployment: Deployment, function: Function) -> dict[Part, list[Line]]:
    """A scan, a change, a decision to hold, and their publication."""
    enrolled, observed = deployment.volume(), deployment.volume(mode=None)
    for each in (enrolled, observed):
        deployment.starve(each)
    worker, dispatcher = function("signals"), function("sweep")
    written = {Part.SIGNALS_LOG: StringIO(), Part.SWEEP_LOG: StringIO()}

    def run(part: Part, event: dict[str, Any]) -> None:
        module = worker if part is Part.SIGNALS_LOG else dispatcher
        handler = module.logger.registered_handler
        before, handler.stream = handler.stream, written[part]
        module.handler(event, Context())
        handler.stream = before

    run(Part.SIGNALS_LOG, batch(alarm_for(enrolled), alarm_for(observed)))
    for minute in (0, 1, 2):
        deployment.set_clock(NOW + timedelta(minutes=minute))
        run(Part.SWEEP_LOG, {})
        if records := deployment.received():
            run(Part.SIGNALS_LOG, {"Records": records})
    return {
        part: [json.loads(line) for line in text.getvalue().splitlines()]
        for part, text in written.items()
    }


def _fields(query: str) -> set[str]:
    """The fields of the log that a query reads: all names but its own."""
    bare = re.sub(r'"[^"]*"|\bbin\(\w+\)|@\w+', " ", query)
    made = set(re.findall(r"\b(?:as|into) (\w+)", bare))
    bare = re.sub(r"\bline\.", " ", bare)
    return set(re.findall(r"\b[a-zA-Z_]\w*", bare)) - made - WORDS


def _compared(query: str) -> Iterator[tuple[str, str]]:
    """Fields and the texts that a query compares them with."""
    yield from re.findall(r'(\w+) !?= "([^"]*)"', query)
    yield from re.findall(r'strcontains\((\w+), "([^"]*)"\)', query)


@pytest.mark.parametrize("panel", QUERIES, ids=lambda panel: panel.title)
def test_each_query_reads_what_is_in_the_lines_it_keeps(
    panel: LogPanel, lines: dict[Part, list[Line]]
) -> None:
    kept = lines[panel.log]
    for field, text in re.findall(r'(\w+) = "([^"]*)"', panel.query):
        kept = [line for line in kept if line.get(field) == text]
    fields = _fields(panel.query)
    assert fields, "the query names fields"
    assert any(fields <= line.keys() for line in kept)
    numbers = {
        f for f in fields if re.search(rf"(?:sum|max|greatest)\((?:0 - )?{f}\b", panel.query)
    }
    for field in numbers:
        assert any(isinstance(line.get(field), int | float) for line in kept), field


def test_each_text_that_a_query_compares_is_one_that_occurs(lines: dict[Part, list[Line]]) -> None:
    answers = {answer.__name__.lower() for answer in (Act, Hold, Escalate)}
    for panel in QUERIES:
        for field, text in _compared(panel.query):
            found = {line.get(field) for line in lines[panel.log]}
            assert text in (answers if field == "answer" else found), (panel.title, field)
            assert field != "answer" or found & answers, "the log's own words"


def test_each_record_has_one_line_with_its_guardrails_and_its_price(
    lines: dict[Part, list[Line]],
) -> None:
    recorded = [line for line in lines[Part.SWEEP_LOG] if line["message"] == "recorded"]
    assert sorted(line["step"] for line in recorded) == _recorded
    held = [line for line in recorded if line["answer"] == "hold"]
    applied = [line for line in recorded if line["step"] == "applied"]
    assert any(line["blocking"] for line in held)
    assert all(line["price_change_usd"] > 0 and line["blocking"] == [] for line in applied)
    assert applied
