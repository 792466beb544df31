"""A running endpoint in this process: server, clock, functions and the thread that keeps real time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from importlib import import_module
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

from botocore.exceptions import ClientError
from moto.core.request import Request
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.wrappers import Response

from headroom.localaws.control import PREFIX, Control, MinuteLoop
from headroom.localaws.functions import fleet_of
from headroom.localaws.iam import AccessDenied, authorize, denial
from headroom.localaws.loads import Loads
from headroom.localaws.prices import PRICE_LIST_TARGET, answer_price_list
from headroom.localaws.quotas import Throttled, take_token, too_many
from headroom.localaws.rds import tags_of_database
from headroom.localaws.server.guard import key_of, refusal
from headroom.localaws.server.http_server import Forbidden, HttpServer
from headroom.localaws.server.transactions import ONE_AT_A_TIME
from headroom.localaws.state import Clock, ClockMode, Cloud, Identifiers, Options, install_cloud

_DIRECT = frozenset({"cloudwatch", "dynamodb", "ec2", "events", "rds", "sns", "sqs", "ssm", "sts"})
"""Services whose every operation is a POST to `/`."""


class _Moto(DomainDispatcherApplication):  # type: ignore[misc]
    """moto's dispatcher, remembering which service answers for a host."""

    def __init__(self) -> None:
        super().__init__(create_backend_app)
        self._known = lru_cache(maxsize=512)(super().get_backend_for_host)

    def get_backend_for_host(self, host: str | None) -> Any:
        found = self._known(host)
        if found is None and host is not None and "amazonaws.com" in host:
            raise NotImplementedError(f"The service at {host} is not part of this endpoint.")
        return found

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Any:
        if environ["PATH_INFO"] == "/":
            target = environ.get("HTTP_X_AMZ_TARGET", "")
            if target.startswith(PRICE_LIST_TARGET):  # moto has no such service
                return _priced(target.removeprefix(PRICE_LIST_TARGET), environ, start_response)
            name = self.get_backend_for_host(self.infer_service_region_host(environ, "/"))
            if name == "dynamodb":
                with ONE_AT_A_TIME:
                    return _direct(_dispatcher(name), environ, start_response)
            if name in _DIRECT:
                return _direct(_dispatcher(name), environ, start_response)
        return super().__call__(environ, start_response)


class _Request(Request):  # type: ignore[misc]
    """A request over HTTP."""

    from_wsgi_server = True


@lru_cache
def _dispatcher(name: str) -> Callable[..., Any]:
    """The handler of a service's requests to `/`; looked up late, because `moto_parts` replaces some."""
    paths = import_module(f"moto.{name}.urls").url_paths
    found: Callable[..., Any] = paths.get("{0}/$") or paths["{0}/"]
    return found


def _direct(
    dispatch: Callable[..., Any], environ: WSGIEnvironment, start_response: StartResponse
) -> Iterable[bytes]:
    """Answer without Flask, which is a third of the time of a small request."""
    request = _Request(environ)
    try:
        answer = dispatch(request, request.raw_url, dict(request.headers))
    except ClientError as error:
        answer = 400, {}, error.response["Error"]["Message"]
    status, headers, body = answer if len(answer) == 3 else (200, {}, answer)
    response = Response(response=body, status=int(status), headers=headers)
    return response(environ, start_response)


def _priced(
    operation: str, environ: WSGIEnvironment, start_response: StartResponse
) -> Iterable[bytes]:
    status, body = answer_price_list(operation, environ["wsgi.input"].read())
    response = Response(response=body, status=status, content_type="application/x-amz-json-1.1")
    return response(environ, start_response)


class RunningEndpoint:
    """Everything started; `stop` ends the functions and frees the port."""

    def __init__(self, options: Options, *, port: int, mode: ClockMode) -> None:
        # moto creates accounts' default networks and IAM's managed policies when asked, not now.
        os.environ.setdefault("MOTO_IAM_LOAD_MANAGED_POLICIES", "true")
        options.state_dir.mkdir(parents=True, exist_ok=True)
        self.cloud = Cloud(
            options=options,
            clock=Clock(mode, file=options.state_dir / "clock"),
            ids=Identifiers(options.seed),
        )
        install_cloud(self.cloud)
        from headroom.localaws.server import moto_parts

        moto_parts.install(self.cloud)
        self.cloud.functions = fleet_of(self.cloud)
        self.cloud.tags_of_database = partial(tags_of_database, self.cloud)
        self._loads = Loads(self.cloud)
        self._minute_loop = MinuteLoop(self.cloud, self._loads)
        self._control = Control(self.cloud, self._loads, self._minute_loop)
        self._moto = _Moto()
        self._server = HttpServer(self._serve, port)
        self.cloud.url = f"http://127.0.0.1:{self._server.port}"
        self._stopping = threading.Event()
        self._follower = threading.Thread(
            target=self._minute_loop.follow_real_time, args=(self._stopping,), daemon=True
        )

    @property
    def url(self) -> str:
        """Value of AWS_ENDPOINT_URL."""
        return self.cloud.url

    def start(self) -> None:
        """Answer requests; with a real clock also keep its minutes."""
        os.environ["MOTO_PORT"] = str(self._server.port)
        self._server.start()
        if self.cloud.clock.mode is ClockMode.REAL:
            self._follower.start()

    def stop(self) -> None:
        """Kill the functions and stop answering."""
        self._stopping.set()
        fleet_of(self.cloud).close()
        self._server.stop()

    def _serve(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        refused = refusal(environ, access_key=self.cloud.options.access_key, port=self._server.port)
        if refused is not None:
            raise Forbidden(refused)
        if environ["PATH_INFO"].startswith(PREFIX):
            return self._control(environ, start)
        try:
            take_token(self.cloud, environ, key_of(environ))
            authorize(self.cloud, environ, key_of(environ))
        except (AccessDenied, Throttled) as error:
            status, headers, body = (
                too_many(error)
                if isinstance(error, Throttled)
                else denial(error, environ.get("CONTENT_TYPE", ""))
            )
            start(status, headers)
            return [body]
        answer: Iterable[bytes] = self._moto(environ, start)
        return answer
