"""`headroom hub approve`, `reject`, `pause`, `resume` and `publish`.

Every deployment decides by itself whose requests it takes, and records who asked.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

import typer

from headroom.cli.commands.pause import span_of
from headroom.cli.commands.requests import DecisionArgument
from headroom.cli.hub.spokes import (
    Hub,
    HubOptions,
    SpokeOption,
    SpokeOptions,
    SpokesOption,
    ask_each,
    spoke_of,
    spokes_of,
)
from headroom.cli.sources.deployment import normalized_reason
from headroom.cli.sources.options import JsonOption, ReasonOption
from headroom.policy import canonical_json, first_problem, load_policy_file
from headroom.requests import Verb


def approve(
    decision: DecisionArgument,
    spoke: SpokeOption,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
    *,
    how: HubOptions,
) -> int:
    """Approve a change in another account, as `headroom approve` does there."""
    return _answer(Verb.APPROVE, decision, spoke, reason, as_json, how)


def reject(
    decision: DecisionArgument,
    spoke: SpokeOption,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
    *,
    how: HubOptions,
) -> int:
    """Reject a change in another account, as `headroom reject` does there."""
    return _answer(Verb.REJECT, decision, spoke, reason, as_json, how)


def pause(
    spoke: SpokeOptions = None,
    spokes: SpokesOption = None,
    duration: Annotated[
        str | None,
        typer.Option("--for", help="How long (30m, 2h, 7d). Default: until `headroom hub resume`."),
    ] = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
    *,
    how: HubOptions,
) -> int:
    """Stop all changes in other accounts. A longer pause by an account's own people stays.

    Exit code 1 if any deployment refused or did not answer. In the second case, run it again.
    """
    seconds = None if duration is None else int(span_of(duration).total_seconds())
    wanted = spokes_of(spoke, spokes)
    why = normalized_reason(reason)
    return ask_each(Hub(how, wanted), Verb.PAUSE, why, as_json=as_json, seconds=seconds)


def resume(
    spoke: SpokeOptions = None,
    spokes: SpokesOption = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
    *,
    how: HubOptions,
) -> int:
    """End the hub's pauses in other accounts. Pauses by their own people and circuit breakers stay."""
    wanted = spokes_of(spoke, spokes)
    return ask_each(Hub(how, wanted), Verb.RESUME, normalized_reason(reason), as_json=as_json)


def publish(
    file: Annotated[Path, typer.Argument(help="Policy file.")],
    spoke: SpokeOptions = None,
    spokes: SpokesOption = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
    *,
    how: HubOptions,
) -> int:
    """Publish a policy to other accounts. Each refuses a policy that exceeds its hard caps.

    A deployment that refuses keeps its current policy and records the reason.
    """
    policy = load_policy_file(file)
    first_problem(policy, source=str(file))
    text = canonical_json(policy)
    wanted = spokes_of(spoke, spokes)
    return ask_each(
        Hub(how, wanted), Verb.PUBLISH_POLICY, normalized_reason(reason), as_json=as_json,
        policy=text, sha256=hashlib.sha256(text.encode()).hexdigest(),
    )  # fmt: skip


def _answer(
    verb: Verb, decision: str, spoke: str, reason: str, as_json: bool, how: HubOptions
) -> int:
    return ask_each(
        Hub(how, [spoke_of(spoke)]), verb, normalized_reason(reason), as_json=as_json,
        decision_id=decision,
    )  # fmt: skip
