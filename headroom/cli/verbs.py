"""Every command of `headroom`: its name and its function.

This table is all that `headroom --help` reads, beside the source of each function for its first
sentence. A command's module is imported when the command runs. To add a command, write its function
in a module here and add one line.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Verb:
    """One command, its function `target` ("module:function") and the example of its help."""

    name: str
    target: str
    example: str

    @property
    def summary(self) -> str:
        """The first sentence of the function's docstring, read without importing its module."""
        module, _, name = self.target.partition(":")
        path = SOURCES.joinpath(*module.split(".")).with_suffix(".py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return (ast.get_docstring(node) or "").partition("\n")[0]
        raise LookupError(f"there is no function {self.target}")


@dataclass(frozen=True, slots=True)
class Group:
    """Commands under one name, for example `headroom policy check`."""

    name: str
    summary: str
    verbs: tuple[Verb, ...]


# The order is the one of `headroom --help` and of docs/cli.md.
COMMANDS: tuple[Verb | Group, ...] = (
    Verb("demo", "headroom.cli.commands.proving.demo:demo", "headroom demo --story 2,10"),
    Verb(
        "simulate",
        "headroom.cli.commands.proving.simulate:simulate",
        "headroom simulate docs/scenarios/nightly-batch-gp2.yaml --html report.html",
    ),
    Verb(
        "compare",
        "headroom.cli.commands.proving.compare:compare",
        "headroom compare --traces traces --html compare.html",
    ),
    Verb("cases", "headroom.cli.commands.proving.cases:cases", "headroom cases A"),
    Verb(
        "plan",
        "headroom.cli.commands.plan:plan",
        "headroom plan vol-0123456789abcdef0 --region us-east-1",
    ),
    Verb(
        "replay",
        "headroom.cli.commands.replay:replay",
        "headroom replay --days 14 --tag team=data --region us-east-1",
    ),
    Verb(
        "assess",
        "headroom.cli.commands.assess:assess",
        "headroom assess --days 14 --region us-east-1 --html page.html",
    ),
    Verb("cost", "headroom.cli.commands.cost:cost", "headroom cost --volumes 1000"),
    Verb(
        "pause",
        "headroom.cli.commands.pause:pause",
        'headroom pause --for 2h --reason "load test" --region us-east-1',
    ),
    Verb(
        "resume",
        "headroom.cli.commands.pause:resume",
        'headroom resume --reason "load test is over" --region us-east-1',
    ),
    Verb("status", "headroom.cli.commands.status:status", "headroom status --region us-east-1"),
    Verb("doctor", "headroom.cli.commands.doctor:doctor", "headroom doctor --region us-east-1"),
    Verb("alarms", "headroom.cli.alarms.alarms:alarms", "headroom alarms --region us-east-1"),
    Verb(
        "approvals",
        "headroom.cli.commands.requests:approvals",
        "headroom approvals --region us-east-1",
    ),
    Verb(
        "approve",
        "headroom.cli.commands.requests:approve",
        'headroom approve 1a2b3c4d5e6f7a8b9c0d --reason "month end" --region us-east-1',
    ),
    Verb(
        "reject",
        "headroom.cli.commands.requests:reject",
        'headroom reject 1a2b3c4d5e6f7a8b9c0d --reason "not worth it" --region us-east-1',
    ),
    Verb(
        "rollback",
        "headroom.cli.commands.requests:rollback",
        "headroom rollback 1a2b3c4d5e6f7a8b9c0d --dry-run --region us-east-1",
    ),
    Verb(
        "release",
        "headroom.cli.commands.release:release",
        'headroom release vol-0123456789abcdef0 --reason "deleted" --region us-east-1',
    ),
    Verb("budget", "headroom.cli.commands.budget:budget", "headroom budget --region us-east-1"),
    Verb(
        "audit",
        "headroom.cli.commands.audit:audit",
        "headroom audit --resource vol-0123456789abcdef0 --since 7d --region us-east-1",
    ),
    Verb(
        "explain",
        "headroom.cli.commands.explain:explain",
        "headroom explain 1a2b3c4d5e6f7a8b9c0d --region us-east-1",
    ),
    Verb(
        "writeback",
        "headroom.cli.commands.writeback:writeback",
        "headroom writeback 1a2b3c4d5e6f7a8b9c0d --patch --region us-east-1",
    ),
    Verb(
        "report",
        "headroom.cli.commands.report:report",
        "headroom report --month 2026-10 --region us-east-1 --html october.html",
    ),
    Verb("version", "headroom.cli.commands.version:version", "headroom version --json"),
    Group(
        "local",
        "Start and stop an AWS endpoint on this machine.",
        (
            Verb(
                "up", "headroom.cli.commands.proving.local:up", "headroom local up --clock lockstep"
            ),
            Verb("down", "headroom.cli.commands.proving.local:down", "headroom local down"),
            Verb("status", "headroom.cli.commands.proving.local:status", "headroom local status"),
        ),
    ),
    Group(
        "policy",
        "Check, show and test the policy, which limits what Headroom may do.",
        (
            Verb(
                "schema",
                "headroom.cli.policy.check:schema",
                "headroom policy schema > policy.schema.json",
            ),
            Verb("check", "headroom.cli.policy.check:check", "headroom policy check policy.yaml"),
            Verb(
                "show",
                "headroom.cli.policy.show:show",
                "headroom policy show --type gp2 --size 400 --tag headroom=auto",
            ),
            Verb(
                "test",
                "headroom.cli.policy.test:run_tests",
                "headroom policy test policy.tests.yaml",
            ),
            Verb(
                "parameters",
                "headroom.cli.policy.parameters:parameters",
                "headroom policy parameters --also Detection=fleet > parameters.json",
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
                "headroom breaker list --region us-east-1",
            ),
            Verb(
                "close",
                "headroom.cli.commands.pause:close",
                'headroom breaker close vol-0123456789abcdef0 --reason "fixed" --region us-east-1',
            ),
        ),
    ),
    Group(
        "hub",
        "Send requests to deployments in other accounts, from the account of a hub.",
        (
            Verb(
                "approve",
                "headroom.cli.hub.asking:approve",
                "headroom hub approve 1a2b3c4d5e6f7a8b9c0d --spoke 111122223333/eu-central-1",
            ),
            Verb(
                "reject",
                "headroom.cli.hub.asking:reject",
                "headroom hub reject 1a2b3c4d5e6f7a8b9c0d --spoke 111122223333/eu-central-1",
            ),
            Verb(
                "pause",
                "headroom.cli.hub.asking:pause",
                'headroom hub pause --spokes spokes.txt --for 4h --reason "incident 17"',
            ),
            Verb(
                "resume",
                "headroom.cli.hub.asking:resume",
                "headroom hub resume --spokes spokes.txt",
            ),
            Verb(
                "publish",
                "headroom.cli.hub.asking:publish",
                "headroom hub publish policy.yaml --spokes spokes.txt",
            ),
            Verb(
                "redeliver",
                "headroom.cli.hub.redelivery:redeliver",
                "headroom hub redeliver --queue URL --bus ARN --region us-east-1",
            ),
            Verb(
                "doctor",
                "headroom.cli.hub.doctor:doctor",
                "headroom hub doctor --stack HeadroomHub",
            ),
        ),
    ),
)
