"""What errors from below the command line mean to a person; imported once something went wrong."""

from __future__ import annotations

from botocore.exceptions import BotoCoreError, ClientError

from headroom.cli.terminal.problems import BadRequest, Problem
from headroom.domain.policy import PolicyError
from headroom.localaws.daemon import EndpointFailed
from headroom.proving.inputs import BadInput


def complaint(raised: Exception) -> Problem | None:
    """The problem to tell a person about; None when it is a fault of Headroom's own."""
    if isinstance(raised, BadInput | PolicyError):
        return BadRequest(str(raised))
    if isinstance(raised, EndpointFailed):
        return Problem(str(raised))
    if isinstance(raised, ClientError | BotoCoreError):
        return Problem(f"AWS did not answer as hoped: {raised}")
    return None
