"""Many volumes: one failure is that volume's own, and one summary covers all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from headroom.adapters.cloudwatch import Past
from headroom.cli.replay import tables as tables
from headroom.cli.replay.batch import Missed, Rules, replays
from headroom.cli.replay.tables import ReplaySummary
from headroom.domain.catalog import catalogue_prices
from headroom.domain.policy import Mode
from headroom.domain.resources import Modification, ModificationState, VolumeActivity
from headroom.ports import ReadFailed, StorageView
from headroom.proving.replay import Replayed, together
from tests.builders import ACCOUNT, NOW, REGION, activity, gp3, policy, ref, volume

QUIET = activity([100.0] * 120)
PRESSED = activity(
    [500.0] * 60 + [3_000.0] * 60,
    iops_check=[0.0] * 60 + [1.0] * 60,
    queue=[1.0] * 60 + [900.0] * 60,
)


class Kept:
    """A CloudWatch that keeps one past for all, and cannot answer for some."""

    def __init__(self, past: VolumeActivity = QUIET, *, silent: Sequence[str] = ()) -> None:
        self.past = past
        self.silent = silent

    def read(self, views: Sequence[StorageView], now: datetime, days: float) -> Mapping[str, Past]:
        names = [view.volume.ref.resource_id for view in views]
        for name in names:
            if name in self.silent:
                raise ReadFailed(f"GetMetricData: Throttling: {name}")
        return dict.fromkeys(names, ((self.past, None),))


def view(number: int, **changes: Any) -> StorageView:
    one = volume(gp3(400), ref=ref(f"vol-{number}"), **changes)
    return StorageView(volume=one, modification=None, instance=None)


def rules(**limits: Any) -> Rules:
    return Rules(until=NOW, days=1, policy=policy(**limits), prices=catalogue_prices(REGION))


def replayed(
    views: Sequence[StorageView], kept: Kept, under: Rules | None = None, *, processes: int = 1
) -> dict[str, Replayed | Missed]:
    history: Any = kept
    found = replays(views, history, under or rules(), processes=processes)
    return {one.view.volume.ref.resource_id: one for one in found}


def summary(found: Mapping[str, Replayed | Missed], under: Rules | None = None) -> ReplaySummary:
    return ReplaySummary(
        account_id=ACCOUNT, region=REGION, rules=under or rules(), found=tuple(found.values())
    )


@pytest.mark.parametrize("processes", [1, 2])
def test_a_volume_whose_metrics_cannot_be_read_does_not_hide_the_others(processes: int) -> None:
    found = replayed([view(n) for n in range(4)], Kept(silent=["vol-2"]), processes=processes)
    assert {name for name, one in found.items() if isinstance(one, Replayed)} == {
        "vol-0", "vol-1", "vol-3",
    }  # fmt: skip
    missed = found["vol-2"]
    assert isinstance(missed, Missed)
    assert missed.failed
    assert "could not be read: GetMetricData: Throttling: vol-2" in missed.why
    assert summary(found).to_json()["total"]["failed"] == 1  # type: ignore[index]


def test_a_volume_that_breaks_the_replay_does_not_hide_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = together.replay_volume

    def breaks(view: StorageView, *rest: Any, **more: Any) -> Replayed:
        if view.volume.ref.resource_id == "vol-0":
            raise ZeroDivisionError("a defect")
        return real(view, *rest, **more)

    monkeypatch.setattr(together, "replay_volume", breaks)
    found = replayed([view(0), view(1)], Kept())
    assert found["vol-0"] == Missed(view=view(0), why="ZeroDivisionError: a defect", failed=True)
    assert isinstance(found["vol-1"], Replayed)


def test_of_what_is_not_replayed_nothing_is_read() -> None:
    silent = Kept(silent=["vol-0", "vol-1"])
    found = replayed(
        [view(0, managed_by="Amazon ECS"), view(1, tags=(("headroom", "off"),))], silent
    )
    assert [(m.failed, m.why.split()[0]) for m in found.values() if isinstance(m, Missed)] == [
        (False, "it"), (False, "the"),
    ]  # fmt: skip


def test_the_days_before_are_read_as_the_engine_would_read_them() -> None:
    assert rules().since == NOW - timedelta(days=1)
    assert rules().days_read == 15
    assert replace(rules(), days=455).days_read == 455


def test_the_greatest_relief_comes_first() -> None:
    found = {**replayed([view(1)], Kept()), **replayed([view(2)], Kept(PRESSED))}
    assert [one.view.volume.ref.resource_id for one in summary(found).replayed] == [
        "vol-2",
        "vol-1",
    ]


def test_increases_above_the_accounts_limit_are_reported() -> None:
    found = replayed([view(1), view(2)], Kept(PRESSED))
    together = sum(
        (c.usd_change for one in found.values() if isinstance(one, Replayed)
         for c in one.headroom.changes), Decimal(0),
    )  # fmt: skip
    assert together > 0
    under = rules()
    tight = replace(under, policy=replace(under.policy, account_increase_usd=together / 2))
    assert summary(found, under).over_account_limit() is None
    assert summary(found, tight).over_account_limit() == together


def test_a_volume_changed_meanwhile_is_reported() -> None:
    change = Modification(
        state=ModificationState.COMPLETED,
        started_at=NOW - timedelta(minutes=30),
        ended_at=None,
        origin=gp3(400),
        target=gp3(400, 6_000),
        progress_percent=100,
    )
    changed = replace(view(1), modification=change)
    (one,) = replayed([changed], Kept(), replace(rules(), days=1)).values()
    assert isinstance(one, Replayed)
    (said,) = tables.remarks(one)
    assert "it was changed from gp3 400 GiB 3000 IOPS" in said
    older = replace(change, started_at=NOW - timedelta(days=9))
    (one,) = replayed([replace(view(1), modification=older)], Kept()).values()
    assert isinstance(one, Replayed)
    assert list(tables.remarks(one)) == []


def test_json_has_no_value_that_json_does_not_know() -> None:
    found = {**replayed([view(1)], Kept(PRESSED)), **replayed([view(2)], Kept(silent=["vol-2"]))}
    again = json.loads(json.dumps(summary(found).to_json(), allow_nan=False))
    assert [row["replayed"] for row in again["volumes"]] == [True, False]
    assert again["prices"] == "catalogue, 2026-09-11"


def test_what_is_off_by_default_is_not_replayed() -> None:
    (one,) = replayed([view(1, tags=())], Kept(), rules(mode=Mode.OFF)).values()
    assert isinstance(one, Missed)
    assert not one.failed
