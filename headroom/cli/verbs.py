"""Every command of `headroom`: its name, its first sentence and its function.

This table is all that `headroom --help` reads. A command's module is imported when the command runs.
To add a command, write its function in a module here and add one line.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verb:
    """One command: the function `target` ("module:function") has `summary` as its first sentence."""

    name: str
    target: str
    summary: str


@dataclass(frozen=True, slots=True)
class Group:
    """Commands under one name, for example `headroom policy check`."""

    name: str
    summary: str
    verbs: tuple[Verb, ...]


# The order is the one of `headroom --help` and of docs/cli.md.
COMMANDS: tuple[Verb | Group, ...] = (
    Verb(
        "demo",
        "headroom.cli.commands.demo:demo",
        "Deploy Headroom to a local AWS, run the stories, and check how each one ends.",
    ),
    Verb(
        "simulate",
        "headroom.cli.commands.simulate:simulate",
        "Simulate one resource under one load, and score the result.",
    ),
    Verb(
        "compare",
        "headroom.cli.commands.compare:compare",
        "Compare Headroom with other tools' rules, fixed configurations and the oracle.",
    ),
    Verb(
        "cases",
        "headroom.cli.commands.cases:cases",
        "Recalculate published measurements and bills, and print both figures side by side.",
    ),
    Verb(
        "plan",
        "headroom.cli.commands.plan:plan",
        "Show what Headroom would do about one volume or database now, and why. Changes nothing.",
    ),
    Verb(
        "replay",
        "headroom.cli.commands.replay:replay",
        "Show what a policy would have done over the history of an account's volumes and databases.",
    ),
    Verb(
        "pause",
        "headroom.cli.commands.pause:pause",
        "Stop all changes in an account and Region immediately.",
    ),
    Verb(
        "resume",
        "headroom.cli.commands.pause:resume",
        "End a pause and close the account's circuit breaker; breakers of volumes stay open.",
    ),
    Verb(
        "status",
        "headroom.cli.commands.status:status",
        "Show the policy, the budget, pauses and breakers, changes in progress, freezes and requests.",
    ),
    Verb(
        "approvals",
        "headroom.cli.commands.requests:approvals",
        "List the changes that wait for approval, in order of expiry.",
    ),
    Verb(
        "approve",
        "headroom.cli.commands.requests:approve",
        "Approve a change; the guardrails check it again within a minute before it is made.",
    ),
    Verb(
        "reject",
        "headroom.cli.commands.requests:reject",
        "Reject a change; Headroom does not request a similar one for 24 hours.",
    ),
    Verb(
        "rollback",
        "headroom.cli.commands.requests:rollback",
        "Request a rollback of a change: IOPS, throughput and type as before; the size stays.",
    ),
    Verb(
        "budget",
        "headroom.cli.commands.budget:budget",
        "Show which volumes use the account's budget for price increases, most expensive first.",
    ),
    Verb(
        "audit",
        "headroom.cli.commands.audit:audit",
        "List records: every decision and everything that followed from it.",
    ),
    Verb(
        "explain",
        "headroom.cli.commands.explain:explain",
        "Explain one decision: what was observed, considered, judged and done, and the result.",
    ),
    Verb(
        "version",
        "headroom.cli.commands.version:version",
        "Show the versions of Headroom, Python and boto3.",
    ),
    Group(
        "local",
        "Start and stop an AWS endpoint on this machine.",
        (
            Verb(
                "up",
                "headroom.cli.commands.local:up",
                "Start the endpoint on 127.0.0.1 in the background.",
            ),
            Verb(
                "down",
                "headroom.cli.commands.local:down",
                "Stop the endpoint and all its processes.",
            ),
            Verb(
                "status",
                "headroom.cli.commands.local:status",
                "Show whether the endpoint is running; exit code 1 if it is not.",
            ),
        ),
    ),
    Group(
        "policy",
        "Check, show and test the policy, which limits what Headroom may do.",
        (
            Verb(
                "schema",
                "headroom.cli.policy.check:schema",
                "Print the policy's JSON Schema, for completion and checks in an editor.",
            ),
            Verb(
                "check",
                "headroom.cli.policy.check:check",
                "Check a policy file, and list every problem in it.",
            ),
            Verb(
                "show",
                "headroom.cli.policy.show:show",
                "Show the limits in force for one volume or database, and the origin of each.",
            ),
            Verb(
                "test",
                "headroom.cli.policy.test:run_tests",
                "Run a file of policy tests: decide each situation and compare with the expectation.",
            ),
        ),
    ),
    Group(
        "breaker",
        "List and close circuit breakers, which open after repeated failures.",
        (
            Verb(
                "list",
                "headroom.cli.commands.pause:breakers",
                "List the open circuit breakers, oldest first; exit code 1 if any is open.",
            ),
            Verb(
                "close",
                "headroom.cli.commands.pause:close",
                "Close the circuit breaker of a volume, a database or the whole account.",
            ),
        ),
    ),
)
