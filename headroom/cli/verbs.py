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
        "Run one resource under one load, and score what came of it.",
    ),
    Verb(
        "compare",
        "headroom.cli.commands.compare:compare",
        "Compare Headroom with other tools' rules, fixed configurations and the oracle.",
    ),
    Verb(
        "cases",
        "headroom.cli.commands.cases:cases",
        "Work out published measurements and bills again, and print both figures side by side.",
    ),
    Verb(
        "plan",
        "headroom.cli.commands.plan:plan",
        "Tell what Headroom would do about one volume or database now, and why. Changes nothing.",
    ),
    Verb(
        "replay",
        "headroom.cli.commands.replay:replay",
        "Tell what a policy would have done over the past of an account's own volumes and databases.",
    ),
    Verb(
        "pause",
        "headroom.cli.commands.pause:pause",
        "Stop every change in an account and Region, from this instant on.",
    ),
    Verb(
        "resume",
        "headroom.cli.commands.pause:resume",
        "End a pause, and close the account's breaker if it is open; breakers of volumes stay open.",
    ),
    Verb(
        "status",
        "headroom.cli.commands.status:status",
        "Say which policy is in force, what is stopped, spent, under way, closed, and who waits.",
    ),
    Verb(
        "approvals",
        "headroom.cli.commands.requests:approvals",
        "List the changes that wait for a person, the first to expire first.",
    ),
    Verb(
        "approve",
        "headroom.cli.commands.requests:approve",
        "Agree to a change that waits for a person; it is judged again within a minute, then done.",
    ),
    Verb(
        "reject",
        "headroom.cli.commands.requests:reject",
        "Say no to a change that waits for a person; nothing like it is asked for 24 hours.",
    ),
    Verb(
        "rollback",
        "headroom.cli.commands.requests:rollback",
        "Ask for a change to be undone: IOPS, throughput and type as before it, the size as it is.",
    ),
    Verb(
        "budget",
        "headroom.cli.commands.budget:budget",
        "Show which volumes take up the account's budget for price increases, the dearest first.",
    ),
    Verb(
        "audit",
        "headroom.cli.commands.audit:audit",
        "List records: every decision, and everything that came of it.",
    ),
    Verb(
        "explain",
        "headroom.cli.commands.explain:explain",
        "Tell one decision: what was seen, considered, said, done, and whether it worked.",
    ),
    Verb(
        "version",
        "headroom.cli.commands.version:version",
        "Say which Headroom this is, and what it runs on.",
    ),
    Group(
        "local",
        "Start and stop an AWS endpoint on this machine.",
        (
            Verb(
                "up",
                "headroom.cli.commands.local:up",
                "Start the endpoint on 127.0.0.1 and leave it running.",
            ),
            Verb(
                "down",
                "headroom.cli.commands.local:down",
                "Stop the endpoint and everything it started.",
            ),
            Verb(
                "status",
                "headroom.cli.commands.local:status",
                "Say whether the endpoint runs; exit code 1 when it does not.",
            ),
        ),
    ),
    Group(
        "policy",
        "Check, show and test the policy: what Headroom may do, to what, for how much.",
        (
            Verb(
                "schema",
                "headroom.cli.policy.check:schema",
                "Print the policy's JSON Schema, by which editors complete and check it.",
            ),
            Verb(
                "check",
                "headroom.cli.policy.check:check",
                "Say all that is wrong with a policy: what it says, and what it can never mean.",
            ),
            Verb(
                "show",
                "headroom.cli.policy.show:show",
                "Show the limits in force for one volume or database, and where each of them came from.",
            ),
            Verb(
                "test",
                "headroom.cli.policy.test:run_tests",
                "Decide the situations in a file of tests, and compare with what it expects.",
            ),
        ),
    ),
    Group(
        "breaker",
        "See and close the circuit breakers that repeated failures open.",
        (
            Verb(
                "list",
                "headroom.cli.commands.pause:breakers",
                "List what repeated failures stopped, the oldest first; exit code 1 when there is any.",
            ),
            Verb(
                "close",
                "headroom.cli.commands.pause:close",
                "Let Headroom change a volume, a database or the whole account again after failures.",
            ),
        ),
    ),
)
