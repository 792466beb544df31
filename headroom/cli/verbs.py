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
    """One command and its function `target` ("module:function")."""

    name: str
    target: str

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
    Verb("demo", "headroom.cli.commands.demo:demo"),
    Verb("simulate", "headroom.cli.commands.simulate:simulate"),
    Verb("compare", "headroom.cli.commands.compare:compare"),
    Verb("cases", "headroom.cli.commands.cases:cases"),
    Verb("plan", "headroom.cli.commands.plan:plan"),
    Verb("replay", "headroom.cli.commands.replay:replay"),
    Verb("assess", "headroom.cli.commands.assess:assess"),
    Verb("cost", "headroom.cli.commands.cost:cost"),
    Verb("pause", "headroom.cli.commands.pause:pause"),
    Verb("resume", "headroom.cli.commands.pause:resume"),
    Verb("status", "headroom.cli.commands.status:status"),
    Verb("doctor", "headroom.cli.commands.doctor:doctor"),
    Verb("alarms", "headroom.cli.alarms.alarms:alarms"),
    Verb("approvals", "headroom.cli.commands.requests:approvals"),
    Verb("approve", "headroom.cli.commands.requests:approve"),
    Verb("reject", "headroom.cli.commands.requests:reject"),
    Verb("rollback", "headroom.cli.commands.requests:rollback"),
    Verb("release", "headroom.cli.commands.release:release"),
    Verb("budget", "headroom.cli.commands.budget:budget"),
    Verb("audit", "headroom.cli.commands.audit:audit"),
    Verb("explain", "headroom.cli.commands.explain:explain"),
    Verb("writeback", "headroom.cli.commands.writeback:writeback"),
    Verb("report", "headroom.cli.commands.report:report"),
    Verb("version", "headroom.cli.commands.version:version"),
    Group(
        "local",
        "Start and stop an AWS endpoint on this machine.",
        (
            Verb("up", "headroom.cli.commands.local:up"),
            Verb("down", "headroom.cli.commands.local:down"),
            Verb("status", "headroom.cli.commands.local:status"),
        ),
    ),
    Group(
        "policy",
        "Check, show and test the policy, which limits what Headroom may do.",
        (
            Verb("schema", "headroom.cli.policy.check:schema"),
            Verb("check", "headroom.cli.policy.check:check"),
            Verb("show", "headroom.cli.policy.show:show"),
            Verb("test", "headroom.cli.policy.test:run_tests"),
            Verb("parameters", "headroom.cli.policy.parameters:parameters"),
        ),
    ),
    Group(
        "breaker",
        "List and close circuit breakers, which open after repeated failures.",
        (
            Verb("list", "headroom.cli.commands.pause:breakers"),
            Verb("close", "headroom.cli.commands.pause:close"),
        ),
    ),
    Group(
        "hub",
        "Send requests to deployments in other accounts, from the account of a hub.",
        (
            Verb("approve", "headroom.cli.hub.asking:approve"),
            Verb("reject", "headroom.cli.hub.asking:reject"),
            Verb("pause", "headroom.cli.hub.asking:pause"),
            Verb("resume", "headroom.cli.hub.asking:resume"),
            Verb("publish", "headroom.cli.hub.asking:publish"),
            Verb("redeliver", "headroom.cli.hub.redelivery:redeliver"),
        ),
    ),
)
