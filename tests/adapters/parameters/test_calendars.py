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
        ({"State": "CLOSED", "NextTransitionTime": "2026-01-25T14:00:00Z"},
         {"open": False, "changes_at": NOW + timedelta(days=20, hours=2)}),
        ({"State": "CLOSED", "NextTransitionTime": "2026-01-25T15:00:00+01:00"},
         {"open": False, "changes_at": NOW + timedelta(days=20, hours=2)}),
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
    stubber.add_client_error("get_calendar_state", "ThrottlingException", "later")  # for what comes
    answers(stubber, "2026-01-05T12:00:30+00:00", State="CLOSED")
    answers(stubber, "2026-01-05T12:01:30+00:00", State="OPEN")
    states = [
        calendars.seen([NAME], NOW + timedelta(seconds=later))[0].open
        for later in (0, 29, 30, 89, 90)
    ]
    assert states == [True, True, False, False, True]


def test_it_is_asked_once_an_hour_when_it_is_closed_in_the_coming_days(
    stub: tuple[ManagerCalendars, Stubber],
) -> None:
    calendars, stubber = stub
    nights = [NOW + timedelta(hours=hours) for hours in (6, 20, 30, 44, 24 * 8)]
    iso = [at.isoformat(timespec="seconds") for at in (NOW, *nights)]
    states = ["OPEN", "CLOSED"] * 3
    for at, state, then in zip(iso, states, iso[1:], strict=False):
        answers(stubber, at, State=state, NextTransitionTime=then)
    later = (NOW + timedelta(minutes=59)).isoformat(timespec="seconds")
    answers(stubber, later, State="OPEN", NextTransitionTime=iso[1])
    expected = ((nights[0], nights[1]), (nights[2], nights[3]))
    for minutes in (0, 59):
        (seen,) = calendars.seen([NAME], NOW + timedelta(minutes=minutes))
        assert (seen.open, seen.changes_at, seen.closed_ahead) == (True, nights[0], expected)


def test_a_look_ahead_that_failed_is_made_again_after_five_minutes(
    stub: tuple[ManagerCalendars, Stubber],
) -> None:
    calendars, stubber = stub
    closes, opens = NOW + timedelta(hours=6), NOW + timedelta(days=9)
    iso = [at.isoformat(timespec="seconds") for at in (NOW, closes, opens)]
    answers(stubber, iso[0], State="OPEN", NextTransitionTime=iso[1])
    stubber.add_client_error("get_calendar_state", "ThrottlingException", "later")
    later = NOW + timedelta(minutes=5)
    answers(stubber, later.isoformat(timespec="seconds"), State="OPEN", NextTransitionTime=iso[1])
    answers(stubber, iso[1], State="CLOSED", NextTransitionTime=iso[2])
    seen = [calendars.seen([NAME], at)[0].closed_ahead for at in (NOW, later)]
    assert seen == [(), ((closes, opens),)]


def test_answers_that_contradict_each_other_say_nothing_of_what_comes(
    stub: tuple[ManagerCalendars, Stubber],
) -> None:
    calendars, stubber = stub
    closes = NOW + timedelta(hours=6)
    at, then = NOW.isoformat(timespec="seconds"), closes.isoformat(timespec="seconds")
    answers(stubber, at, State="OPEN", NextTransitionTime=then)
    answers(stubber, then, State="OPEN", NextTransitionTime=then)
    (seen,) = calendars.seen([NAME], NOW)
    assert (seen.changes_at, seen.closed_ahead) == (closes, ())


def test_the_action_that_is_named_is_the_call_that_is_made() -> None:
    assert actions.CALENDAR_READ_ACTIONS == ("ssm:GetCalendarState",)
