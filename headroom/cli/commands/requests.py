"""`headroom approvals`, `approve`, `reject` and `rollback`: requests to people, and by people.

A deployed function records them with who asked and a due time. Within a minute another one checks the
guardrails; only that one changes storage.
"""

from __future__ import annotations

from typing import Annotated

import typer

from headroom.cli.sources.deployment import Deployment, deployment, normalized_reason, reading
from headroom.cli.sources.options import DeploymentOptions, JsonOption, ReasonOption
from headroom.cli.sources.storage import read_storage
from headroom.cli.terminal.names import short
from headroom.cli.terminal.output import emit, err, money, out, say, table, utc
from headroom.cli.terminal.problems import FAILED, OK, BadRequest
from headroom.domain.catalog.ebs import MAX_MODIFICATIONS
from headroom.domain.decision import Act, Decision, reversal
from headroom.domain.planning import Plan
from headroom.domain.resources import Configuration, PriceUnknown
from headroom.domain.state import ROLLBACK_TTL, WINDOW
from headroom.ports import ReadFailed, ResourceGone, UnreadableRequest
from headroom.requests import Status, Verb

DecisionArgument = Annotated[
    str, typer.Argument(metavar="DECISION", help="The decision's id, from the message.")
]


def approve(
    decision: DecisionArgument,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
    *,
    where: DeploymentOptions,
) -> int:
    """Approve a change; the guardrails check it again within a minute before it is made.

    The approval covers exactly this change at no higher price, and only until the request expires.
    """
    here = deployment(where)
    return _answer(here, decision, Verb.APPROVE, reason, as_json)


def reject(
    decision: DecisionArgument,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
    *,
    where: DeploymentOptions,
) -> int:
    """Reject a change; Headroom does not request a similar one for at least 24 hours.

    It also takes back an approval, until the change is intended.
    """
    here = deployment(where)
    return _answer(here, decision, Verb.REJECT, reason, as_json)


def approvals(as_json: JsonOption = False, *, where: DeploymentOptions) -> int:
    """List the changes that wait for approval, in order of expiry.

    Exit code 1 if the decision of one cannot be read.
    """
    here = deployment(where)
    with reading("The requests"):
        found = here.ledger.waiting(here.account.now)
    waiting = [each for each in found if isinstance(each, Decision)]
    unreadable = [each for each in found if isinstance(each, UnreadableRequest)]
    if as_json:
        emit([_as_object(each) for each in waiting])
    elif not found:
        say(f"Nothing waits for approval in {here.place}.")
    elif waiting:
        rows = [_row(each) for each in waiting]
        title = f"Waiting for approval in {here.place}"
        columns = ("Expires", "What", "Change", "A month", "Why", "Decision")
        out().print(table(title, columns, rows, lines=True))
        say("Answer with `headroom approve DECISION` or `headroom reject DECISION`.")
    for each in unreadable:
        say(
            f"The request for {short(each.resource)} that expires {utc(each.expires)} cannot be read: "
            f"{each.problem.rstrip('.')}. `headroom reject {each.decision_id}` ends it; if a newer release "
            "wrote it, upgrade this one and list again.",
            err(),
        )  # fmt: skip
    return FAILED if unreadable else OK


def rollback(
    decision: DecisionArgument,
    reason: ReasonOption = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be restored.")
    ] = False,
    as_json: JsonOption = False,
    *,
    where: DeploymentOptions,
) -> int:
    """Request a rollback of a change: IOPS, throughput and type as before; the size stays.

    It costs one of AWS's four changes in 24 hours. The guardrails check it within a minute. A
    rollback that is blocked temporarily waits up to 24 hours.
    """
    text = normalized_reason(reason)
    here = deployment(where)
    preview = _preview(here, decision)
    if not as_json:
        say(preview.sentence)
    if not dry_run:
        asked = here.ask(Verb.ROLLBACK, text, decision_id=decision)
        if asked.status is Status.REFUSED:
            raise BadRequest(f"{decision} cannot be rolled back: {asked.detail.rstrip('.')}.")
    if as_json:
        emit({"decision_id": decision, "asked": not dry_run, **preview.as_object})
    elif not dry_run:
        say(
            "Requested: the guardrails check it within a minute. If it is blocked temporarily, it waits up "
            f"to {ROLLBACK_TTL.total_seconds() / 3600:.0f} hours."
        )
    return OK


ANSWERS = {Verb.APPROVE: "approved", Verb.REJECT: "rejected"}


