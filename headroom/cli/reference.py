"""Writes docs/cli.md from the commands themselves: `python -m headroom.cli.reference > docs/cli.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import typer
from typer._click.core import Command, Parameter
from typer.core import TyperGroup

from headroom.cli.loading import LateCommand
from headroom.cli.main import app

HEAD = """# The `headroom` command

Generated from the commands themselves by `python -m headroom.cli.reference`; a test compares the two.

Results go to stdout, a table for people or one JSON value with `--json`; progress and remarks go to stderr.
Every command names storage the same way: `vol-ID`, `db:NAME` for an RDS DB instance, `cluster:NAME` for a Multi-AZ DB cluster or an Aurora
cluster, or the ARN. A plain name is refused, because an instance and a cluster may share it.
Exit codes: `0` success, `1` failure, `2` invalid input (one sentence says why), `130` interrupted.
`plan --all` returns `2` when changes are due, and `doctor` when there are findings; invalid input is `1` there.

Shell completion (bash, zsh, fish, PowerShell): `headroom --install-completion` adds it to the current shell's start-up file.
`headroom --show-completion` prints the script instead, for example to source it from your own dotfiles.
"""


def reference() -> str:
    """The whole page."""
    return HEAD + "".join(_pages("headroom", typer.main.get_command(app)))


def _pages(path: str, command: Command) -> Iterator[str]:
    if isinstance(command, TyperGroup):
        for name in command.commands:
            yield from _pages(f"{path} {name}", command.commands[name])
        return
    if isinstance(command, LateCommand):
        command = command.loaded()
    yield f"\n## `{path}`\n\n{command.help}\n\n```sh\n{command.epilog}\n```\n"
    rows = [_row(each) for each in command.params if each.name != "help"]
    if rows:
        yield "\n| | | default |\n|---|---|---|\n" + "".join(rows)


def _row(parameter: Parameter) -> str:
    text = getattr(parameter, "help", None) or ""
    name = ", ".join(f"`{each}`" for each in (*parameter.opts, *parameter.secondary_opts))
    if parameter.param_type_name == "argument":
        written = (parameter.metavar or parameter.name or "").strip("[]").upper()
        name = f"`{written}`".replace("|", r"\|")
    default = parameter.default
    value = getattr(default, "value", default)
    default_text = (
        "required" if parameter.required else "" if value in (None, False, "") else f"`{value}`"
    )
    of: Any = parameter
    if choices := of.type_descriptor.choices:
        text += f" Values: {', '.join(f'`{each.value}`' for each in choices)}."
    elif of.min is not None and of.max is not None:
        text += f" From {of.min:,} to {of.max:,}."
    return f"| {name} | {text} | {default_text} |\n"


if __name__ == "__main__":
    sys.stdout.write(reference())
