"""Runs one minute of the endpoint's time: load, metrics, events, alarms, functions, schedules."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from datetime import timedelta

from moto.core.base_backend import BackendDict, backend_lock
from moto.core.model_instances import reset_model_data
from moto.s3.models import s3_backends

from headroom.localaws.alarms import AlarmStore
from headroom.localaws.cloudwatch import publish_queue_metrics
from headroom.localaws.ebs import VolumeStore, put_volume_notification
from headroom.localaws.events import start_due_schedules, whole_minute
from headroom.localaws.functions import MappingPoller, fleet_of
from headroom.localaws.loads import LoadedMinute, Loads
from headroom.localaws.rds import DatabaseStore, put_database_event
from headroom.localaws.state import Cloud

MINUTE = timedelta(minutes=1)
POLL_EVERY_S = 1.0
_log = logging.getLogger(__name__)


class MinuteLoop:
    """Moves the endpoint through time, one minute after the other."""

    def __init__(self, cloud: Cloud, loads: Loads) -> None:
        self._cloud = cloud
        self._loads = loads
        self._poller = MappingPoller(cloud)
        self._lock = threading.Lock()

    def tick(self, count: int) -> list[LoadedMinute]:
        """Advance simulated time by whole minutes; 0 only runs what is due now."""
        played: list[LoadedMinute] = []
        with self._lock:
            if count:
                self._cloud.clock.require_manual_clock()
            if count == 0:
                self.drain()
            for _ in range(count):
                played += self._minute()
        return played

    def reset(self) -> None:
        """Forget everything that programs made, functions and their processes included."""
        with self._lock, backend_lock:
            fleet_of(self._cloud).close()
            for folder in ("functions", "logs"):
                shutil.rmtree(self._cloud.options.state_dir / folder, ignore_errors=True)
            for service in BackendDict._instances:
                for regions in service.values():
                    for backend in regions.values():
                        vars(backend).clear()  # moto's caches hold backends: free what they hold
                    regions.clear()
            reset_model_data()
            s3_backends.bucket_accounts.clear()
            self._loads.clear()
            self._cloud.forget()
            self._cloud.functions = fleet_of(self._cloud)

    def drain(self) -> None:
        """Run functions until no queue has a visible message and no call is due."""
        while self._poller.poll() + fleet_of(self._cloud).run_due():
            pass

    def _minute(self) -> list[LoadedMinute]:
        self.drain()  # requests between two minutes belong to their own instant
        start = whole_minute(self._cloud.clock.now())
        played = self._loads.run(start)
        self._cloud.clock.set(start + MINUTE)
        self._settle(played)
        return played

    def _settle(self, played: list[LoadedMinute]) -> None:
        """Everything that happens at the end of a minute; the clock is already there."""
        end = whole_minute(self._cloud.clock.now())
        self._loads.publish(played, end)
        publish_queue_metrics(self._cloud)
        for account_region, store in self._cloud.parts(VolumeStore):
            for at, volume_id, result, request_id in store.transitions(end):
                put_volume_notification(
                    self._cloud, account_region, volume_id, event="modifyVolume", result=result,
                    request_id=request_id, at=at,
                )  # fmt: skip
        for _, databases in self._cloud.parts(DatabaseStore):
            databases.apply_due_changes()
            for database_event, name in databases.events_due(end):
                put_database_event(
                    databases, databases.database(name), database_event.event_id, database_event.at
                )
        for _, alarms in self._cloud.parts(AlarmStore):
            alarms.evaluate_all()
        self.drain()
        start_due_schedules(self._cloud, end)
        self.drain()

    def follow_real_time(self, stopping: threading.Event) -> None:
        """With a real clock: queues each second, everything else each whole minute."""
        settled = whole_minute(self._cloud.clock.now())
        while not stopping.wait(POLL_EVERY_S):
            try:
                now = whole_minute(self._cloud.clock.now())
                if now > settled:
                    played = self._loads.run(now - MINUTE)
                    settled = now
                    self._settle(played)
                else:
                    self.drain()
            except Exception:  # the endpoint must outlive a bad alarm or a broken handler
                _log.exception("a minute could not be finished")
                time.sleep(POLL_EVERY_S)
