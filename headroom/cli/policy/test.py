"""`headroom policy test`: whether the policy decides as its tests expect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headroom.cli.policy import view as policy_view
from headroom.cli.sources.options import JsonOption
from headroom.cli.terminal.output import emit, out
from headroom.cli.terminal.problems import FAILED, OK
from headroom.proving.policy_tests import Verdict, blocking_guardrails, load_tests, run_policy_test

USUAL_TESTS = Path("policy.tests.yaml")


def run_tests(
    file: Annotated[Path, typer.Argument(help="File of tests (docs/policy.md).")] = USUAL_TESTS,
    policy: Annotated[
        Path | None, typer.Option(help="Policy to test instead of the one that the file names.")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Run a file of policy tests: decide each situation and compare with the expectation.

    Exit code 1 if a test fails.
    """
    loaded = load_tests(file, policy=policy)
    verdicts = tuple(run_policy_test(loaded))
    failed = sum(not verdict.passed for verdict in verdicts)
    if as_json:
        emit({"policy": str(loaded.policy_path), "version": loaded.policy.version,
              "passed": len(verdicts) - failed, "failed": failed,
              "tests": [_tested(verdict) for verdict in verdicts]})  # fmt: skip
    else:
        policy_view.show_tests(verdicts, loaded, out())
    return FAILED if failed else OK


def _tested(verdict: Verdict) -> dict[str, object]:
    decision = verdict.decision
    return {
        "name": verdict.test.name,
        "passed": verdict.passed,
        "differences": list(verdict.differences),
        "decided": None if decision is None else decision.summary,
        "blocked_by": [] if decision is None else list(blocking_guardrails(decision)),
    }
