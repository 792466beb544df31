"""A finding with its fix, and a check that never crashes: what it may not read is a finding too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from headroom.adapters.errors import REFUSALS, code_of, message_of
from headroom.cli.doctor.deployed import DeployedStacks
from headroom.cli.terminal.output import utc
from headroom.domain.state import Refusal
from headroom.ports import ReadFailed

_DENIED = re.compile(r"not authorized to perform:? \[?([\w-]+:\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is wrong and how to fix it, a sentence each."""

    problem: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What is as it should be, or worth knowing."""

    text: str


def just_deployed(what: str, settled_at: datetime) -> Fact:
    """What is no finding yet in the first minutes after a deployment."""
    return Fact(text=f"just deployed: {what}; run this again after {utc(settled_at)}")


T = TypeVar("T", bound=DeployedStacks, contravariant=True)
Check = Callable[[T], Iterator[Finding | Fact]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A check by name, with what it found."""

    name: str
    findings: tuple[Finding, ...]
    facts: tuple[Fact, ...]


def examine(name: str, check: Check[T], deployed: T) -> Examined:
    """Run a check; what it found before a failed read counts, and the failure is a finding."""
    found: list[Finding | Fact] = []
    try:
        found.extend(check(deployed))
    except (ReadFailed, ClientError, BotoCoreError, KeyError, ValueError, TypeError) as problem:
        found.append(unreadable(problem))
    return Examined(
        name=name,
        findings=tuple(each for each in found if isinstance(each, Finding)),
        facts=tuple(each for each in found if isinstance(each, Fact)),
    )


def unreadable(problem: Exception) -> Finding | Fact:
    """What a failed read means: a permission to grant, or a read to repeat.

    A table or index that is missing is a finding of another check.
    """
    cause = problem.__cause__ if isinstance(problem, ReadFailed) else problem
    if isinstance(cause, ClientError) and _no_table(cause):
        return Fact(text="not examined, because a table or an index is missing")
    if isinstance(cause, ClientError) and denied(cause):
        named = _DENIED.search(message_of(cause))
        return Finding(
            problem=f"could not check: {cause.operation_name} is denied",
            fix=f"grant {named[1] if named else cause.operation_name} to the caller, or ask someone who has it",
        )
    return Finding(
        problem=f"could not check: {type(problem).__name__}: {problem}",
        fix="run `headroom doctor` again; if the problem persists, check AWS's error for that call",
    )


def _no_table(error: ClientError) -> bool:
    if error.operation_name not in ("BatchGetItem", "GetItem", "Query"):
        return False
    code = code_of(error)
    return code == "ResourceNotFoundException" or (
        code == "ValidationException" and "index" in message_of(error)
    )


def denied(error: ClientError) -> bool:
    """Whether AWS refused the call for lack of a permission."""
    code = code_of(error)
    return REFUSALS.get(code) is Refusal.DENIED or code in (
        "AuthorizationError", "AccessDeniedError", "NotAuthorized",
    )  # fmt: skip
