"""A threaded HTTP/1.1 server for a WSGI application: keep-alive, whole bodies, no Nagle delay."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment
from xml.sax.saxutils import escape

from moto.moto_server.werkzeug_app import MotoRequestHandler
from werkzeug.serving import ThreadedWSGIServer

_log = logging.getLogger(__name__)
Application = Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]]


class Forbidden(Exception):
    """The endpoint does not serve the request; the message is one sentence."""


_STATUS = {NotImplementedError: "501 Not Implemented", Forbidden: "403 Forbidden"}
_CODE = {NotImplementedError: "NotImplemented", Forbidden: "AccessDenied"}


class _Handler(MotoRequestHandler):  # type: ignore[misc]
    """werkzeug closes the connection after each answer; with the body read first it need not."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each answer waits 40 ms for a delayed ACK
    wbufsize = 1 << 16
    timeout = 300

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Requests are not logged."""

    def run_wsgi(self) -> None:
        """Answer one request and leave the connection ready for the next."""
        if self.headers.get("Expect", "").strip().lower() == "100-continue":
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.wfile.flush()
        environ = self.make_environ()
        body = self._body(environ)
        environ["wsgi.input"] = io.BytesIO(body)
        environ["wsgi.input_terminated"] = True
        environ["CONTENT_LENGTH"] = str(len(body))
        environ.pop("HTTP_TRANSFER_ENCODING", None)
        answer: list[Any] = ["500 Internal Server Error", []]

        def start_response(status: str, headers: list[tuple[str, str]], *_: object) -> Any:
            answer[:] = [status, headers]
            return lambda data: None

        try:
            parts = self.server.app(environ, start_response)
            content = b"".join(parts)
            close = getattr(parts, "close", None)
            if close is not None:
                close()
        except Exception as error:  # a missing operation must not look like a broken connection
            if type(error) not in _STATUS:
                _log.exception("%s %s failed", self.command, self.path)
            status, headers, content = _failure(error, environ.get("CONTENT_TYPE", ""))
            answer[:] = [status, headers]
        self._send(answer[0], answer[1], content)

    def _body(self, environ: WSGIEnvironment) -> bytes:
        if environ.get("wsgi.input_terminated"):
            return bytes(environ["wsgi.input"].read())
        length = int(environ.get("CONTENT_LENGTH") or 0)
        return bytes(self.rfile.read(length)) if length else b""

    def _send(self, status: str, headers: list[tuple[str, str]], content: bytes) -> None:
        code, _, phrase = status.partition(" ")
        self.send_response(int(code), phrase)
        bodiless = self.command == "HEAD" or int(code) in (204, 304)
        named = {name.lower() for name, _ in headers}
        for name, value in headers:
            if name.lower() != "content-length" or bodiless:
                self.send_header(name, value)
        if not bodiless:
            self.send_header("Content-Length", str(len(content)))
        elif "content-length" not in named and int(code) != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()
        if not bodiless:
            self.wfile.write(content)
        self.wfile.flush()


def _failure(error: Exception, content_type: str) -> tuple[str, list[tuple[str, str]], bytes]:
    """An error in the client's protocol; a missing operation is a 501, which no SDK retries."""
    status = _STATUS.get(type(error), "500 Internal Server Error")
    code = _CODE.get(type(error), "InternalFailure")
    text = str(error) or type(error).__name__
    if content_type.startswith("application/x-www-form-urlencoded"):
        detail = f"<Error><Code>{code}</Code><Message>{escape(text)}</Message></Error>"
        xml = f"<ErrorResponse>{detail}<Errors>{detail}</Errors></ErrorResponse>"
        return status, [("Content-Type", "text/xml")], xml.encode()
    body = json.dumps({"__type": code, "message": text, "error": text}).encode()
    return status, [("Content-Type", "application/json")], body


class HttpServer:
    """Serves `application` on 127.0.0.1 from background threads."""

    def __init__(self, application: Application, port: int = 0) -> None:
        self._server = ThreadedWSGIServer("127.0.0.1", port, application, handler=_Handler)
        self._server.daemon_threads = True
        self._server.log = lambda *_: None  # type: ignore[method-assign]
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
        )

    @property
    def port(self) -> int:
        """The port in use."""
        return int(self._server.server_port)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Stop answering and free the port."""
        self._server.shutdown()
        self._server.server_close()
