"""The control API under /_headroom/: the clock, loads, ticks and the state, all JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

from headroom.localaws.alarms import AlarmStore
from headroom.localaws.control.databases import DatabaseControl
from headroom.localaws.control.pacer import MinuteLoop
from headroom.localaws.ebs import volume_store
from headroom.localaws.functions import fleet_of
from headroom.localaws.iam import report
from headroom.localaws.loads import Loads, as_json, place_of
from headroom.localaws.quotas import refusals
from headroom.localaws.state import AccountRegion, ClockRefused, Cloud
from headroom.proving.inputs import BadInput

PREFIX = "/_headroom/"
MOST_MINUTES = 10_080
"""Minutes in one tick; a week."""


class Control:
    """Answers requests under `PREFIX`."""

    def __init__(self, cloud: Cloud, loads: Loads, minute_loop: MinuteLoop) -> None:
        self._cloud = cloud
        self._loads = loads
        self._minute_loop = minute_loop
        self._routes: Mapping[tuple[str, str], Callable[[dict[str, Any]], Any]] = {
            ("GET", "state"): self._state,
            ("GET", "iam"): lambda _: report(cloud),
            ("GET", "quotas"): lambda _: refusals(cloud),
            ("GET", "clock"): self._get_clock,
            ("POST", "clock"): self._set_clock,
            ("POST", "load"): self._load,
            ("POST", "unload"): self._unload,
            ("POST", "history"): self._history,
            ("POST", "tick"): self._tick,
            ("POST", "reset"): self._reset,
            **DatabaseControl(cloud).routes(),
        }

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        """One request; errors are `{"error": sentence}` with 400, 404 or 409."""
        route = (environ["REQUEST_METHOD"], environ["PATH_INFO"].removeprefix(PREFIX).strip("/"))
        handler = self._routes.get(route)
        if handler is None:
            known = ", ".join(f"{method} {PREFIX}{name}" for method, name in self._routes)
            return _answer(start, "404 Not Found", {"error": f"Known are {known}."})
        try:
            return _answer(start, "200 OK", handler(_body(environ)))
        except ClockRefused as error:
            return _answer(start, "409 Conflict", {"error": str(error)})
        except KeyError as error:
            message = f"The request must contain {error}."
            return _answer(start, "400 Bad Request", {"error": message})
        except json.JSONDecodeError as error:
            message = f"The body is not JSON: {error}."
            return _answer(start, "400 Bad Request", {"error": message})
        except TypeError as error:
            message = f"The request has a value of the wrong kind: {error}."
            return _answer(start, "400 Bad Request", {"error": message})
        except (BadInput, ValueError) as error:
            return _answer(start, "400 Bad Request", {"error": str(error)})

    def _get_clock(self, _: dict[str, Any]) -> dict[str, Any]:
        clock = self._cloud.clock
        return {"now": clock.now().isoformat(), "mode": clock.mode.value, "held": clock.held}

    def _set_clock(self, body: dict[str, Any]) -> dict[str, Any]:
        instant = datetime.fromisoformat(str(body["set"]))
        if instant.tzinfo is None:
            instant = instant.replace(tzinfo=UTC)
        self._cloud.clock.set(instant)
        if "seed" in body:
            # moto names the volumes of its default images when EC2 is first used: before, not after.
            volume_store(self._cloud, AccountRegion()).volumes()
            self._cloud.ids.seed(int(body["seed"]))
        return self._get_clock({})

    def _load(self, body: dict[str, Any]) -> dict[str, Any]:
        self._loads.attach(body)
        return {"loaded": self._loads.names}

    def _unload(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"unloaded": self._loads.detach(body)}

    def _history(self, body: dict[str, Any]) -> dict[str, Any]:
        """Earlier modifications of a volume, which use slots."""
        account_region = place_of(body)
        if str(body["volume_id"]) not in volume_store(self._cloud, account_region).volumes():
            raise BadInput(f"There is no volume {body['volume_id']} in {account_region.region}.")
        starts = [datetime.fromisoformat(str(at)) for at in body["starts"]]
        volume_store(self._cloud, account_region).plan_history(str(body["volume_id"]), starts)
        return {"volume_id": body["volume_id"], "starts": [at.isoformat() for at in starts]}

    def _tick(self, body: dict[str, Any]) -> dict[str, Any]:
        count = int(body.get("minutes", 1))
        if not 0 <= count <= MOST_MINUTES:
            raise ValueError(f"minutes is {count}; it must be 0 to {MOST_MINUTES}.")
        minutes = self._minute_loop.tick(count)
        return {
            "now": self._cloud.clock.now().isoformat(),
            "minutes": [as_json(minute) for minute in minutes],
        }

    def _reset(self, _: dict[str, Any]) -> dict[str, Any]:
        self._minute_loop.reset()
        return self._get_clock({})

    def _state(self, _: dict[str, Any]) -> dict[str, Any]:
        return {
            **self._get_clock({}),
            "pid": os.getpid(),
            "url": self._cloud.url,
            "state_dir": str(self._cloud.options.state_dir),
            "loads": self._loads.names,
            "alarms": {
                f"{account_region.region}/{alarm.name}": alarm.state.value.value
                for account_region, store in sorted(
                    self._cloud.parts(AlarmStore), key=itemgetter(0)
                )
                for alarm in store.all()
            },
            "queues": _queue_depths(),
            "processes": fleet_of(self._cloud).processes(),
        }


def _queue_depths() -> dict[str, int]:
    from moto.sqs import sqs_backends

    return {
        f"{region}/{queue.name}": len(queue._messages)
        for _, region, backend in sqs_backends.iter_backends()
        for queue in list(backend.queues.values())
    }


def _body(environ: WSGIEnvironment) -> dict[str, Any]:
    raw = environ["wsgi.input"].read()
    body = json.loads(raw) if raw.strip() else {}
    if not isinstance(body, dict):
        raise ValueError("The body must be a JSON object.")
    return body


def _answer(start: StartResponse, status: str, body: Any) -> Iterable[bytes]:
    start(status, [("Content-Type", "application/json")])
    return [json.dumps(body, default=str).encode()]
