"""Change Calendars are open, closed, or cannot be read: then they count as closed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from headroom.adapters import actions
from headroom.adapters.parameters import ManagerCalendars
from headroom.domain.state import CalendarState
from tests.builders import NOW, REGION

NAME = "company-closed-days"


@pytest.fixture
def stub() -> Iterator[tuple[ManagerCalendars, Stubber]]:
    client = boto3.client(
        "ssm", region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test"
    )
    with Stubber(client) as stubber:
        yield ManagerCalendars(client), stubber
        stubber.assert_no_pending_responses()


def answers(stubber: Stubber, at: str, **answer: str) -> None:
    stubber.add_response(
        "get_calendar_state", {"AtTime": at, **answer}, {"CalendarNames": [NAME], "AtTime": at}
    )


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        ({"State": "OPEN"}, {"open": True}),
        ({"State": "CLOSED", "NextTransitionTime": "2026-01-05T14:00:00Z"},
         {"open": False, "changes_at": NOW + timedelta(hours=2)}),
        ({"State": "CLOSED", "NextTransitionTime": "2026-01-05T15:00:00+01:00"},
         {"open": False, "changes_at": NOW + timedelta(hours=2)}),
        ({"State": "CLOSED", "NextTransitionTime": "one day"}, {"open": False}),
    ],
)  # fmt: skip
def test_a_calendar_says_whether_it_is_open_and_until_when(
    stub: tuple[ManagerCalendars, Stubber], answer: dict[str, str], seen: dict[str, Any]
) -> None:
    calendars, stubber = stub
    answers(stubber, "2026-01-05T12:00:00+00:00", **answer)
    assert calendars.seen([NAME], NOW) == (CalendarState(name=NAME, **seen),)


@pytest.mark.parametrize(
    "code", ["AccessDeniedException", "InvalidDocument", "ThrottlingException"]
)
def test_a_calendar_that_cannot_be_read_is_closed_and_says_why(
    stub: tuple[ManagerCalendars, Stubber], code: str
) -> None:
    calendars, stubber = stub
    stubber.add_client_error("get_calendar_state", code, "no")
    (seen,) = calendars.seen([NAME], NOW)
    assert not seen.open
    assert seen.problem is not None
    assert code in seen.problem
    assert NAME in seen.problem


def test_an_unknown_state_is_a_calendar_that_cannot_be_read(
    stub: tuple[ManagerCalendars, Stubber],
) -> None:
    calendars, stubber = stub
    answers(stubber, "2026-01-05T12:00:00+00:00", State="AJAR")
    (seen,) = calendars.seen([NAME], NOW)
    assert (seen.open, seen.problem is None) == (False, False)


def test_a_calendar_is_asked_once_a_minute_and_when_it_said_it_would_change(
    stub: tuple[ManagerCalendars, Stubber],
) -> None:
    calendars, stubber = stub
    answers(stubber, "2026-01-05T12:00:00+00:00", State="OPEN",
            NextTransitionTime="2026-01-05T12:00:30Z")  # fmt: skip
    answers(stubber, "2026-01-05T12:00:30+00:00", State="CLOSED")
    answers(stubber, "2026-01-05T12:01:30+00:00", State="OPEN")
    states = [
        calendars.seen([NAME], NOW + timedelta(seconds=later))[0].open
        for later in (0, 29, 30, 89, 90)
    ]
    assert states == [True, True, False, False, True]


def test_the_action_that_is_named_is_the_call_that_is_made() -> None:
    assert actions.CALENDAR_READ_ACTIONS == ("ssm:GetCalendarState",)
