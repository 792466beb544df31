"""The profile of the past over several reconciliations: what is read, what is stored, what is not read again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from headroom.application.dry_run import decide_dry_run
from headroom.domain.decision import Decision
from headroom.domain.resources import ResourceRef, VolumeActivity
from headroom.domain.state import HOUR, LoadProfile, hour_of
from headroom.ports import ReadFailed, StorageView
from headroom.proving.memory import InMemoryLedger
from tests.application.harness import Harness, reconcile_now
from tests.builders import ACCOUNT, NOW, REGION, activity, gp3, ref, volume
from tests.domain.earlier import history

DAY = timedelta(days=1)
OLD = volume(gp3(), created_at=NOW - 500 * DAY)


class Ledger(InMemoryLedger):
    """Counts what is saved, and can fail to."""

    saves = 0
    fails = False

    def save_profile(self, ref: ResourceRef, profile: LoadProfile) -> None:
        if self.fails:
            raise ReadFailed("PutItem did not answer")
        self.saves += 1
        super().save_profile(ref, profile)


@dataclass
class Past(Harness):
    """A harness that publishes 14 days, and whatever is asked for of the time before."""

    ledger: Ledger = field(default_factory=lambda: Ledger(ACCOUNT, REGION))
    asked: list[tuple[datetime, datetime]] = field(default_factory=list)
    old_fails: bool = False
    published: bool = True
    silent: bool = False

    def history(self, view: StorageView, now: datetime) -> VolumeActivity | None:
        return None if self.silent else history(lambda _: 500.0, days=14, end=now)

    def older_history(
        self, view: StorageView, now: datetime, *, since: datetime, until: datetime
    ) -> tuple[VolumeActivity, ...]:
        self.asked.append((since, until))
        if self.old_fails:
            raise ReadFailed("GetMetricData did not answer")
        if not self.published:
            return ()
        hours = (until - since) // HOUR
        return (activity([900.0] * hours, end=until, period_s=3600, iops_check=None),)


def harness(vol: object = OLD, **changes: object) -> Past:
    made = Past(**changes)  # type: ignore[arg-type]
    made.add(vol, load=activity([500.0] * 180))  # type: ignore[arg-type]
    return made


def seen(of: Past, **later: float) -> LoadProfile:
    """The profile of the decision of one more reconciliation."""
    of.now += timedelta(**later)
    profile = decided(of).resource_state.profile
    assert profile is not None
    return profile


def decided(of: Past) -> Decision:
    decision = reconcile_now(of.ports, ref(), of.now, trigger="sweep")
    assert decision is not None
    return decision


def test_the_first_reconciliation_reads_what_is_kept_and_stores_it() -> None:
    made = harness()
    profile = seen(made)
    assert made.asked == [(NOW - 400 * DAY, NOW - 14 * DAY + HOUR)]
    assert (profile.start, profile.end) == (NOW - 400 * DAY, NOW)
    coarse = [hour.coarse for hour in profile.hours if hour is not None]
    assert coarse == [True] * (386 * 24) + [False] * (14 * 24)
    assert made.ledger.profile(ref()) == profile


def test_later_reconciliations_read_nothing_old_and_the_profile_grows() -> None:
    made = harness()
    first = seen(made)
    later = seen(made, hours=5)
    assert len(made.asked) == 1
    assert later.end == first.end + 5 * HOUR
    assert later.hours[-5:] == (later.hours[-1],) * 5


@pytest.mark.parametrize(
    ("hours", "saves"), [((1, 1, 1), 1), ((23,), 1), ((24,), 2), ((12, 12), 2)]
)
def test_the_profile_is_stored_once_a_day(hours: tuple[int, ...], saves: int) -> None:
    made = harness()
    seen(made)
    for more in hours:
        seen(made, hours=more)
    assert made.ledger.saves == saves


def test_old_metrics_that_there_are_none_of_are_not_asked_for_again() -> None:
    made = harness(published=False)
    profile = seen(made)
    assert profile.start == NOW - 14 * DAY
    for _ in range(3):
        seen(made, hours=30)
    assert len(made.asked) == 1


def test_a_young_volume_has_nothing_old_to_read() -> None:
    made = harness(volume(gp3(), created_at=NOW - 3 * DAY))
    seen(made)
    assert made.asked == []


def test_a_silent_volume_is_not_asked_about() -> None:
    made = harness(silent=True)
    assert decided(made).resource_state.profile is None
    assert (made.asked, made.ledger.saves) == ([], 0)


def test_after_a_gap_only_the_gap_is_read() -> None:
    made = harness()
    end = seen(made).end
    later = seen(made, days=20)
    assert made.asked[1:] == [(end, made.now - 14 * DAY + HOUR)]
    assert None not in later.hours
    made.asked.clear()
    seen(made, days=10)
    assert made.asked == []


def test_unreadable_old_metrics_block_nothing_and_are_read_at_the_next_reconciliation() -> None:
    made = harness(old_fails=True)
    assert seen(made).start == NOW - 14 * DAY
    assert made.ledger.profile(ref()) is None
    made.old_fails = False
    assert seen(made, minutes=5).start < NOW - 390 * DAY
    assert made.ledger.profile(ref()) is not None


def test_a_gap_that_cannot_be_read_stays_a_gap_until_it_can() -> None:
    made = harness()
    seen(made)
    made.old_fails = True
    assert None in seen(made, days=20).hours
    made.old_fails = False
    assert None not in seen(made, minutes=5).hours


def test_a_profile_that_cannot_be_stored_is_used_all_the_same() -> None:
    made = harness()
    made.ledger.fails = True
    profile = seen(made)
    assert len(profile.hours) == 400 * 24
    assert made.ledger.profile(ref()) is None


def test_another_database_of_that_name_begins_anew() -> None:
    made = harness()
    seen(made)
    born = NOW + 2 * DAY
    made.volumes["vol-1"] = replace(OLD, created_at=born)
    profile = seen(made, days=3)
    assert profile.start >= hour_of(born)


def test_a_dry_run_uses_the_same_profile_and_stores_none() -> None:
    made = harness()
    found = decide_dry_run(made.ports, ref(), made.now).decision.resource_state.profile
    assert found == seen(made)
    assert made.ledger.saves == 1


def test_the_record_names_the_profile() -> None:
    made = harness()
    decision = decided(made)
    assert decision.resource_state.profile is not None
    assert decision.profile == decision.resource_state.profile.summary
