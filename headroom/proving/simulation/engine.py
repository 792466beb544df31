"""Headroom as a controller: the application over in-memory ports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from headroom.application import remediate, sweep
from headroom.domain.decision import Decision, Reason
from headroom.domain.resources import ResourceRef, Signal
from headroom.domain.state import InFlight, KnownModification, Record, Step
from headroom.proving.memory import LAST, TrialLedger, ports_in_memory, with_raises
from headroom.proving.metrics import GLANCE_MIN
from headroom.proving.scenarios import Detection, Scenario
from headroom.proving.simulation.controller import SCAN_EVERY_S, ControllerLog, SimulationController
from headroom.proving.simulation.world import MINUTE, World

MOST_QUEUED = 100
"""Resources that may wait for a place; a scenario has one."""
GLANCES_EVERY_S = 300
"""How often adaptive detection looks whose glance is due."""


class EngineController(SimulationController):
    """As deployed: alarms wake it, and its sweep runs every minute in which it would do anything.

    With `detection: adaptive` nothing has an alarm of its own: glances find what they find.
    """

    def __init__(
        self, scenario: Scenario, world: World, ref: ResourceRef, beside: Sequence[InFlight] = ()
    ) -> None:
        self._since = self._idle_until = world.now
        self._adaptive = scenario.detection is Detection.ADAPTIVE
        self._scan_every_s = GLANCES_EVERY_S if self._adaptive else SCAN_EVERY_S
        self._metric_delay = scenario.aws.metric_delay
        self._ledger = TrialLedger(account_id=ref.account_id, region=ref.region)
        self._errors: list[str] = []
        ports = ports_in_memory(
            world, self._ledger, policy=scenario.policy, prices=scenario.aws.prices
        )
        self._ports = replace(ports, state_store=with_raises(ports.state_store, beside))
        past = [at for at in scenario.aws.modified_at if at < scenario.start]
        if scenario.aws.known_to_ledger and past:
            known = [KnownModification(started_at=at, by="other") for at in past]
            self._ledger.save_modifications(ref, known, now=world.now)

    def minute(self, now: datetime, signals: Iterator[Signal]) -> None:
        """Follow the minute's signals, then sweep, unless that would find nothing to do."""
        self._now = now
        for signal in signals:
            if self._adaptive and signal.alarm_name is not None:
                continue
            remediate(self._ports, signal, now)
            self._idle_until = now
        if now < self._idle_until:
            return
        report = sweep(self._ports, now, scan_every_s=self._scan_every_s, adaptive=self._adaptive)
        self._errors.extend(f"{now.isoformat()}: {error}" for error in report.errors)
        self._idle_until = now if report.errors or not report.complete else self._next_work(now)

    def _next_work(self, now: datetime) -> datetime:
        """When a sweep next finds anything to do: what is due, who waits for a place, a scan."""
        scan = (now.timestamp() // self._scan_every_s + 1) * self._scan_every_s
        queued = (
            one.waiting.not_before or now
            for one in self._ledger.queue(MOST_QUEUED)
            if one.waiting.adds_usd is None  # nobody else gives any back
        )
        due = self._ledger.next_due() or LAST
        return min(due, datetime.fromtimestamp(scan, UTC), *queued)

    def log(self) -> ControllerLog:
        """All its records, oldest first."""
        records = sorted(
            self._ledger.by_time(since=self._since, until=self._now + MINUTE),
            key=lambda record: (record.at, record.decision_id, record.sequence),
        )
        decisions = tuple(
            self._ledger.decision(record.decision_id)
            for record in records
            if record.step is Step.DECIDED
        )
        errors = tuple(f"The sweep failed at {error}." for error in self._errors[:5])
        notes = (*errors, *self._blind(decisions), *_waited(records))
        return ControllerLog(decisions=decisions, records=tuple(records), notes=notes)

    def _blind(self, decisions: tuple[Decision, ...]) -> Iterator[str]:
        """One sentence if the engine never had enough metrics."""
        reasons = {decision.answer.reason for decision in decisions}
        late = self._metric_delay >= timedelta(minutes=GLANCE_MIN)
        if reasons == {Reason.NOT_ENOUGH_DATA} or (late and not reasons):
            yield (
                "The engine never had enough metrics to judge the volume by; a minute's could be read "
                f"{self._metric_delay} (metric_delay) after its end."
            )


def _waited(records: Sequence[Record]) -> Iterator[str]:
    """One sentence if changes waited for approval and were not made."""
    asked = {record.decision_id for record in records if record.step is Step.AWAITING}
    asked -= {record.decision_id for record in records if record.step is Step.INTENDED}
    if asked:
        changes = "1 change" if len(asked) == 1 else f"{len(asked)} changes"
        yield f"{changes} waited for a person and changed nothing: nobody answers in a simulation."
