"""Commands that import their module when they run, so that the others start without it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from functools import partial, wraps
from importlib import import_module
from inspect import Parameter as Argument
from inspect import Signature, signature
from typing import Any, get_type_hints

import typer
from typer._click.core import Command, Context, Parameter
from typer._click.exceptions import BadParameter
from typer._click.formatting import HelpFormatter
from typer._coercion import RuntimeParam, TypeDescriptor, build_runtime_param
from typer.core import TyperCommand, TyperGroup

from headroom.cli.verbs import COMMANDS, Group, Verb


def imported(target: str) -> Any:
    """What `target` ("module:name") names, imported now.

    The garbage collector is off meanwhile: imported objects stay, and scanning them repeatedly takes
    a tenth of the time.
    """
    module, _, name = target.partition(":")
    collecting = gc.isenabled()
    gc.disable()
    try:
        return getattr(import_module(module), name)
    finally:
        if collecting:
            gc.enable()


def spread(command: Callable[..., Any]) -> Callable[..., Any]:
    """`command` with one option for each field of its parameters that are sets of options."""
    hints = get_type_hints(command, include_extras=True)
    plain: list[Argument] = []
    sets: dict[str, Any] = {}
    for parameter in signature(command).parameters.values():
        hint = hints[parameter.name]
        if not is_dataclass(hint):
            plain.append(parameter.replace(annotation=hint, kind=Argument.KEYWORD_ONLY))
            continue
        sets[parameter.name] = hint
        fields_of = get_type_hints(hint, include_extras=True)
        plain += [
            Argument(
                each.name, Argument.KEYWORD_ONLY, default=each.default,
                annotation=fields_of[each.name],
            )
            for each in fields(hint)
        ]  # fmt: skip
    if not sets:
        return command

    @wraps(command)
    def whole(**values: Any) -> Any:
        made = {
            name: of(**{each.name: values.pop(each.name) for each in fields(of)})
            for name, of in sets.items()
        }
        return command(**values, **made)

    whole.__signature__ = Signature(plain)  # type: ignore[attr-defined]
    whole.__annotations__ = {each.name: each.annotation for each in plain}
    del whole.__wrapped__
    return whole


class TextOrConverted(RuntimeParam):
    """The value of a parameter: text as it is, anything else as Pydantic converts and checks it.

    Typer imports Pydantic and builds a validator for each parameter, given or not, which is a
    fifth of the time of a short command.
    """

    def _coerce_value(self, value: Any, param: Any, ctx: Context) -> Any:
        if self.annotation is str and type(value) is str and self.parameter_info.parser is None:
            return value
        converter = build_runtime_param(param.type_descriptor)
        try:
            return converter._coerce_value(value, param=param, ctx=ctx)
        except BadParameter as problem:
            problem.message = _plain(problem.message)
            raise


def _plain(message: str) -> str:
    """What Pydantic says of a value, as a person would say it."""
    said = message.removeprefix("Value error, ").replace("Input should be", "it must be")
    return f"{said.partition(', unable to parse')[0].rstrip('.')}."


class LateConversion(Command):
    """A command that converts its parameters as `TextOrConverted` does."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        """Its parameters, `--help` too, with values named as in manual pages."""
        found = super().get_params(ctx)
        for each in found:
            parameter: Any = each
            of: TypeDescriptor = parameter.type_descriptor
            parameter._runtime_param = TextOrConverted(of.parameter_info, of.annotation)
            if parameter.param_type_name == "argument":
                name = parameter.metavar = parameter.metavar or parameter.name.upper()
                usage = name if parameter.required else f"[{name}]"
                parameter._usage_display_name = partial(str, usage)
                parameter.display_type_rich = _no_type
            elif parameter.metavar is None and not parameter.is_flag:
                parameter.metavar = value_name(of)
        return found


def _no_type(*, ctx: Context) -> None:
    """An argument's name says enough; Typer would add its Python type."""


def value_name(of: TypeDescriptor) -> str:
    """What stands for an option's value in help: its choices, PATH, N or TEXT."""
    if of.choices is not None:
        return "|".join(str(getattr(each, "value", each)) for each in of.choices)
    if of.is_path:
        return "PATH"
    return "N" if of.annotation in (int, float) else "TEXT"


class QuickCommand(LateConversion, TyperCommand):
    """A command that was loaded; its help ends with an example."""

    def format_epilog(self, ctx: Context, formatter: HelpFormatter) -> None:
        """The example on a line of its own, never wrapped, so that it can be copied."""
        formatter.write(f"\nExample:\n  {self.epilog}\n")


class LateCommand(TyperCommand):
    """A placeholder in help and completion, which loads the command when it is invoked."""

    def __init__(self, verb: Verb) -> None:
        super().__init__(verb.name, rich_markup_mode=None)
        self._verb = verb

    @property
    def summary(self) -> str:
        """The first sentence of the command's help."""
        return self._verb.summary

    def get_short_help_str(self, limit: int = 45) -> str:
        """The beginning of the first sentence, for shell completion."""
        self.help = self.summary
        return super().get_short_help_str(limit)

    def loaded(self) -> Command:
        """The command itself, with its arguments and options."""
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        register = single.command(self._verb.name, cls=QuickCommand, epilog=self._verb.example)
        register(spread(imported(self._verb.target)))
        return typer.main.get_command(single)

    def make_context(
        self, info_name: str | None, args: list[str], parent: Context | None = None, **extra: Any
    ) -> Context:
        """The context of the command itself, which parses, helps and runs."""
        return self.loaded().make_context(info_name, args, parent, **extra)


class CommandGroup(TyperGroup):
    """Commands under one name, listed with their whole first sentences."""

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """The list in the help."""
        rows = [
            (name, each.summary if isinstance(each, LateCommand) else each.help or "")
            for name, each in self.commands.items()
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class Commands(LateConversion, CommandGroup):
    """The root: every command of the table."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _late(COMMANDS)


def _late(entries: Iterable[Verb | Group]) -> dict[str, Command]:
    return {
        each.name: LateCommand(each)
        if isinstance(each, Verb)
        else CommandGroup(
            name=each.name, help=each.summary, commands=_late(each.verbs), no_args_is_help=True,
            rich_markup_mode=None,
        )
        for each in entries
    }  # fmt: skip
