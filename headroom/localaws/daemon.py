"""Starting and stopping an endpoint: detached with `up` and `down`, or for a `with` block."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

READY_FILE = "endpoint.json"
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 10.0
NOT_INSTALLED = (
    "The local AWS endpoint needs more packages: run pip install 'headroom-storage[local]'."
)


class EndpointFailed(RuntimeError):
    """The endpoint did not start or does not answer; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a running endpoint answers, its process, and the access key that requests must carry."""

    url: str
    pid: int
    access_key: str

    @classmethod
    def of_file(cls, state_dir: Path) -> Endpoint:
        """What a ready endpoint wrote; raises OSError, ValueError or KeyError."""
        ready = json.loads((state_dir / READY_FILE).read_text())
        return cls(url=ready["url"], pid=int(ready["pid"]), access_key=ready["access_key"])

    @property
    def credentials(self) -> dict[str, str]:
        """Keyword arguments of a boto3 client or session; the key is what counts."""
        return {"aws_access_key_id": self.access_key, "aws_secret_access_key": "local"}

    def environment(self, region: str = "us-east-1") -> dict[str, str]:
        """Environment variables that lead AWS's tools and SDKs to it."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_REGION": region,
            "AWS_DEFAULT_REGION": region,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def control(
        self, name: str, body: Mapping[str, Any] | None = None, *, timeout_s: float = 3_600
    ) -> dict[str, Any]:
        """GET (without a body) or POST /_headroom/`name`; raises EndpointFailed."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.url}/_headroom/{name}", data=data, headers={"X-Headroom-Key": self.access_key}
        )
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as answer:
                content: dict[str, Any] = json.load(answer)
                return content
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            with contextlib.suppress(ValueError, KeyError, TypeError):
                text = json.loads(text)["error"]
            raise EndpointFailed(text) from error
        except OSError as error:
            raise EndpointFailed(f"The local AWS at {self.url} does not answer: {error}") from error


def up(*, port: int = 0, state_dir: Path, clock: str = "real", **options: Any) -> Endpoint:
    """Start an endpoint that outlives this process; one that runs already is returned.

    Options are those of `python -m headroom.localaws`, in snake case. Raises EndpointFailed.
    """
    running = status(state_dir)
    if running is not None:
        return running
    child = _spawn(state_dir, port, clock, options, stdin=subprocess.DEVNULL, detached=True)
    return _await_ready(child, state_dir)


def down(state_dir: Path) -> bool:
    """Stop the endpoint of a state directory; False when none runs."""
    running = status(state_dir)
    if running is None:
        return False
    os.kill(running.pid, signal.SIGTERM)
    until = time.monotonic() + STOP_TIMEOUT_S
    while _alive(running.pid):
        if time.monotonic() > until:
            os.kill(running.pid, signal.SIGKILL)
            break
        time.sleep(0.05)
    (state_dir / READY_FILE).unlink(missing_ok=True)
    return True


def status(state_dir: Path) -> Endpoint | None:
    """The endpoint of a state directory, None unless it answers and says it is that one."""
    try:
        endpoint = Endpoint.of_file(state_dir)
        state = endpoint.control("state", timeout_s=10)
    except (OSError, ValueError, KeyError, EndpointFailed):
        return None
    ours = state["pid"] == endpoint.pid and state["state_dir"] == str(state_dir.resolve())
    return endpoint if ours else None


class LocalAws:
    """An endpoint in a child process for the length of a `with` block.

    It ends with the block, and also when this process dies. Without a `state_dir` a temporary
    one is used and removed.
    """

    def __init__(
        self, *, port: int = 0, state_dir: Path | None = None, clock: str = "real", **options: Any
    ) -> None:
        self._port = port
        self._kept = state_dir
        self._clock = clock
        self._options = options
        self._child: subprocess.Popen[bytes] | None = None
        self.state_dir = Path()
        self.endpoint = Endpoint("", 0, "")

    def __enter__(self) -> Self:
        self.state_dir = self._kept or Path(tempfile.mkdtemp(prefix="local-aws-"))
        self._child = _spawn(
            self.state_dir, self._port, self._clock,
            {**self._options, "until_stdin_ends": True}, stdin=subprocess.PIPE, detached=False,
        )  # fmt: skip
        self.endpoint = _await_ready(self._child, self.state_dir)
        return self

    def __exit__(self, *_: object) -> None:
        child = self._child
        if child is not None:
            child.terminate()
            try:
                child.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            if child.stdin is not None:
                child.stdin.close()
        if self._kept is None:
            shutil.rmtree(self.state_dir, ignore_errors=True)

    @property
    def url(self) -> str:
        """Value of AWS_ENDPOINT_URL."""
        return self.endpoint.url

    @property
    def credentials(self) -> dict[str, str]:
        """Keyword arguments of a boto3 client or session."""
        return self.endpoint.credentials

    def environment(self, region: str = "us-east-1") -> dict[str, str]:
        """Environment variables that lead AWS's tools and SDKs to it."""
        return self.endpoint.environment(region)

    def control(self, name: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """One call of the control API; raises EndpointFailed."""
        return self.endpoint.control(name, body)


def require_installed() -> None:
    """Raise EndpointFailed unless the packages of the endpoint are there."""
    if find_spec("moto") is None or find_spec("awslambdaric") is None:
        raise EndpointFailed(NOT_INSTALLED)


def _spawn(
    state_dir: Path,
    port: int,
    clock: str,
    options: Mapping[str, Any],
    *,
    stdin: int,
    detached: bool,
) -> subprocess.Popen[bytes]:
    require_installed()
    state_dir.mkdir(parents=True, exist_ok=True)
    (state_dir / READY_FILE).unlink(missing_ok=True)
    command = [
        sys.executable, "-m", "headroom.localaws", "--port", str(port),
        "--state-dir", str(state_dir), "--clock", clock,
    ]  # fmt: skip
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            command.append(flag)
        elif value is not None and value is not False:
            command += [flag, str(value)]
    with (state_dir / "endpoint.log").open("ab") as log:
        return subprocess.Popen(
            command, stdin=stdin, stdout=log, stderr=log, start_new_session=detached
        )


def _await_ready(child: subprocess.Popen[bytes], state_dir: Path) -> Endpoint:
    until = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < until:
        if child.poll() is not None:
            raise EndpointFailed(
                f"The local AWS ended with code {child.returncode}: {_last_line(state_dir)}"
            )
        with contextlib.suppress(OSError, ValueError, KeyError):
            endpoint = Endpoint.of_file(state_dir)
            if endpoint.pid == child.pid:
                return endpoint
        time.sleep(0.02)
    child.kill()
    raise EndpointFailed(f"The local AWS did not start in {START_TIMEOUT_S:.0f} s.")


def _last_line(state_dir: Path) -> str:
    lines = (state_dir / "endpoint.log").read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"see {state_dir / 'endpoint.log'}"


def _alive(pid: int) -> bool:
    with contextlib.suppress(ChildProcessError):
        if os.waitpid(pid, os.WNOHANG)[0] == pid:
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
