"""One warm function process: started from a deployed zip, invoked, killed."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from headroom.localaws.functions import entry
from headroom.localaws.functions.forks import ForkServer
from headroom.localaws.functions.runtime_api import Answer, Invocation, RuntimeApi

START_ALLOWANCE_S = 10.0
"""A first invocation may take this much longer: Lambda's own limit for initialisation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """The deployed function. `digest` changes with code and configuration."""

    arn: str
    role: str
    """ARN of the role that it runs with."""
    name: str
    handler: str
    code: bytes
    environment: Mapping[str, str]
    timeout_s: int
    memory_mb: int
    json_logs: bool
    log_group: str
    traced: bool
    digest: str


class FunctionProcess:
    """The deployed code under awslambdaric in a child process."""

    def __init__(
        self,
        deployment: Deployment,
        *,
        forks: ForkServer,
        log: Path,
        clock_file: Path,
        environment: Mapping[str, str],
        on_line: Callable[[bytes], None],
    ) -> None:
        self.deployment = deployment
        self._api = RuntimeApi(deployment.arn)
        self._log = log.open("ab", buffering=0)
        self._on_line = on_line
        self._pending = b""
        self._pump_lock = threading.Lock()
        self._fresh = True
        self._pipe, output = os.pipe()
        self._child = forks.start(
            deployment.handler, self._environment(forks.variables, clock_file, environment), output
        )
        os.set_blocking(self._pipe, False)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def invoke(self, payload: bytes, request_id: str) -> Answer:
        """The function's answer, after its log lines have been read. One call at a time."""
        limit = self.deployment.timeout_s + (START_ALLOWANCE_S if self._fresh else 0.0)
        self._fresh = False
        deadline_ms = int((time.time() + limit) * 1000)
        answer = self._wait(
            self._api.ask(Invocation(request_id, payload, deadline_ms)), time.monotonic() + limit
        )
        self._api.forget(request_id)
        self._pump()
        return answer

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self._child.pid

    @property
    def alive(self) -> bool:
        """Whether it can be invoked again."""
        return self._child.returncode is None and self._api.init_error is None

    def close(self) -> None:
        """Kill the process and free everything."""
        self._child.kill()
        self._reader.join()
        self._pump()
        os.close(self._pipe)
        self._api.close()
        with contextlib.suppress(OSError):
            self._log.close()

    def _wait(self, waiting: queue.Queue[Answer], until: float) -> Answer:
        while True:
            left = until - time.monotonic()
            if left <= 0:
                self._child.kill()
                seconds = self.deployment.timeout_s
                return _error("Sandbox.Timedout", f"Task timed out after {seconds:.2f} seconds")
            with contextlib.suppress(queue.Empty):
                return waiting.get(timeout=min(left, 0.25))
            if self._api.init_error is not None:
                return self._api.init_error
            if self._child.returncode is not None:
                return _error(
                    "Runtime.ExitError",
                    f"Runtime exited with error: exit status {self._child.returncode}",
                )

    def _environment(
        self, package: Mapping[str, str], clock_file: Path, shared: Mapping[str, str]
    ) -> dict[str, str]:
        deployment = self.deployment
        own = {
            "_HANDLER": deployment.handler,
            "AWS_LAMBDA_RUNTIME_API": self._api.address,
            "AWS_LAMBDA_FUNCTION_NAME": deployment.name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(deployment.memory_mb),
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{deployment.name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": "local",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_LAMBDA_LOG_FORMAT": "JSON" if deployment.json_logs else "Text",
            entry.CLOCK_FILE_VARIABLE: str(clock_file),
        }
        return {**deployment.environment, **package, **own, **shared}

    def _read(self) -> None:
        while self._child.returncode is None:
            with contextlib.suppress(OSError, ValueError):
                if select.select([self._pipe], [], [], 1.0)[0]:
                    self._pump()
                    time.sleep(0.005)  # leaves the lines of a finished call to `invoke`

    def _pump(self) -> None:
        """Read what the pipe holds: all to the log file, whole lines to `on_line`."""
        with self._pump_lock:
            while True:
                try:
                    data = os.read(self._pipe, 1 << 16)
                except OSError:
                    return
                if not data:
                    return
                with contextlib.suppress(ValueError, OSError):
                    self._log.write(data)
                *lines, self._pending = (self._pending + data).split(b"\n")
                for line in lines:
                    self._on_line(line)


def _error(kind: str, message: str) -> Answer:
    return Answer(False, json.dumps({"errorType": kind, "errorMessage": message}).encode())
