"""`headroom release`: end an open change by hand, on record."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from headroom.cli.sources.deployment import Deployment, deployment, normalized_reason, reading
from headroom.cli.sources.options import DeploymentOptions, JsonOption, ReasonOption
from headroom.cli.terminal.names import named
from headroom.cli.terminal.output import emit, say
from headroom.cli.terminal.problems import OK, BadRequest
from headroom.requests import Status, Verb


def release(
    change: Annotated[
        str,
        typer.Argument(
            metavar="DECISION|RESOURCE", help="The decision's id, or a volume or database."
        ),
    ],
    reason: ReasonOption = "",
    as_json: JsonOption = False,
    *,
    where: DeploymentOptions,
) -> int:
    """End an open change that cannot be read or verified any more, so that its resource is free.

    Nothing is changed in storage. Its reservation ends, and what it may have added counts as in force.
    """
    text = normalized_reason(reason)
    here = deployment(where)
    decision_id = _decision_id(here, change)
    asked = here.ask(Verb.RELEASE, text, decision_id=decision_id)
    if asked.status is Status.REFUSED:
        raise BadRequest(f"{decision_id} cannot be released: {asked.detail.rstrip('.')}.")
    if as_json:
        emit({"decision_id": decision_id, "released": True})
    else:
        say(
            f"Released: the change of {decision_id} has ended on record. Its resource is reconciled now."
        )
    return OK


def _decision_id(here: Deployment, change: str) -> str:
    """The decision of the open change that the argument names."""
    with reading(change):
        if here.ledger.chain(change):
            return change
    if re.fullmatch(r"[0-9a-f]{8,}", change):
        raise BadRequest(f"No decision {change} is on record here.")
    ref = named(change, account_id=here.account.account_id, region=here.account.region)
    with reading(change):
        chain = here.ledger.resource_state(ref, here.account.now).open_chain
    if chain is None:
        raise BadRequest(f"{change} has no open change.")
    return chain.decision_id
