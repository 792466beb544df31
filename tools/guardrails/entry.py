"""What is said about one guardrail, and the plan that its example starts from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from headroom.domain.guardrails import Case


class Base(StrEnum):
    """The plan an example starts from; every guardrail allows it."""

    RAISE = "raise"
    LOWER = "give back"
    CLUSTER = "storage mode"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What to say about one guardrail. `blocked` turns an allowed case into a blocked one."""

    settings: tuple[str, ...] = ()
    """Policy settings that move it; `account.NAME` for those of the account."""
    clears: str | None = None
    """When a block clears by itself; None: never."""
    do: str
    """What a person can do."""
    example: str
    """What `blocked` changes, in words."""
    blocked: Callable[[Case], Case]
    base: Base = Base.RAISE
