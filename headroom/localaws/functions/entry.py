"""The entry point of function processes: AWS's runtime client with the endpoint's clock.

One process a package imports what its functions share (half a second of CPU time) and forks a
process for each function. Only what reads no environment when it is imported is shared.

The deployed asset is not touched. When its module `headroom.clock` is imported (in earlier releases
`headroom.wiring`), the function `utc_now` there is replaced by one that reads the endpoint's clock file; any other function that
wants simulated time can be written the same way, everything else keeps system time.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from types import ModuleType

CLOCK_FILE_VARIABLE = "_LOCAL_AWS_CLOCK_FILE"
CLOCKED_MODULES = ("headroom.clock", "headroom.wiring")
"""Where the deployed clock is; the second in packages of release 0.2.0 and earlier."""


def endpoint_now(path: str) -> datetime:
    """The endpoint's instant; system time while its clock follows that."""
    with open(path, encoding="ascii") as file:
        text = file.read().strip()
    return datetime.now(UTC) if text == "system" else datetime.fromisoformat(text)


class _ClockedLoader(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader, path: str) -> None:
        self._loader = loader
        self._path = path

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        module.utc_now = lambda: endpoint_now(self._path)  # type: ignore[attr-defined]


class _ClockedFinder(importlib.abc.MetaPathFinder):
    def __init__(self, path: str) -> None:
        self._path = path

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in CLOCKED_MODULES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _ClockedLoader(spec.loader, self._path)
        return spec


SHARED = ("boto3", "aws_lambda_powertools", "headroom.adapters", "headroom.application")
"""Imported before a fork where the package has them."""


def import_shared(task_root: str) -> None:
    """Import what the functions of a package have in common.

    What cannot be imported is left to the function that wants it, which reports it as Lambda does.
    """
    gc.disable()
    for name in SHARED:
        if importlib.machinery.PathFinder.find_spec(name.partition(".")[0], [task_root]):
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    with contextlib.suppress(Exception):  # a request names its client twice, of the same parts
        useragent = importlib.import_module("botocore.useragent")
        name = "sanitize_user_agent_string_component"
        setattr(useragent, name, cache(getattr(useragent, name)))
    gc.collect()
    gc.freeze()
    gc.enable()


def fork_as_asked(channel: socket.socket) -> str:
    """Fork a process per request, until the channel ends; returns, in each, its handler.

    A request is a line of JSON with the handler and the environment, and the descriptor that the
    process writes to. The answers are lines `started PID` and, later, `ended PID STATUS`.
    """
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([channel.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 1 << 12)
            _report_ended(channel)
        if channel.fileno() not in ready:
            continue
        text, descriptors, _, _ = socket.recv_fds(channel, 1 << 16, 1)
        if not text:
            os._exit(0)
        while not text.endswith(b"\n"):
            text += channel.recv(1 << 16)
        (output,) = descriptors
        child = os.fork()
        if not child:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            channel.close()
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.closerange(3, max(output, woken, wake) + 1)
            handler, environment = json.loads(text)
            os.environ.clear()
            os.environ.update(environment)
            return str(handler)
        os.close(output)
        channel.sendall(f"started {child}\n".encode())


def _report_ended(channel: socket.socket) -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                return
            channel.sendall(f"ended {child} {os.waitstatus_to_exitcode(status)}\n".encode())


def main(descriptor: int) -> None:
    """Fork processes as the channel with this descriptor asks; each serves until it is killed."""
    task_root = os.getcwd()
    sys.path.insert(0, task_root)
    import_shared(task_root)
    handler = fork_as_asked(socket.socket(fileno=descriptor))
    sys.meta_path.insert(0, _ClockedFinder(os.environ.pop(CLOCK_FILE_VARIABLE)))
    from awslambdaric.__main__ import main as serve

    gc.set_threshold(100_000, 20, 50)  # the handler's modules and clients stay until the end
    serve(["awslambdaric", handler])


if __name__ == "__main__":
    main(int(sys.argv[1]))
