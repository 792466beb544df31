"""Progress of long work on stderr: a live line on a terminal, plain lines anywhere else."""

from __future__ import annotations

from datetime import timedelta
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from headroom.cli.demo.stories.volumes import START
from headroom.cli.terminal.output import say, utc

PLAIN_EVERY = 240
"""Simulated minutes between two plain lines."""


class Display:
    """What the demo is doing right now."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Progress(
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(),
            TextColumn("{task.fields[clock]}"), TimeElapsedColumn(), console=console,
        )  # fmt: skip
        self._task: TaskID | None = None
        self._next_line = 0

    def __enter__(self) -> Display:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._finish()
        if self._console.is_terminal:
            self._live.stop()

    def phase(self, title: str, *, minutes: int | None = None) -> None:
        """Begin a phase; one of simulated minutes has a bar."""
        self._finish()
        if not self._console.is_terminal:
            self._console.print(title)
            self._next_line = PLAIN_EVERY
            return
        self._task = self._live.add_task(title, total=minutes, clock="")

    def minute(self, minute: int, decisions: int) -> None:
        """The phase reached `minute`, with this many decisions on record."""
        clock = f"{utc(START + timedelta(minutes=minute))}, {decisions} decisions"
        if self._task is not None:
            self._live.update(self._task, completed=minute, clock=clock)
        elif minute >= self._next_line:
            self._console.print(f"  {clock}")
            self._next_line = minute + PLAIN_EVERY

    def settled(self, number: int, title: str, line: str) -> None:
        """A story is settled; `line` is its result."""
        say(f"{number}. {title}", self._console)
        say(f"   {line}", self._console)

    def _finish(self) -> None:
        if self._task is not None:
            total = self._live.tasks[-1].total
            self._live.update(self._task, total=total or 1, completed=total or 1)
            self._live.stop_task(self._task)
            self._task = None
