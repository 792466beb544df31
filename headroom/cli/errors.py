"""Turns errors from the layers below into one sentence; imported only after an error."""

from __future__ import annotations

from errno import EDQUOT, EFBIG, EIO, ENOSPC

from botocore.exceptions import BotoCoreError, ClientError

from headroom.cli.terminal.problems import BadRequest, Problem
from headroom.domain.policy import PolicyError
from headroom.localaws.daemon import EndpointFailed
from headroom.proving.inputs import BadInput

UNWRITABLE = frozenset({EDQUOT, EFBIG, EIO, ENOSPC})
"""Errors of a stream that cannot be written; one without a file is the output."""


def complaint(raised: Exception) -> Problem | None:
    """The problem to report; None for a defect of Headroom itself."""
    if isinstance(raised, BadInput | PolicyError):
        return BadRequest(str(raised))
    if isinstance(raised, EndpointFailed):
        return Problem(str(raised))
    if isinstance(raised, ClientError | BotoCoreError):
        return Problem(f"AWS returned an error: {raised}")
    if isinstance(raised, OSError) and raised.filename and raised.strerror:
        return BadRequest(f"{raised.filename} cannot be used: {raised.strerror}.")
    if isinstance(raised, OSError) and raised.errno in UNWRITABLE:
        return Problem(f"The output could not be written: {raised.strerror}.")
    return None
