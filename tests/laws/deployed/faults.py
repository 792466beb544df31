"""What befalls one invocation: a crash, a lost answer, an error, or something done meanwhile, by call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from botocore.exceptions import ReadTimeoutError

from tests.laws.deployed.wire import Call, Refusal

MOST_ATTEMPTS = 40
"""More than all retries of a call: nothing gets through."""


class Crash(BaseException):
    """The process is gone; nothing catches it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What befalls calls `at` to `at + many - 1` of an invocation, counted from 1."""

    kind: str
    """crash, lost (done and never answered), fails (not done), throttled, or meanwhile."""
    at: int
    many: int = 1


NO_FAULT = Fault(kind="none", at=0, many=0)


@dataclass(slots=True, kw_only=True)
class Invocation:
    """One run of a function: its calls so far, and what befalls them."""

    fault: Fault = NO_FAULT
    meanwhile: Callable[[], None] = lambda: None
    """What happens elsewhere before the call of that fault."""
    calls: int = 0
    dead: bool = False
    struck: bool = False
    """Whether its fault befell it."""
    log: list[str] = field(default_factory=list)
    times: list[datetime] = field(default_factory=list)
    """When each call began."""

    def call(self, call: Call, do: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
        """One call and what befalls it; a dead process makes no more."""
        if self.dead:
            raise Crash
        self.calls += 1
        self.log.append(f"{call.service}.{call.operation}")
        fault = self.fault
        if not fault.at <= self.calls < fault.at + fault.many:
            return do()
        self.struck = True
        match fault.kind:
            case "crash":
                self.dead = True
                raise Crash
            case "meanwhile":
                self.meanwhile()
                return do()
            case "fails":
                raise ReadTimeoutError(endpoint_url="https://aws")
            case "throttled":
                raise _throttled(call)
            case "lost":
                with suppress(Refusal):
                    do()
                raise ReadTimeoutError(endpoint_url="https://aws")
        raise NotImplementedError(fault.kind)


def _throttled(call: Call) -> Refusal:
    if call.service == "ec2":
        return Refusal("RequestLimitExceeded", "Request limit exceeded.", 503)
    if call.service == "rds":
        return Refusal("Throttling", "Rate exceeded")
    return Refusal("ThrottlingException", "Rate exceeded")
