"""Methods of dataclasses, compiled before deployment.

`dataclasses` writes the methods of a class as text and compiles it whenever the class is defined, which
no bytecode of modules saves: a third of the CPU time that a function needed to start. The package may
hold what these texts compile to; a text that is not there is compiled as ever.
"""

from __future__ import annotations

import dataclasses
import importlib
import marshal
import pkgutil
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType
from typing import Any

COMPILED = Path(__file__).with_suffix(".compiled")
"""Bytecode by text, of the Python whose magic number it begins with."""
_HOOK = "exec"
"""What `dataclasses` compiles and runs a text with: the function of this name, its own before the built-in.

Source: `dataclasses.py` of Python 3.11 to 3.14.
"""


def _code_of(text: str) -> CodeType:
    """As `dataclasses` compiles it, without this module's own `from __future__`."""
    return compile(text, "<dataclass>", "exec", dont_inherit=True)


def use(file: Path = COMPILED) -> None:
    """Let classes that are defined from now on take their methods from `file`, if this Python made it."""
    try:
        content = file.read_bytes()
    except OSError:
        return
    if not content.startswith(MAGIC_NUMBER):
        return
    compiled: dict[str, bytes] = marshal.loads(content[len(MAGIC_NUMBER) :])  # noqa: S302 - the package's own

    def run(text: str, scope: dict[str, Any], names: dict[str, Any]) -> None:
        known = compiled.get(text)
        code = _code_of(text) if known is None else marshal.loads(known)  # noqa: S302 - the package's own
        exec(code, scope, names)  # noqa: S102 - the text of dataclasses itself

    setattr(dataclasses, _HOOK, run)


def write(packages: tuple[str, ...], file: Path = COMPILED) -> None:
    """Import these packages with all their modules, and keep in `file` what their classes compile."""
    compiled: dict[str, bytes] = {}

    def run(text: str, scope: dict[str, Any], names: dict[str, Any]) -> None:
        code = _code_of(text)
        compiled[text] = marshal.dumps(code, 2)  # this version writes equal code as equal bytes
        exec(code, scope, names)  # noqa: S102 - the text of dataclasses itself

    setattr(dataclasses, _HOOK, run)
    for package in packages:
        path = importlib.import_module(package).__path__
        for module in pkgutil.walk_packages(path, f"{package}."):
            importlib.import_module(module.name)
    file.write_bytes(MAGIC_NUMBER + marshal.dumps(dict(sorted(compiled.items())), 2))
