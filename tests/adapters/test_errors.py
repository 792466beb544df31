"""What a failed call means: certain refusals are distinguished from what nobody knows."""

from __future__ import annotations

from datetime import datetime

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ParamValidationError,
    ReadTimeoutError,
)
from botocore.parsers import ResponseParserError
from hypothesis import given
from hypothesis import strategies as st

from headroom.adapters.errors import instant_in, reading, refusal_of, writing
from headroom.domain.state import Refusal, Refused, Unknown
from headroom.ports import ReadFailed, WriteFailed


def answered(code: str, status: int = 400, message: str = "said AWS") -> ClientError:
    return ClientError(
        {
            "Error": {"Code": code, "Message": message},
            "ResponseMetadata": {"HTTPStatusCode": status},  # type: ignore[typeddict-item]
        },
        "ModifyVolume",
    )


@pytest.mark.parametrize(
    ("code", "refusal"),
    [
        ("VolumeModificationRateExceeded", Refusal.SLOTS),
        ("IncorrectModificationState", Refusal.IN_FLIGHT),
        ("VolumeModificationSizeLimitExceeded", Refusal.REGION_QUOTA),
        ("MaxIOPSLimitExceeded", Refusal.REGION_QUOTA),
        ("VolumeLimitExceeded", Refusal.REGION_QUOTA),
        ("VolumeIOPSLimit", Refusal.INVALID),
        ("InvalidParameterValue", Refusal.INVALID),
        ("InvalidParameterCombination", Refusal.INVALID),
        ("InvalidVolume.NotFound", Refusal.GONE),
        ("UnsupportedOperation", Refusal.UNSUPPORTED),
        ("UnauthorizedOperation", Refusal.DENIED),
        ("RequestLimitExceeded", Refusal.THROTTLED),
        ("Throttling", Refusal.THROTTLED),
        ("NeverHeardOf", Refusal.OTHER),
    ],
)
def test_a_client_error_is_a_refusal_that_keeps_awss_words(code: str, refusal: Refusal) -> None:
    outcome = refusal_of(answered(code))
    assert outcome == Refused(refusal=refusal, code=code, message="said AWS", retry_at=None)


@pytest.mark.parametrize("code", ["RequestLimitExceeded", "Throttling"])
def test_throttling_is_a_refusal_even_as_a_server_error(code: str) -> None:
    outcome = refusal_of(answered(code, 503))
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.THROTTLED


def test_a_dry_run_that_would_have_worked_changed_nothing() -> None:
    assert isinstance(refusal_of(answered("DryRunOperation", 412)), Refused)


@pytest.mark.parametrize(
    "error",
    [
        answered("InternalError", 500),
        answered("Unavailable", 503),
        answered("ServiceUnavailable", 503),
        answered("UnsupportedOperation", 500),
        answered("", 0),
        ReadTimeoutError(endpoint_url="https://ec2"),
        ConnectTimeoutError(endpoint_url="https://ec2"),
        EndpointConnectionError(endpoint_url="https://ec2"),
        ResponseParserError("half an answer"),
        OSError("broken pipe"),
    ],
)
def test_a_time_out_a_broken_line_or_a_server_error_is_unknown(error: BaseException) -> None:
    assert isinstance(refusal_of(error), Unknown)


def test_a_request_found_wrong_before_it_left_is_our_mistake() -> None:
    outcome = refusal_of(ParamValidationError(report="Iops is a text"))
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.INVALID


@pytest.mark.parametrize(
    ("message", "clock"),
    [
        ("Wait until 2026-01-06T03:04:05Z before the next.", "03:04:05"),
        ("next modification: 2026-01-06T03:04:05.678Z", "03:04:05"),
        ("after 2026-01-06 03:04:05 UTC", "03:04:05"),
        ("after 2026-01-06 03:04", "03:04:00"),
        ("at 2026-01-06T05:04:05+02:00", "03:04:05"),
        ("at 2026-01-06T05:04:05+0200 (local)", "03:04:05"),
        ("the 4 since 2026-01-05T03:00:00Z; next 2026-01-06T03:00:00Z", "03:00:00"),
    ],
)
def test_the_instant_in_a_refusal_is_read_in_any_usual_writing(message: str, clock: str) -> None:
    outcome = refusal_of(answered("VolumeModificationRateExceeded", message=message))
    assert isinstance(outcome, Refused)
    assert outcome.retry_at == datetime.fromisoformat(f"2026-01-06T{clock}+00:00")


@pytest.mark.parametrize(
    "message", ["", "Wait at least 6 hours.", "2026-13-45T99:99:99Z", "2026-01-06", "vol-20260106"]
)
def test_no_instant_is_no_error(message: str) -> None:
    assert instant_in(message) is None


@given(st.text() | st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(Z|[+-]\d{4})?"))
def test_no_message_makes_it_raise(message: str) -> None:
    found = instant_in(message)
    assert found is None or found.tzinfo is not None


@pytest.mark.parametrize(
    "error",
    [answered("Boom", 500), ReadTimeoutError(endpoint_url="x"), KeyError("Volumes"), ValueError()],
)
def test_every_failure_of_a_read_says_what_was_read(error: Exception) -> None:
    with pytest.raises(ReadFailed, match="DescribeVolumes vol-1"), reading("DescribeVolumes vol-1"):
        raise error


def test_a_failed_write_is_told_from_a_failed_read_and_names_the_call() -> None:
    with pytest.raises(WriteFailed, match="PutItem: AccessDenied: said AWS"), writing("PutItem"):
        raise answered("AccessDenied")
    with pytest.raises(ReadFailed) as failed, reading("GetItem"):
        raise answered("AccessDenied")
    assert not isinstance(failed.value, WriteFailed)
