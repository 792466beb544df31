"""What people must hear of a record: written in its transaction, kept until a message was sent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from headroom.domain.state.records import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify:
    """That people must hear of a record, and in which words."""

    text: str
    step: Step | None = None
    """What the message is about; the step of the record itself without one."""
    ends_set: bool = False
    """Whether it waits for the ends of the other changes of a striped set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What people must hear and have not heard yet."""

    decision_id: str
    """The chain of the record."""
    sequence: int
    step: Step
    resource: str
    """ARN, or the account as a whole."""
    at: datetime
    text: str
    about: str = ""
    """The decision that the message describes; empty where there is none."""
    ends_set: bool = False
