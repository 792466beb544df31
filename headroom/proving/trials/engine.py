"""Headroom on a load series: the application over in-memory ports, run only at minutes with work.

Minutes without an alarm, a change of a modification's state, anything due or a scan are skipped:
the deployed functions would do nothing in them.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from headroom.application import remediate, sweep
from headroom.domain.decision import Act
from headroom.domain.policy import Policy
from headroom.domain.resources import Configuration, Kind, ResourceRef
from headroom.domain.state import Record
from headroom.proving.memory import TrialLedger, ports_in_memory
from headroom.proving.metrics import minute_number
from headroom.proving.simulation import ACCOUNT, SCAN_EVERY_S, VOLUME_ID
from headroom.proving.trials.calibration import ForecastLog, calibration_of
from headroom.proving.trials.conditions import Conditions
from headroom.proving.trials.trial import Trial, TrialRun
from headroom.proving.vectorized import VectorizedWorld
from headroom.proving.workloads import LoadSeries

SCAN_MIN = SCAN_EVERY_S // 60


class EngineTrialRun:
    """Headroom as the controller of a trial."""

    def __init__(self, trial: Trial, conditions: Conditions, policy: Policy) -> None:
        self._trial = trial
        self._volume = trial.volume
        self._ref = ResourceRef(
            kind=Kind.EBS, account_id=ACCOUNT, region=conditions.region, resource_id=VOLUME_ID
        )
        late = conditions.metric_delay_of(self._volume.load_series.name)
        self.world = VectorizedWorld(self._volume, self._ref, metric_delay=late)
        self.ledger = TrialLedger(ACCOUNT, conditions.region)
        self._first = minute_number(self._volume.load_series.start)
        self._begin = 0
        self._ports = ports_in_memory(
            self.world, self.ledger, policy=policy, prices=conditions.prices
        )

    def run(self, since: int = 0, forecasts: ForecastLog | None = None) -> None:
        """Run from minute `since` on; what was published before is history.

        Raises RuntimeError if the engine fails on the way.
        """
        last, minute = self._volume.load_series.minutes, since
        self._begin = since
        self._volume.run(since)
        while minute < last:
            minute = self._next(minute, last)
            self._volume.run(minute)
            self._wake()
            if forecasts is not None:
                forecasts.sample(self._ports, self._ref, self._volume.now)

    def note_changes(self) -> None:
        """Give the trial the modifications that AWS accepted."""
        reasons = {
            d.at: d.answer.reason.value for d in self.ledger.decisions if isinstance(d.answer, Act)
        }
        start = self._volume.load_series.start
        for change in self.world.applied:
            minute = (change.started_at - start) // timedelta(minutes=1)
            reason = reasons.get(change.started_at, "")
            self._trial.add_change(minute, change.origin, change.target, reason)

    def _next(self, minute: int, last: int) -> int:
        """The next minute at which a deployed function would do anything."""
        scan = (self._first + minute) // SCAN_MIN * SCAN_MIN + SCAN_MIN - self._first
        until = min(last, scan if minute > self._begin else minute + 1)
        due = self.ledger.next_due()
        if due is not None:
            seconds = (due - self._volume.load_series.start).total_seconds()
            until = min(until, max(minute + 1, -int(-seconds // 60)))
        return self.world.next_event(until)

    def _wake(self) -> None:
        now = self._volume.now
        for signal in self.world.signals():
            remediate(self._ports, signal, now)
        report = sweep(self._ports, now, scan_every_s=SCAN_EVERY_S)
        if report.errors:
            raise RuntimeError(f"The engine failed at {now.isoformat()}: {report.errors[0]}")


def run_engine(
    load_series: LoadSeries, start: Configuration, conditions: Conditions, *, policy: Policy | None = None,
    with_records: bool = False, since: int = 0, with_forecasts: bool = False,
) -> TrialRun:  # fmt: skip
    """Headroom on `load_series` from minute `since` on, under `policy` or the conditions' own.

    Records are written out only `with_records`: that takes longer than all the rest. The forecast is
    compared with what came `with_forecasts`.
    """
    trial = Trial(load_series, start, conditions)
    engine = EngineTrialRun(trial, conditions, policy or conditions.policy)
    forecasts = ForecastLog(load_series, start.size_gib) if with_forecasts else None
    engine.run(since, forecasts)
    engine.note_changes()
    trial.aws_refusals = len(engine.world.refusals)
    decisions = engine.ledger.decisions
    records: tuple[Record, ...] = ()
    if with_records:
        records = tuple(record for d in decisions for record in engine.ledger.chain(d.decision_id))
    run = trial.finished(decisions, records, policy=policy)
    return run if forecasts is None else replace(run, calibration=calibration_of(forecasts.pairs))
