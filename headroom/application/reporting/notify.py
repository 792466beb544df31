"""People are notified of what is on record: at least once, within the policy's rate.

A notice is written with its record and deleted once a message was sent. A function that dies between
the two sends that message again. What exceeds the rate waits, and goes together in one message as
soon as there is a place: nothing is dropped. Requests for approval go together before that, because
they expire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from headroom.domain.decision import Decision, pending_decision
from headroom.domain.policy import Policy
from headroom.domain.reports import (
    Priority,
    RateWindow,
    give_place_back,
    lease_sending,
    parse_rate_window,
    priority_at,
    rate_window_to_text,
    release_sending,
    take_place,
)
from headroom.domain.state import Notice, Record, Step
from headroom.ports import NoticeDetail, NotSent, ReadFailed, Reporting

NOTE = "messages"
BATCH_LIMIT = 500
"""Notices read by one run."""
RESERVE_S = 15.0
"""Seconds of a function's time kept for what was begun."""
MOST_FAILURES = 3
"""Messages that may fail before a run ends; the next run tries again."""
WAIT_FOR_SET = timedelta(hours=6)
"""How long the end of a change waits for those of the other volumes of its set."""
WORST = (Step.FAILED, Step.INEFFECTIVE, Step.DIVERGED, Step.UNTESTED, Step.RELIEVED)
"""Ends of a change that people hear of; of a set they hear the worst, which comes first."""


@dataclass(slots=True, kw_only=True)
class NotificationReport:
    """What one run sent; `waiting` are heard later."""

    sent: int = 0
    failed: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message:
    """What one message is about, and every notice that it takes care of."""

    notice: Notice
    covers: tuple[Notice, ...]


def notify_people(
    reporting: Reporting, now: datetime, *, time_left: Callable[[], float] = lambda: float("inf")
) -> NotificationReport:
    """Send what people have not heard yet; raises ReadFailed. One function at a time does it."""
    report = NotificationReport()
    if not reporting.outbox.notices(1) or not reporting.notes.amend(NOTE, lambda t: _lease(t, now)):
        return report
    try:
        _send(reporting, _messages(reporting, now), report, now, time_left)
    finally:
        reporting.notes.amend(NOTE, lambda text: (_changed(text, release_sending), None))
    return report


def _send(
    reporting: Reporting, messages: Sequence[_Message], report: NotificationReport, now: datetime,
    time_left: Callable[[], float],
) -> None:  # fmt: skip
    policy = reporting.policies.current()
    most = (policy if isinstance(policy, Policy) else Policy(version="")).messages_per_hour
    left = sorted(messages, key=lambda m: (-priority_at(m.notice, now), not _asks(m), m.notice.at))
    while left and time_left() >= RESERVE_S and report.failed < MOST_FAILURES:
        places = _take_place(reporting, priority_at(left[0].notice, now), now, most)
        if not places:
            break
        batch = left if places == 1 else _first_of(left, places)
        if _sent(reporting, batch, now):
            report.sent += 1
        else:
            report.failed += 1
        left = [message for message in left if message not in batch]
    report.waiting = len(left)


def _asks(message: _Message) -> bool:
    """Whether it is a request for approval."""
    return message.notice.step is Step.AWAITING


def _first_of(left: Sequence[_Message], places: int) -> list[_Message]:
    """What goes into the next message: all requests for approval where they would take more than half
    of the places, so that later ones find one."""
    asking = [message for message in left if _asks(message)]
    together = _asks(left[0]) and 2 * len(asking) > places
    return asking if together else list(left[:1])


def _take_place(reporting: Reporting, priority: Priority, now: datetime, most: int) -> int:
    """How many places the rate had for a message, one of which is taken now."""

    def take(text: str) -> tuple[str, int]:
        rate_window, places = take_place(parse_rate_window(text), priority, now=now, most=most)
        return rate_window_to_text(rate_window), places

    return reporting.notes.amend(NOTE, take)


def _sent(reporting: Reporting, batch: Sequence[_Message], now: datetime) -> bool:
    """Whether one message about all of `batch` was sent; then nobody hears of it again."""
    try:
        if len(batch) == 1:
            decision = _decision(reporting, batch[0].notice, now)
            reporting.announcer.notify(NoticeDetail(notice=batch[0].notice, decision=decision))
        else:
            reporting.announcer.summarize([message.notice for message in batch])
    except NotSent:
        reporting.notes.amend(NOTE, lambda text: (_changed(text, give_place_back), None))
        return False
    except Exception:  # it may have been sent: its place stays taken
        return False
    reporting.outbox.notified([notice for message in batch for notice in message.covers])
    return True


def _messages(reporting: Reporting, now: datetime) -> list[_Message]:
    """A message for each notice; the ends of one set's changes together, once all have ended."""
    waiting = reporting.outbox.notices(BATCH_LIMIT)
    found: list[_Message] = []
    covered: set[str] = set()
    for notice in waiting:
        if not notice.ends_set:
            found.append(_Message(notice=notice, covers=(notice,)))
        elif notice.decision_id not in covered:
            for message in _of_set(reporting, notice, waiting, now):
                found.append(message)
                covered |= {each.decision_id for each in message.covers}
    return found


def _of_set(
    reporting: Reporting, notice: Notice, waiting: Sequence[Notice], now: datetime
) -> Iterator[_Message]:
    """The message about the end of all changes of a set; none while one of them is open."""
    decision = _decision(reporting, notice, now)
    if decision is None or decision.group is None:
        yield _Message(notice=notice, covers=(notice,))
        return
    changed = {m.decision_id: m.volume_id for m in decision.group.members if m.decision_id}
    mine = decision.observation.volume.ref
    if now - notice.at < WAIT_FOR_SET:
        for decision_id, volume_id in changed.items():
            ref = replace(mine, resource_id=volume_id)
            chain = reporting.state_store.resource_state(ref, now).open_chain
            if chain is not None and chain.decision_id == decision_id:
                return
    chains = ((changed[name], reporting.ledger.chain(name)) for name in changed)
    ends = [(name, chain[-1]) for name, chain in chains if chain and chain[-1].step in WORST]
    covers = tuple(n for n in waiting if n.ends_set and n.decision_id in changed)
    if not ends:  # nothing was changed after all
        reporting.outbox.notified(covers)
        return
    worst = min((record.step for _, record in ends), key=WORST.index)
    text = f"the set {decision.group.name}: {_by_summary(ends)}"
    yield _Message(notice=replace(notice, step=worst, text=text), covers=covers)


def _by_summary(ends: Sequence[tuple[str, Record]]) -> str:
    """What became of the volumes: those with the same end together."""
    return "; ".join(
        f"{', '.join(name for name, record in ends if record.summary == summary)}: {summary}"
        for summary in dict.fromkeys(record.summary for _, record in ends)
    )


def _decision(reporting: Reporting, notice: Notice, now: datetime) -> Decision | None:
    """The decision that the message describes; None where there is none or it cannot be read."""
    if not notice.about:
        return None
    with suppress(LookupError, ReadFailed):
        decision = reporting.ledger.decision(notice.about)
        if notice.step is not Step.AWAITING:
            return decision
        known = reporting.state_store.resource_state(decision.observation.volume.ref, now)
        return pending_decision(decision, known.approval_request)
    return None


def _lease(text: str, now: datetime) -> tuple[str, bool]:
    mine = lease_sending(parse_rate_window(text), now)
    return (text, False) if mine is None else (rate_window_to_text(mine), True)


def _changed(text: str, change: Callable[[RateWindow], RateWindow]) -> str:
    return rate_window_to_text(change(parse_rate_window(text)))
