"""One run of a function: its ports watched by the law, and cut off, interrupted or unanswered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from headroom.ports import Ports, ReadFailed
from tests.laws.law import Law, Served
from tests.laws.world import World

PORTS = (
    "storage",
    "metrics",
    "ledger",
    "state_store",
    "scan",
    "work",
    "archive",
    "policies",
    "prices",
)
WRITES = frozenset(
    {"decided", "intend", "intend_together", "append", "reconciled", "forget", "save_modifications"}
)
LONGEST = timedelta(minutes=14)
"""No function lives longer: what stalls it for more has killed it."""


class Crash(BaseException):
    """The process is gone: nobody catches it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What happens to one run, by the number of its port call; None: nothing of the kind."""

    crash_after: int | None = None
    lose_before: int | None = None
    """A ledger write that is not done and not answered, or the first one after it."""
    lose_after: int | None = None
    """The same, but it is done."""
    meanwhile_at: int | None = None
    meanwhile: tuple[Any, ...] = ()
    """What happens elsewhere before that call, time passing included."""


@dataclass(slots=True, kw_only=True)
class Process:
    """A function's run; `ports` are what it sees of the world."""

    world: World
    law: Law
    trouble: Trouble
    do: Callable[[Any], None]
    """Does one thing of `meanwhile`."""
    served: Served = field(default_factory=Served)
    calls: int = 0

    @property
    def ports(self) -> Ports:
        world, ledger = self.world, self.world.ledger
        behind = {
            "ledger": ledger,
            "state_store": ledger,
            "scan": ledger,
            "work": ledger,
            "archive": ledger,
        }
        watched = {name: _Port(self, name, behind.get(name, world)) for name in PORTS}
        return Ports(**watched)  # type: ignore[arg-type]

    def call(self, port: str, name: str, real: Any, args: Any, named: Any) -> Any:
        """One call of a port, with what befalls it."""
        self.calls += 1
        trouble = self.trouble
        if trouble.meanwhile_at == self.calls:
            began = self.world.now
            for each in trouble.meanwhile:
                self.do(each)
            if self.world.now - began > LONGEST:
                raise Crash
        write = port in ("ledger", "state_store") and name in WRITES
        if write and trouble.lose_before is not None and self.calls >= trouble.lose_before:
            self.trouble = Trouble(crash_after=trouble.crash_after)
            raise ReadFailed("the ledger did not answer, and had not done it")
        mark = self.law.before(self.served, port, name, args)
        answer = real(*args, **named)
        self.law.after(self.served, port, name, args, named, answer, mark)
        if write and trouble.lose_after is not None and self.calls >= trouble.lose_after:
            self.trouble = Trouble(crash_after=trouble.crash_after)
            raise ReadFailed("the ledger did not answer, but had done it")
        if self.trouble.crash_after is not None and self.calls >= self.trouble.crash_after:
            raise Crash
        return answer


class _Port:
    """A port as one process sees it."""

    def __init__(self, process: Process, port: str, real: Any) -> None:
        self._process, self._port, self._real = process, port, real

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._real, name)

        def called(*args: Any, **named: Any) -> Any:
            return self._process.call(self._port, name, real, args, named)

        return called
