"""Fields that are computed when they are first read: what only a record needs costs nothing without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar


class Deferring:
    """Base of frozen dataclasses of which `defer` may put off fields.

    A field that was put off is like any other: compared, replaced, printed, pickled and stored by its value.
    """

    __slots__ = ("_later",)
    _later: dict[str, Callable[[], object]]

    def __getstate__(self) -> object:
        """What is pickled and copied; dataclasses with slots have their own."""
        for name in tuple(getattr(self, "_later", ())):
            getattr(self, name)
        return dict(vars(self))

    if not TYPE_CHECKING:  # for a type checker, a misspelt field stays a mistake

        def __getattr__(self, name: str) -> Any:  # asked only for what is not set
            later = object.__getattribute__(self, "_later")
            compute = later.get(name)
            if compute is not None:
                object.__setattr__(self, name, compute())
                later.pop(name, None)
            return object.__getattribute__(self, name)


D = TypeVar("D", bound=Deferring)


def defer(value: D, **fields: Callable[[], object]) -> D:
    """`value`, of which each of these fields is what its function returns, once it is read.

    The functions must be pure. What they hold is released when they were called.
    """
    for name in fields:
        object.__delattr__(value, name)
    object.__setattr__(value, "_later", fields)
    return value