def _answer(here: Deployment, decision_id: str, verb: Verb, reason: str, as_json: bool) -> int:
    got = here.ask(verb, normalized_reason(reason), decision_id=decision_id)
    if got.status is Status.REFUSED:
        raise BadRequest(f"{decision_id} cannot be {ANSWERS[verb]}: {got.detail.rstrip('.')}.")
    news = got.status is Status.DONE
    if as_json:
        emit({"decision_id": decision_id, "answer": ANSWERS[verb], "news": news})
    elif not news:
        say(f"Nothing to do: {got.detail}.")
    elif verb is Verb.APPROVE:
        say(
            f"Approved: {decision_id} is checked again within a minute, and made if it still passes."
        )
    else:
        say(
            f"Rejected: {decision_id} is not made, and no similar change is requested for at least 24 hours."
        )
    return OK


class _RollbackPreview:
    """What a rollback would restore, before the function checks the guardrails."""

    def __init__(
        self, name: str, current: Configuration, back: Configuration, usd: str | None, slots: int
    ) -> None:
        self._name, self._current, self._back = name, current, back
        self._usd, self._slots = usd, slots

    @property
    def sentence(self) -> str:
        price = "its price is not known here" if self._usd is None else f"{self._usd} a month"
        return (
            f"{self._name}: {self._current} -> {self._back}, {price}. It costs one of AWS's "
            f"{MAX_MODIFICATIONS} changes in 24 hours, of which {self._slots} are known to be "
            "left; the size stays."
        )

    @property
    def as_object(self) -> dict[str, object]:
        return {
            "volume": self._name, "from": str(self._current), "to": str(self._back),
            "price_change_usd_per_month": self._usd, "slots_left": self._slots,
        }  # fmt: skip


def _preview(here: Deployment, decision_id: str) -> _RollbackPreview:
    """The volume now and after the rollback; raises BadRequest where nothing can be restored."""
    try:
        with reading("The decision"):
            decision = here.ledger.decision(decision_id)
    except LookupError:
        raise BadRequest(f"There is no decision {decision_id} in {here.place}.") from None
    ref, change = decision.observation.volume.ref, _change(decision)
    if change is None:
        raise BadRequest(f"{decision_id} cannot be rolled back: the decision was not to act.")
    try:
        with reading(short(ref.arn)):
            current = read_storage(here.account, ref).volume.configuration
            known = here.ledger.resource_state(ref, here.account.now).modifications
    except ResourceGone:
        raise BadRequest(
            f"{decision_id} cannot be rolled back: {short(ref.arn)} no longer exists."
        ) from None
    back = reversal(change, current, ref.noun)
    if isinstance(back, str):
        raise BadRequest(f"{decision_id} cannot be rolled back: {back}.")
    used = sum(m.started_at > here.account.now - WINDOW for m in known)
    left = max(0, MAX_MODIFICATIONS - used)
    return _RollbackPreview(short(ref.arn), current, back, _price(here, current, back), left)


def _change(decision: Decision) -> Plan | None:
    return decision.answer.plan if isinstance(decision.answer, Act) else None


def _price(here: Deployment, current: Configuration, back: Configuration) -> str | None:
    try:
        prices = here.account.prices.table(here.account.region)
        return money(prices.monthly(back) - prices.monthly(current), signed=True)
    except (PriceUnknown, ReadFailed):
        return None


def _row(decision: Decision) -> tuple[str, ...]:
    plan, answer = _change(decision), decision.answer
    if plan is None or not isinstance(answer, Act) or answer.expires is None:
        return ("", "", "", "", "", decision.decision_id)
    volume = decision.observation.volume
    name = volume.tag("Name")
    return (
        utc(answer.expires), short(volume.ref.arn) + (f" ({name})" if name else ""),
        f"{plan.origin} -> {plan.target}", money(plan.price_change_usd, signed=True),
        answer.approval or "", decision.decision_id,
    )  # fmt: skip


def _as_object(decision: Decision) -> dict[str, object]:
    answer = decision.answer
    if not isinstance(answer, Act) or answer.expires is None:
        return {"decision_id": decision.decision_id}
    plan = answer.plan
    return {
        "decision_id": decision.decision_id,
        "resource": decision.observation.volume.ref.arn,
        "requested_at": decision.at,
        "expires": answer.expires,
        "why": answer.approval,
        "from": str(plan.origin),
        "to": str(plan.target),
        "price_change_usd_per_month": str(plan.price_change_usd),
        "summary": decision.summary,
    }
