"""Approvals and rollback requests in the in-memory ledger."""

from __future__ import annotations

from datetime import datetime

from headroom.domain.decision import Act, Decision, InvalidAnswer, after_answer, request_rollback
from headroom.domain.ledger import answer_summary, rollback_request_record
from headroom.domain.state import Record, Step
from headroom.ports import AnswerRejected
from headroom.proving.memory.chains import Chain, InMemoryChains
from headroom.serialization import stored, to_json

UNKNOWN = AnswerRejected(why="unknown", detail="there is no such decision")


class InMemoryRequests(InMemoryChains):
    """The Requests port in memory."""

    def answer(
        self, decision_id: str, step: Step, *, at: datetime, who: str, reason: str = ""
    ) -> Record | AnswerRejected:
        """Record APPROVED or REJECTED for a request that waits, or say why not."""
        with self._lock:
            chain = self._chains.get(decision_id)
            if chain is None or chain.decision is None:
                return UNKNOWN
            ref, last = chain.decision.observation.volume.ref, chain.steps[-1]
            moved = after_answer(self._state(ref), decision_id, step, last=last, at=at, who=who)
            if isinstance(moved, InvalidAnswer):
                return AnswerRejected(why=moved.why, detail=moved.detail)
            self._move(ref, moved)
            body = to_json({"who": who, "reason": reason})
            self._follow(decision_id, step, at, answer_summary(step, who, reason), body)
            return chain.written()[-1]

    def request_rollback(
        self, decision_id: str, *, at: datetime, who: str, reason: str = ""
    ) -> Record | AnswerRejected:
        """Record a request to roll back the change of a chain, or say why it is rejected."""
        with self._lock:
            chain = self._chains.get(decision_id)
            if chain is None or chain.decision is None:
                return UNKNOWN
            ref = chain.decision.observation.volume.ref
            moved = request_rollback(
                self._state(ref), decision_id, chain.steps, at=at, who=who, reason=reason
            )
            if isinstance(moved, InvalidAnswer):
                return AnswerRejected(why=moved.why, detail=moved.detail)
            self._move(ref, moved.state)
            record = rollback_request_record(ref.arn, moved.wish, body=to_json(moved.wish))
            self._single(record)
            return record

    def waiting(self, now: datetime) -> tuple[Decision, ...]:
        """Decisions that wait for approval at `now`, the first to expire first."""
        with self._lock:
            found = [
                (expires, stored(chain.decision))
                for chain in self._chains.values()
                if chain.decision is not None
                and chain.steps[-1] is Step.AWAITING
                and (expires := _expires(chain)) is not None
                and now < expires
            ]
            return tuple(decision for _, decision in sorted(found, key=lambda one: one[0]))


def _expires(chain: Chain) -> datetime | None:
    decision = chain.decision
    answer = None if decision is None else decision.answer
    return answer.expires if isinstance(answer, Act) else None
