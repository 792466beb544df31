"""Operations on databases in the control API: changes, space, reservations, parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from headroom.localaws.loads import place_of
from headroom.localaws.rds import (
    MESSAGES,
    PARALLEL_QUERY,
    DatabaseStore,
    database_store,
    put_database_event,
)
from headroom.localaws.state import Cloud
from headroom.proving.awsrules import (
    DEFERRED_SETTINGS,
    STORAGE_FIELDS,
    DatabaseRules,
    ModificationRefused,
)
from headroom.proving.inputs import BadInput

Handler = Callable[[dict[str, Any]], Any]


class DatabaseControl:
    """Answers for databases; errors are BadInput, KeyError of what the request lacks, ValueError."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    def routes(self) -> Mapping[tuple[str, str], Handler]:
        """Requests by method and path."""
        return {
            ("POST", "database-history"): self._history,
            ("POST", "pending"): self._pending,
            ("POST", "autoscale"): self._autoscale,
            ("POST", "free-space"): self._free_space,
            ("POST", "database-event"): self._event,
            ("POST", "reserved"): self._reserved,
            ("POST", "cluster-parameter"): self._parameter,
        }

    def _history(self, body: dict[str, Any]) -> Any:
        """Earlier changes; of an Aurora cluster its last switch to I/O-Optimized."""
        store, name = self._store(body), str(body["database_id"])
        if name in store.aurora_names():
            at = _instant(body["switched_at"])
            aurora = store.clusters[name].aurora
            assert aurora is not None
            aurora.record_past_switch(at)
            return {"database_id": name, "switched_at": at.isoformat()}
        starts = [_instant(at) for at in body["starts"]]
        _storage_rules(store, name).lifecycle.remember(starts)
        return {"database_id": name, "starts": [at.isoformat() for at in starts]}

    def _pending(self, body: dict[str, Any]) -> Any:
        """A change that waits for its window, or is withdrawn."""
        store, name = self._store(body), str(body["database_id"])
        storage_rules, now = _storage_rules(store, name), self._cloud.clock.now()
        values = dict(body.get("values") or {})
        unknown = sorted(set(values) - {*STORAGE_FIELDS, *DEFERRED_SETTINGS})
        if unknown:
            raise BadInput(f"{unknown[0]} is no setting that waits for a window here.")
        storage = {key: value for key, value in values.items() if key in STORAGE_FIELDS}
        others = {key: value for key, value in values.items() if key in DEFERRED_SETTINGS}
        with store.lock:
            storage_rules.withdraw(tuple(str(each) for each in body.get("withdraw") or ()))
            if values:
                _as_bad_input(
                    lambda: storage_rules.modify(now, storage=storage, others=others, at_once=False)
                )
            return {"database_id": name, "pending": storage_rules.pending(now)}

    def _autoscale(self, body: dict[str, Any]) -> Any:
        """RDS's own autoscaling begins now, by default by a tenth and at least 10 GiB."""
        store, name = self._store(body), str(body["database_id"])
        storage_rules, now = _storage_rules(store, name), self._cloud.clock.now()
        size = storage_rules.lifecycle.described(now).size_gib
        to_gib = int(body.get("size_gib") or size + max(10, -(-size // 10)))
        with store.lock:
            _as_bad_input(lambda: storage_rules.scale(now, to_gib))
        return {"database_id": name, "size_gib": to_gib}

    def _free_space(self, body: dict[str, Any]) -> Any:
        store, name = self._store(body), str(body["database_id"])
        _storage_rules(store, name)
        store.free_space(name, float(body["free_gib"]), float(body.get("gib_per_hour", 0.0)))
        return {"database_id": name}

    def _event(self, body: dict[str, Any]) -> Any:
        """One event of RDS about a database, by its id."""
        store, name = self._store(body), str(body["database_id"])
        try:
            database = store.database(name)
        except KeyError:
            raise BadInput(
                f"There is no database {name} in {store.account_region.region}."
            ) from None
        event_id = str(body["event_id"])
        if event_id not in MESSAGES:
            raise BadInput(f"{event_id} is not among the events of this endpoint.")
        put_database_event(store, database, event_id)
        return {"database_id": name, "event_id": event_id}

    def _reserved(self, body: dict[str, Any]) -> Any:
        """Reservations of the account: `{"class": ..., "count": ..., "product": ...}` each."""
        store, now = self._store(body), self._cloud.clock.now()
        store.reserved = [
            {
                "ReservedDBInstanceId": f"reserved-{number}",
                "DBInstanceClass": str(one["class"]),
                "DBInstanceCount": int(one.get("count", 1)),
                "ProductDescription": str(one["product"]),
                "State": "active",
                "StartTime": now - timedelta(days=30),
                "Duration": 31_536_000,
                "MultiAZ": bool(one.get("multi_az", False)),
                "OfferingType": "No Upfront",
                "CurrencyCode": "USD",
            }
            for number, one in enumerate(body["instances"], start=1)
        ]
        return {"reserved": len(store.reserved)}

    def _parameter(self, body: dict[str, Any]) -> Any:
        """aurora_parallel_query of a cluster parameter group: ON or OFF."""
        value = str(body["value"])
        if value not in ("ON", "OFF"):
            raise BadInput(f"value is {value!r}; it must be ON or OFF.")
        self._store(body).parameters[str(body["group"]), PARALLEL_QUERY] = value
        return {"group": body["group"], PARALLEL_QUERY: value}

    def _store(self, body: Mapping[str, Any]) -> DatabaseStore:
        return database_store(self._cloud, place_of(body))


def _storage_rules(store: DatabaseStore, name: str) -> DatabaseRules:
    try:
        return store.storage_rules(name)
    except KeyError:
        raise BadInput(
            f"There is no database {name} with storage of its own in {store.account_region.region}."
        ) from None


def _as_bad_input(change: Callable[[], object]) -> None:
    try:
        change()
    except ModificationRefused as refused:
        raise BadInput(str(refused)) from refused


def _instant(text: object) -> datetime:
    at = datetime.fromisoformat(str(text))
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
