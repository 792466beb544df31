"""Files that a command was asked to write: refused before the work, written after it."""

from __future__ import annotations

import os
from pathlib import Path

from headroom.cli.terminal.problems import BadRequest


def refuse_unwritable(path: Path) -> None:
    """Raise BadRequest when `path` cannot become a file; creates nothing."""
    if path.is_dir():
        raise BadRequest(f"{path} could not be written: it is a directory.")
    if path.exists():
        place = path
    else:
        place = next(folder for folder in path.absolute().parents if folder.exists())
        if not place.is_dir():
            raise BadRequest(f"{path} could not be written: {place} is not a directory.")
    if not os.access(place, os.W_OK):
        raise BadRequest(f"{path} could not be written: {place} is not writable.")


def save(text: str, path: Path) -> None:
    """Write a text file and the folder it is in; raises BadRequest when that cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise BadRequest(f"{path} could not be written: {problem.strerror}.") from None
