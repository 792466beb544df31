"""The profile of a resource's past, beside its state."""

from __future__ import annotations

from typing import Any

from headroom.domain.state import HOUR, LoadProfile, ProfileHour, hour_of, new_resource_state
from tests.builders import NOW, ref

HOURS = (
    ProfileHour(3_000.0, 125.0, 3_000.0, 125.0, 60, 60, 3_000.0, 0.0),
    None,
    ProfileHour(0.0, 0.0, 0.0, 0.0, 0, 0, 0.0, 0.0, True),
)
PROFILE = LoadProfile(start=hour_of(NOW) - 3 * HOUR, hours=HOURS)


def test_a_resource_has_no_profile_until_one_is_saved(ledger: Any) -> None:
    assert ledger.profile(ref("vol-1")) is None
    ledger.save_profile(ref("vol-1"), PROFILE)
    assert ledger.profile(ref("vol-1")) == PROFILE
    assert ledger.profile(ref("vol-2")) is None


def test_the_profile_saved_last_is_the_one_that_counts(ledger: Any) -> None:
    ledger.save_profile(ref(), PROFILE)
    empty = LoadProfile(start=PROFILE.end, hours=())
    ledger.save_profile(ref(), empty)
    assert ledger.profile(ref()) == empty


def test_a_profile_leaves_the_state_alone(ledger: Any) -> None:
    ledger.save_profile(ref(), PROFILE)
    assert ledger.resource_state(ref(), NOW) == new_resource_state()
    ledger.forget(ref(), at=NOW)
    assert ledger.profile(ref()) == PROFILE
