"""Finished work in a file, one JSON value a line, so that a long command goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from headroom.cli.terminal.files import refuse_unwritable
from headroom.cli.terminal.problems import BadRequest

Json = dict[str, Any]


class Finished:
    """What a command has finished, by resource; kept in a file if one is given.

    The first line says what the work is of: a file of other work is refused. A last line that was
    cut off counts as not written. The file is removed once all the work is done.
    """

    def __init__(self, path: Path | None, work: Json) -> None:
        """Read `path` if it is there; raises BadRequest."""
        self._path = path
        self._work = json.loads(json.dumps(work, default=str))
        self._found: dict[str, Json] = {}
        if path is None:
            return
        refuse_unwritable(path)
        kept = self._read(path) if path.exists() else []
        text = "".join(json.dumps(line) + "\n" for line in ({"work": self._work}, *kept))
        path.write_text(text, encoding="utf-8")
        self._file = path.open("a", encoding="utf-8")

    def _read(self, path: Path) -> list[Json]:
        lines: list[Json] = []
        try:
            for text in path.read_text(encoding="utf-8").splitlines():
                lines.append(json.loads(text))
        except (OSError, UnicodeDecodeError) as problem:
            why = getattr(problem, "strerror", None) or "it is not UTF-8 text"
            raise BadRequest(f"{path} cannot be read: {why}.") from None
        except ValueError:
            pass  # the line that was being written when the command ended
        if not lines or not isinstance(lines[0], dict) or lines[0].get("work") != self._work:
            raise BadRequest(
                f"{path} is of other work (account, Region, policy, days or filters differ); "
                "remove it, or give another file."
            )
        self._found = {line["arn"]: line for line in lines[1:]}
        return lines[1:]

    @property
    def known(self) -> Mapping[str, Json]:
        """What is finished, by ARN."""
        return self._found

    def add(self, done: Json) -> None:
        """Keep what is finished about one resource, which `done["arn"]` names."""
        if self._path is not None:
            self._file.write(json.dumps(done, default=str) + "\n")
            self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if self._path is not None:
            self._file.close()
            if error is None:
                self._path.unlink(missing_ok=True)
