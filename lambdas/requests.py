"""Takes people's requests: approve, reject, roll back, release, pause, resume, close a breaker.

People of a hub may approve, reject, pause, resume and publish a policy, where the owner lets them.

It records them with the caller whom STS names and the time of its own clock. Nothing that a request
says about its caller counts.
"""

from __future__ import annotations

import gc
from dataclasses import asdict
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from headroom import clock
from headroom.account import ReceivedPolicy, account_of
from headroom.adapters.callers import NotProven
from headroom.ports import ReadFailed
from headroom.requests import (
    Answer,
    Caller,
    InvalidRequest,
    Status,
    execute_request_for,
    parse_request,
)

logger = Logger()
gc.freeze()


@logger.inject_lambda_context
def handler(event: Any, context: LambdaContext) -> dict[str, str]:
    """Record one request, `{"request": text, "proof": {...}}`; the answer has a status and a detail."""
    account = account_of(context.invoked_function_arn)
    given = event if isinstance(event, dict) else {}
    text, proof = given.get("request"), given.get("proof")
    try:
        if not isinstance(text, str):
            raise InvalidRequest("The request is no text.")
        request = parse_request(
            text, state_table=account.settings.state_table, account_id=account.account_id,
            region=account.region, prefix=account.settings.service,
        )  # fmt: skip
        who = account.caller_of(text, proof)
    except (InvalidRequest, NotProven) as problem:
        logger.warning("request refused", reason=str(problem))
        return asdict(Answer(status=Status.REFUSED, detail=str(problem)))
    try:
        answer = execute_request_for(
            Caller(who=who, at=clock.utc_now()), account.ledger, request,
            account_id=account.account_id, roles=account.hub_roles,
            publication=ReceivedPolicy(
                account=account, text=given.get("policy"), sha256=request.sha256, who=who
            ),
        )  # fmt: skip
    except ReadFailed as problem:
        logger.exception("a request failed or its result is unknown")
        return {"status": "failed", "detail": str(problem)}
    logger.info("request", verb=request.verb, who=who, status=answer.status, detail=answer.detail)
    return asdict(answer)
