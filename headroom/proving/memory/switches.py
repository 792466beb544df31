"""The switches of the in-memory ledger: pause, circuit breakers and the claim of a scan."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from headroom.domain.ledger import (
    after_closed,
    breaker_closed_record,
    breaker_opened_record,
    pause_record,
)
from headroom.domain.resources import ResourceRef
from headroom.domain.state import (
    INDEFINITE,
    Breaker,
    Pause,
    StopState,
    account_after_breaker_closed,
)
from headroom.ports import Scan
from headroom.proving.memory.chains import InMemoryChains
from headroom.serialization import to_json


class InMemorySwitches(InMemoryChains):
    """FleetScan and Switches in memory."""

    def claim_scan(self, now: datetime, every_s: int) -> Scan:
        """AGAIN or FIRST for exactly one caller per period of `every_s` seconds of UTC."""
        period = datetime.fromtimestamp(now.timestamp() // every_s * every_s, UTC)
        with self._lock:
            if self._scanned is not None and period <= self._scanned:
                return Scan.NOT_OURS
            first, self._scanned = self._scanned is None, period
            return Scan.FIRST if first else Scan.AGAIN

    def pause(self, until: datetime | None, *, at: datetime, who: str, reason: str = "") -> None:
        """Stop every act, with a record."""
        self._switch(
            Pause(until=until or INDEFINITE, since=at, who=who, reason=reason), at, who, reason
        )

    def resume(self, *, at: datetime, who: str, reason: str = "") -> None:
        """End the pause, with a record."""
        self._switch(None, at, who, reason)

    def close_breaker(
        self, ref: ResourceRef | None, *, at: datetime, who: str, reason: str = ""
    ) -> bool:
        """Close the breaker of a resource, or of the account (None); False if none was open."""
        resource = self._account if ref is None else ref.arn
        with self._lock:
            if ref is None:
                if self._stops.breaker is None:
                    return False
                self._stops = account_after_breaker_closed(self._stops, at)
            else:
                state = self._state(ref)
                moved = after_closed(state, at)
                if moved is state:
                    return False
                self._move(ref, moved)
                self._breakers.pop(resource, None)
            body = to_json({"who": who, "reason": reason})
            self._single(breaker_closed_record(resource, at=at, who=who, reason=reason, body=body))
            self._rescan_soon()
            return True

    def stop_state(self) -> StopState:
        """The pause and the open breakers."""
        with self._lock:
            breakers = sorted(self._breakers.values(), key=lambda b: (b.opened_at, b.resource))
            return StopState(account=self._stops, breakers=tuple(breakers))

    def _switch(self, pause: Pause | None, at: datetime, who: str, reason: str) -> None:
        until = None if pause is None else pause.until
        body = to_json({"until": until, "who": who, "reason": reason})
        with self._lock:
            self._stops = replace(self._stops, pause=pause)
            self._single(
                pause_record(self._account, until, at=at, who=who, body=body, reason=reason)
            )
            if pause is None:
                self._rescan_soon()

    def _open(self, breaker: Breaker | None, decision_id: str) -> None:
        if breaker is not None:
            if breaker.resource != self._account:
                self._breakers[breaker.resource] = breaker
            body = to_json({"decision_id": decision_id, "failures": breaker.failures})
            self._single(breaker_opened_record(breaker, decision_id=decision_id, body=body))

    def _rescan_soon(self) -> None:
        if self._scanned is not None:
            self._scanned = datetime.fromtimestamp(0, UTC)
