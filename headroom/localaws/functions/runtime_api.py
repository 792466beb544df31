"""Lambda's Runtime API (2018-06-01) for one function process.

Source: Lambda Developer Guide, "Using the Lambda runtime API" (checked 2026-10).
"""

from __future__ import annotations

import queue
import threading
import uuid
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_INVOCATION = "/2018-06-01/runtime/invocation/"
_INIT_ERROR = "/2018-06-01/runtime/init/error"
POLL_EVERY_S = 0.2
"""How often the server looks whether it was closed."""
_OF_PAGES = ("Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode")
"""Headers that browsers add to a page's requests."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call waiting for the function. `deadline_ms` is real time since 1970."""

    request_id: str
    payload: bytes
    deadline_ms: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The function's result, or its error as JSON."""

    ok: bool
    body: bytes


class RuntimeApi:
    """Hands out invocations one at a time and collects the answers."""

    def __init__(self, function_arn: str) -> None:
        self.function_arn = function_arn
        self._waiting: queue.Queue[Invocation | None] = queue.Queue()
        self._answers: dict[str, queue.Queue[Answer]] = {}
        self.init_error: Answer | None = None
        api = self

        class Handler(_Handler):
            runtime = api

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": POLL_EVERY_S}, daemon=True
        ).start()

    @property
    def address(self) -> str:
        """Value of AWS_LAMBDA_RUNTIME_API."""
        return f"127.0.0.1:{self._server.server_port}"

    def ask(self, invocation: Invocation) -> queue.Queue[Answer]:
        """Queue an invocation; its answer comes through the returned queue."""
        answer: queue.Queue[Answer] = queue.Queue()
        self._answers[invocation.request_id] = answer
        self._waiting.put(invocation)
        return answer

    def forget(self, request_id: str) -> None:
        """Stop waiting for an answer."""
        self._answers.pop(request_id, None)

    def close(self) -> None:
        """Stop serving, within POLL_EVERY_S."""
        self._waiting.put(None)
        threading.Thread(target=self._end, daemon=True).start()

    def _end(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def next(self) -> Invocation | None:
        """The next invocation, waiting for it; None when closed."""
        return self._waiting.get()

    def answered(self, request_id: str, answer: Answer) -> None:
        """The function's answer to one invocation."""
        waiting = self._answers.pop(request_id, None)
        if waiting is not None:
            waiting.put(answer)

    def failed_to_start(self, body: bytes) -> None:
        """The handler could not be imported; every caller receives the error."""
        self.init_error = Answer(False, body)
        for waiting in list(self._answers.values()):
            waiting.put(self.init_error)


class _Handler(BaseHTTPRequestHandler):
    runtime: RuntimeApi
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # headers and body in one packet,
    disable_nagle_algorithm = True  # or each answer waits 40 ms for a delayed ACK

    def log_message(self, *_: Any) -> None:
        """Requests are not logged."""

    def parse_request(self) -> bool:
        """Whether the request is the function's: a web page's is refused."""
        if not super().parse_request():
            return False
        if self.headers.get("Host") == self.runtime.address and not any(
            name in self.headers for name in _OF_PAGES
        ):
            return True
        self.close_connection = True
        self.send_error(403)
        return False

    def do_GET(self) -> None:
        invocation = self.runtime.next()
        if invocation is None:
            self.close_connection = True
            return
        headers = {
            "Content-Type": "application/json",
            "Lambda-Runtime-Aws-Request-Id": invocation.request_id,
            "Lambda-Runtime-Deadline-Ms": str(invocation.deadline_ms),
            "Lambda-Runtime-Invoked-Function-Arn": self.runtime.function_arn,
            "Lambda-Runtime-Trace-Id": f"Root=1-00000000-{uuid.uuid4().hex[:24]};Sampled=0",
        }
        self._reply(200, invocation.payload, headers)

    def do_POST(self) -> None:
        body = self._body()
        if self.path == _INIT_ERROR:
            self.runtime.failed_to_start(body)
        elif self.path.startswith(_INVOCATION):
            request_id, _, kind = self.path.removeprefix(_INVOCATION).partition("/")
            self.runtime.answered(request_id, Answer(kind == "response", body))
        self._reply(202, b"", {})

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass  # trailers
        return b"".join(parts)

    def _reply(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
