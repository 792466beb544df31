"""What people request: approve, reject, roll back, and list what waits for approval."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from botocore.exceptions import BotoCoreError, ClientError

from headroom.adapters.ledger.archive import Archive
from headroom.adapters.ledger.items import ref_of, unwire
from headroom.adapters.ledger.reads import days, usable
from headroom.adapters.tables import BY_OUTCOME, RECORDS
from headroom.domain.decision import (
    Act,
    Decision,
    InvalidAnswer,
    after_answer,
    answered_request,
    pending_decision,
    request_rollback,
)
from headroom.domain.ledger import (
    admission,
    after_step,
    answer_summary,
    next_record,
    rollback_request_record,
    why_not_releasable,
)
from headroom.domain.planning import Plan
from headroom.domain.state import LONGEST_REQUEST, ApprovalRequest, Record, Step
from headroom.ports import AnswerRejected, ReadFailed, UnreadableRequest
from headroom.serialization import body_to_json

UNKNOWN = AnswerRejected(why="unknown", detail="there is no such decision")


class RequestLedger(Archive):
    """Each request is one transaction with the state of its resource."""

    def answer(
        self, decision_id: str, step: Step, *, at: datetime, who: str, reason: str = ""
    ) -> Record | AnswerRejected:
        """Record APPROVED or REJECTED for a request that waits, or for what replaced it, or say why not."""
        body = body_to_json({"who": who, "reason": reason})
        retries = self._transactions.retries(f"the state of {decision_id}")
        while True:
            last = self._records.last(decision_id)
            if last is None or not last.resource.startswith("arn:"):
                return UNKNOWN
            ref = ref_of(last.resource)
            held = self._state.held(ref)
            name = answered_request(held.state, decision_id, self._withdrawn(last))
            if name != decision_id:
                decision_id = name
                continue
            moved = after_answer(held.state, decision_id, step, last=last.step, at=at, who=who)
            if isinstance(moved, InvalidAnswer):
                detail = moved.detail
                if last.step is Step.WITHDRAWN:
                    detail = f"it waits for nobody: it was {last.summary}"
                return AnswerRejected(why=moved.why, detail=detail)
            summary = answer_summary(step, who, reason)
            record = next_record(last, step, at=at, summary=summary, body=body)
            token = self._new_id()
            if self._write(record, token, [self._state.put(ref, held, moved, token)]) is None:
                return record
            next(retries)

    def _withdrawn(self, last: Record) -> Plan | None:
        """What the chain that this record ends requested, if it was withdrawn and can be read."""
        if last.step is Step.WITHDRAWN:
            with suppress(ReadFailed, LookupError):
                answer = self._decision(last.decision_id).answer
                return answer.plan if isinstance(answer, Act) else None
        return None

    def request_rollback(
        self, decision_id: str, *, at: datetime, who: str, reason: str = ""
    ) -> Record | AnswerRejected:
        """Record a request to roll back the change of a chain, or say why it is refused."""
        retries = self._transactions.retries(f"the state of {decision_id}")
        while True:
            chain = self._records.chain(decision_id)
            if not chain or not chain[0].resource.startswith("arn:"):
                return UNKNOWN
            ref = ref_of(chain[0].resource)
            held = self._state.held(ref)
            steps = [usable(record).step for record in chain]
            moved = request_rollback(held.state, decision_id, steps, at=at, who=who, reason=reason)
            if isinstance(moved, InvalidAnswer):
                return AnswerRejected(why=moved.why, detail=moved.detail)
            record = rollback_request_record(ref.arn, moved.wish, body=body_to_json(moved.wish))
            token = self._new_id()
            if self._write(record, token, [self._state.put(ref, held, moved.state, token)]) is None:
                return record
            next(retries)

    def release(
        self, decision_id: str, *, at: datetime, who: str, reason: str = ""
    ) -> Record | AnswerRejected:
        """End an open chain by hand, whatever is understood of it, or say why not."""
        body = body_to_json({"who": who, "reason": reason})
        retries = self._transactions.retries(f"the state of {decision_id}")
        while True:
            chain = self._records.chain(decision_id)
            if not chain or not chain[-1].resource.startswith("arn:"):
                return UNKNOWN
            last, ref = chain[-1], ref_of(chain[-1].resource)
            seen = self._state.snapshot(ref)
            problem = why_not_releasable(seen.held.state, decision_id, at)
            if problem is not None:
                return AnswerRejected(why="not_open", detail=problem)
            step = Step.RELEASED
            moved = after_step(seen.held.state, decision_id, step, at=at, body={}, due_at=at)
            record = next_record(
                last, step, at=at, summary=answer_summary(step, who, reason), body=body
            )
            token = self._new_id()
            before = seen.concurrency.concurrency
            after = admission.after_step(before, decision_id, step, at=at, body={})
            parts = self._moves(ref, seen.held, moved, token)
            parts += self._concurrency.moves(seen.concurrency, after, token)
            if self._write(record, token, parts) is None:
                return record
            next(retries)

    def waiting(self, now: datetime) -> tuple[Decision | UnreadableRequest, ...]:
        """Decisions that wait for a person at `now`, the first to expire first; what cannot be read says why.

        Found through an eventually consistent index; the resource's state says whether one still waits.
        """
        since, index = now - LONGEST_REQUEST, RECORDS.index(BY_OUTCOME)
        resources = {
            unwire(item["decision_id"]): unwire(item["resource"])
            for day in days(since, now)
            for item in self._records.entries(index, f"{Step.AWAITING.value}#{day}", since, now)
        }
        found: list[tuple[datetime, Decision | UnreadableRequest]] = []
        for decision_id, resource in resources.items():
            asked = self._state.held(ref_of(resource)).state.approval_request
            if asked is None or asked.decision_id != decision_id or asked.approved_at is not None:
                continue
            if now < asked.expires:
                found.append((asked.expires, self._requested(asked, resource)))
        return tuple(one for _, one in sorted(found, key=lambda one: one[0]))

    def _requested(self, asked: ApprovalRequest, resource: str) -> Decision | UnreadableRequest:
        try:
            decision = self._decision(asked.decision_id)
        except (ReadFailed, LookupError) as problem:
            if isinstance(problem.__cause__, (ClientError, BotoCoreError)):
                raise  # AWS did not answer: nothing is known of any
            return UnreadableRequest(
                decision_id=asked.decision_id, resource=resource, expires=asked.expires,
                problem=str(problem),
            )  # fmt: skip
        return pending_decision(decision, asked)
