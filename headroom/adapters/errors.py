"""What a failed AWS call means: its code, and whether it may have taken effect."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError
from botocore.parsers import ResponseParserError

from headroom.domain.state import Refusal, Refused, Unknown
from headroom.ports import ReadFailed, WriteFailed

REFUSALS = {
    "VolumeModificationRateExceeded": Refusal.SLOTS,
    "IncorrectModificationState": Refusal.IN_FLIGHT,
    "IncorrectState": Refusal.IN_FLIGHT,
    "VolumeModificationSizeLimitExceeded": Refusal.REGION_QUOTA,
    "MaxIOPSLimitExceeded": Refusal.REGION_QUOTA,
    "VolumeLimitExceeded": Refusal.REGION_QUOTA,
    "VolumeIOPSLimit": Refusal.INVALID,
    "InvalidParameterValue": Refusal.INVALID,
    "InvalidParameterCombination": Refusal.INVALID,
    "InvalidParameter": Refusal.INVALID,
    "MissingParameter": Refusal.INVALID,
    "InvalidParameterDependency": Refusal.INVALID,
    "InvalidVolume.NotFound": Refusal.GONE,
    "InvalidVolumeID.Malformed": Refusal.INVALID,
    "UnsupportedOperation": Refusal.UNSUPPORTED,
    "OperationNotPermitted": Refusal.UNSUPPORTED,
    "UnauthorizedOperation": Refusal.DENIED,
    "AuthFailure": Refusal.DENIED,
    "AccessDenied": Refusal.DENIED,
    "AccessDeniedException": Refusal.DENIED,
    "ExpiredToken": Refusal.DENIED,
    "RequestExpired": Refusal.DENIED,
    "InvalidClientTokenId": Refusal.DENIED,
    "OptInRequired": Refusal.DENIED,
    "RequestLimitExceeded": Refusal.THROTTLED,
    "Throttling": Refusal.THROTTLED,
    "ThrottlingException": Refusal.THROTTLED,
    "DryRunOperation": Refusal.OTHER,
}
"""Error codes of ModifyVolume by what they mean for us.

Source: EC2 API error codes (2026-04), `VolumeModificationRateExceeded` from reports in the field
(it is not in the official list). DryRunOperation means that the call would have been allowed and
that nothing was changed.
"""

THROTTLES = tuple(code for code, what in REFUSALS.items() if what is Refusal.THROTTLED)

_INSTANT = re.compile(
    r"\b(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}(?::\d{2})?)(?:[.,]\d+)?\s*(Z|z|UTC|GMT|[+-]\d{2}:?\d{2})?"
)


def code_of(error: ClientError) -> str:
    """The error code AWS gave, or an empty text when it gave none."""
    return str(error.response.get("Error", {}).get("Code", ""))


def message_of(error: ClientError) -> str:
    """AWS's own words, or the whole exception's when it gave none."""
    return str(error.response.get("Error", {}).get("Message", "") or error)


def instant_in(message: str) -> datetime | None:
    """The latest ISO-like instant `message` names, None if there is none; no zone means UTC.

    AWS says when the next modification is allowed, in words that are not documented; so any
    instant counts, and none at all is no error.
    """
    found = []
    for day, clock, zone in _INSTANT.findall(message):
        offset = "+00:00" if zone.upper() in ("", "Z", "UTC", "GMT") else zone
        try:
            found.append(datetime.fromisoformat(f"{day}T{clock}{offset}").astimezone(UTC))
        except (ValueError, OverflowError):
            continue
    return max(found, default=None)


def refusal_of(error: BaseException) -> Refused | Unknown:
    """What a failed ModifyVolume call means.

    Refused only when AWS certainly did nothing: it answered with a 4xx status, or the request
    was found wrong before it left. A server error, a time-out or a broken connection is Unknown.
    """
    if isinstance(error, ParamValidationError):
        return _refused(Refusal.INVALID, "ParamValidation", str(error))
    if not isinstance(error, ClientError):
        return Unknown(detail=f"{type(error).__name__}: {error}")
    code, message = code_of(error), message_of(error)
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) or 0)
    refusal = REFUSALS.get(code)
    if refusal is not None and (status < 500 or refusal is Refusal.THROTTLED):
        return _refused(refusal, code, message)
    if 400 <= status < 500:
        return _refused(Refusal.OTHER, code, message)
    return Unknown(detail=f"{code or 'no error code'} (HTTP {status}): {message}")


def _refused(refusal: Refusal, code: str, message: str) -> Refused:
    return Refused(refusal=refusal, code=code, message=message, retry_at=instant_in(message))


@dataclass(frozen=True, slots=True)
class reading:
    """Turns every failure of a read into ReadFailed that says what was being read.

    A class, because a generator takes three times as long and every read of the ledger is one.
    """

    what: str
    failure: ClassVar[type[ReadFailed]] = ReadFailed

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ClientError):
            raise self.failure(f"{self.what}: {code_of(error)}: {message_of(error)}") from error
        # the last three: an answer that lacks what AWS documents it to have
        if isinstance(error, (BotoCoreError, ResponseParserError, KeyError, ValueError, TypeError)):
            raise self.failure(f"{self.what}: {type(error).__name__}: {error}") from error


class writing(reading):
    """Turns every failure of a write into WriteFailed that says what was being written."""

    __slots__ = ()
    failure = WriteFailed
