"""File systems on volumes, which their instances extend after a volume grew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from headroom.domain.resources import Volume


@dataclass(frozen=True, slots=True, kw_only=True)
class Extended:
    """The file system was extended, or had nothing to extend; `size_gib` is read back from it."""

    size_gib: float
    detail: str
    extended: bool = True
    """Whether it has become larger."""
    lacks: str = ""
    """What the instance lacks to extend it once the volume is larger; empty for nothing that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotExtended:
    """It was not; `again` is whether trying again may help."""

    why: str
    again: bool


class FileSystems(Protocol):
    """Extends the one file system on a volume to the volume's size."""

    def extend(self, volume: Volume) -> Extended | NotExtended:
        """Harmless to repeat: only what is still missing is done, nothing ever shrinks.

        At the present size it shows whether the file system could follow growth.
        """
        ...
