"""One argument of a Terraform block: written where it is literal, or where its variable is set."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from headroom.cli.writeback.edits import CannotPatch, Edit, files, read, refuse_other
from headroom.cli.writeback.hcl import Attribute, Unreadable, parse
from headroom.cli.writeback.modules import Code, File, Found, is_literal, plain

_VARIABLE = re.compile(r"var\.([\w-]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """An argument's name and value after and before the change; None where it must be absent."""

    name: str
    value: str | int | None
    origin: str | int | None
    is_size: bool
    beside: tuple[str, ...]
    """All arguments of the block that the change may set: a new one goes behind the last of them."""


def edits_of(code: Code, place: Found, setting: Setting) -> Iterator[Edit]:
    """The one edit that the argument needs, or none; raises CannotPatch."""
    attribute, name, value = place.block.attribute(setting.name), setting.name, setting.value
    unchanged = value == setting.origin
    if attribute is None:
        if value is not None and not unchanged:
            _refuse_shared(code, place)
            yield _inserted(place, setting, value)
        return
    current = plain(place.file.value(attribute))
    if current is not None:
        refuse_other(place.file.at(attribute.start), name, current, setting.origin, value)
    if unchanged and (setting.is_size or value is None):
        return
    if value is None:
        _refuse_shared(code, place)
        yield _removed(place.file, attribute)
        return
    place, file, attribute = _where_set(code, place, name, attribute)
    old = file.value(attribute)
    current = plain(old) or ""
    if current == str(value):
        return
    refuse_other(file.at(attribute.start), name, current, setting.origin, value)
    _refuse_shared(code, place)
    text = f'"{value}"' if isinstance(value, str) or old.startswith('"') else str(value)
    yield Edit(path=file.path, start=attribute.value_start, end=attribute.value_end, text=text)


def _inserted(place: Found, setting: Setting, value: str | int) -> Edit:
    """A line behind the last of the settings that is there, or the first of the block."""
    file, block = place.file, place.block
    text = f'"{value}"' if isinstance(value, str) else str(value)
    if "\n" not in file.text[block.opened : block.closed]:
        raise CannotPatch(
            f"{place.place}: the block is on one line: add {setting.name} = {text} by hand"
        )
    end = "\r\n" if "\r\n" in file.text else "\n"
    there = [one for one in block.attributes if one.name in setting.beside]
    if not there:
        at = file.text.find("\n", block.opened) + 1
        line = f"{_indent(file, block.start)}  {setting.name} = {text}{end}"
        return Edit(path=file.path, start=at, end=at, text=line)
    last = there[-1]
    at = file.text.find("\n", last.value_end) + 1
    rest = file.text[last.value_end : at]
    if "/*" in rest and "*/" not in rest:
        raise CannotPatch(
            f"{file.at(last.start)}: a comment goes on in the next line: add {setting.name} = {text} by hand"
        )
    width = file.text.find("=", last.start) - last.start - 1  # as `terraform fmt` aligns them
    line = f"{_indent(file, last.start)}{setting.name:<{width}} = {text}{end}"
    return Edit(path=file.path, start=at, end=at, text=line)


def _indent(file: File, at: int) -> str:
    """The spaces before the first word of a character's line."""
    line = file.text[file.text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _removed(file: File, attribute: Attribute) -> Edit:
    """Without the line of an argument that the new type does not have."""
    first = file.text.rfind("\n", 0, attribute.start) + 1
    last = file.text.find("\n", attribute.value_end) + 1 or len(file.text)
    alone = not (file.text[first : attribute.start] + file.text[attribute.value_end : last]).strip()
    if not alone or not is_literal(file.value(attribute)):
        raise CannotPatch(
            f"{file.at(attribute.start)}: remove {attribute.name} by hand: the new type does not have it"
        )
    return Edit(path=file.path, start=first, end=last, text="")


def _where_set(
    code: Code, place: Found, name: str, attribute: Attribute
) -> tuple[Found, File, Attribute]:
    """The literal that the argument has in the end, and the block whose module holds it.

    Raises CannotPatch where that is not one place.
    """
    file, expression = place.file, place.file.value(attribute)
    if is_literal(expression):
        return place, file, attribute
    here = f"{file.at(attribute.start)}: {name} is {' '.join(expression.split())}"
    variable = _VARIABLE.fullmatch(expression)
    if variable is None:
        raise CannotPatch(f"{here}, which is computed: change it by hand")
    uses = [
        each.at(found.start())
        for each in code.folders[place.folder]
        for found in re.finditer(rf"\bvar\.{re.escape(variable[1])}\b(?!-)", each.text)
    ]
    if len(uses) > 1:
        raise CannotPatch(
            f"{here}, a variable that is used in {', '.join(uses)}: change it by hand"
        )
    if place.calls:
        call = place.calls[-1]
        passed = call.block.attribute(variable[1])
        if passed is not None:
            above = Found(call.file, call.block, place.calls[:-1])
            return _where_set(code, above, variable[1], passed)
    return (place, *_assignment(code, place, variable[1], here))


def _refuse_shared(code: Code, place: Found) -> None:
    """Raise CannotPatch if a module that the block is in, at any level, has more than its one call."""
    for depth, each in enumerate((*place.calls, place)):
        callers = code.callers(each.folder)
        if len(callers) > min(depth, 1):
            raise CannotPatch(
                f"{place.place} is in the module {each.folder}, which has several calls, or calls outside "
                f"the directory: {', '.join(callers)}. A value there would change the others too"
            )


def _assignment(code: Code, place: Found, name: str, here: str) -> tuple[File, Attribute]:
    """The one place that sets a variable of a root module: a .tfvars file, else its default."""
    given: list[tuple[File, Attribute]] = []
    for path in files(place.folder, ".tfvars") if not place.calls else ():
        text = read(path)
        try:
            file = File(path, text, parse(text))
        except Unreadable as problem:
            raise CannotPatch(f"{path} cannot be read as HCL: {problem}") from None
        attribute = file.root.attribute(name)
        if attribute is not None:
            given.append((file, attribute))
    loaded = [
        (file, attribute)
        for file, attribute in given
        if file.path.parent == place.folder
        and (file.path.name == "terraform.tfvars" or file.path.name.endswith(".auto.tfvars"))
    ]
    defaults = [
        (found.file, default)
        for found in code.blocks(place.folder, "variable")
        if found.block.labels == (name,) and (default := found.block.attribute("default"))
    ]
    chosen = loaded or ([] if given else defaults)
    if len(chosen) != 1 or len(given) > len(loaded):
        places = [file.at(attribute.start) for file, attribute in (*given, *defaults)]
        raise CannotPatch(
            f"{here}; the variable is set in {', '.join(places) or 'no file here (-var, TF_VAR_ or the pipeline)'}"
            ": change the value that your deployment uses"
        )
    file, attribute = chosen[0]
    if not is_literal(file.value(attribute)):
        raise CannotPatch(f"{here}; {file.at(attribute.start)} computes it: change it by hand")
    return file, attribute
