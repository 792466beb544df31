"""Commands that import their module when they run, so that the others start without it."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import typer
from typer._click.core import Command, Context
from typer.core import TyperCommand, TyperGroup

from headroom.cli.verbs import COMMANDS, Group, Verb


def imported(target: str) -> Any:
    """What `target` ("module:name") names, imported now.

    The garbage collector waits meanwhile: what an import makes stays, and looking through it again
    and again takes a tenth of the time.
    """
    module, _, name = target.partition(":")
    collecting = gc.isenabled()
    gc.disable()
    try:
        return getattr(import_module(module), name)
    finally:
        if collecting:
            gc.enable()


class LateCommand(TyperCommand):
    """Stands in help and completion for a command, and becomes it when it is invoked."""

    def __init__(self, verb: Verb) -> None:
        super().__init__(verb.name, help=verb.summary, rich_markup_mode=None)
        self._verb = verb

    def loaded(self) -> Command:
        """The command itself, with its arguments and options."""
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(self._verb.name)(imported(self._verb.target))
        return typer.main.get_command(single)

    def make_context(
        self, info_name: str | None, args: list[str], parent: Context | None = None, **extra: Any
    ) -> Context:
        """The context of the command itself: from here on it parses, helps and runs."""
        return self.loaded().make_context(info_name, args, parent, **extra)


class Commands(TyperGroup):
    """The root: every command of the table."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _late(COMMANDS)


def _late(entries: Iterable[Verb | Group]) -> dict[str, Command]:
    return {
        each.name: LateCommand(each)
        if isinstance(each, Verb)
        else TyperGroup(
            name=each.name, help=each.summary, commands=_late(each.verbs), no_args_is_help=True,
            rich_markup_mode=None,
        )
        for each in entries
    }  # fmt: skip
