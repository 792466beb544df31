"""Processes of one package's functions, forked from one that has imported what they share."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue

from headroom.localaws.functions import entry

KILLED = -int(signal.SIGKILL)


class Forked:
    """A forked process."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        """Exit status, negative for a signal; None while it runs."""
        self._ended = threading.Event()

    def end(self, status: int) -> None:
        """Say that it has ended."""
        self.returncode = status
        self._ended.set()

    def kill(self) -> None:
        """Kill it and wait until it is gone."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self._ended.wait()


class ForkServer:
    """Forks the processes of a package's functions."""

    def __init__(self, code: bytes, task_root: Path) -> None:
        _unpack(code, task_root)
        self.variables = _environment(task_root)
        """Environment that the functions of the package share."""
        self._channel, child = socket.socketpair()
        self._forked: dict[int, Forked] = {}
        self._started = SimpleQueue[Forked | None]()
        self._lock = threading.Lock()
        with child:
            self._server = subprocess.Popen(
                [sys.executable, entry.__file__, str(child.fileno())],
                cwd=task_root,
                env=self.variables,
                stdin=subprocess.DEVNULL,
                pass_fds=[child.fileno()],
            )
        threading.Thread(target=self._listen, daemon=True).start()

    def start(self, handler: str, variables: Mapping[str, str], output: int) -> Forked:
        """Start a function that writes to the descriptor `output`, which is closed here."""
        request = json.dumps([handler, dict(variables)]).encode() + b"\n"
        with self._lock:
            try:
                sent = socket.send_fds(self._channel, [request], [output])
            finally:
                os.close(output)
            self._channel.sendall(request[sent:])
            forked = self._started.get()
        if forked is None:
            self._started.put(None)  # nobody waits for what will not come
            raise RuntimeError("the process that starts the functions has ended")
        return forked

    @property
    def alive(self) -> bool:
        """Whether it can start more."""
        return self._server.poll() is None

    def close(self) -> None:
        """End it; the processes that it forked must have ended before."""
        self._server.kill()
        self._server.wait()

    def _listen(self) -> None:
        with self._channel.makefile("r", encoding="ascii") as lines:
            for line in lines:
                what, pid, *status = line.split()
                if what == "started":
                    forked = self._forked[int(pid)] = Forked(int(pid))
                    self._started.put(forked)
                else:
                    self._forked.pop(int(pid)).end(int(status[0]))
        for forked in self._forked.values():
            forked.end(KILLED)
        self._started.put(None)
        self._channel.close()


def digest_of(code: bytes) -> str:
    """The same for packages of the same files, whoever zipped them and when."""
    with zipfile.ZipFile(io.BytesIO(code)) as archive:
        files = [(one.filename, one.file_size, one.CRC) for one in archive.infolist()]
    found = sorted(file for file in files if not file[0].endswith("/"))
    return sha256(repr(found).encode()).hexdigest()[:16]


def _unpack(code: bytes, into: Path) -> None:
    """Unpack the code, once for all functions that have it: the first keeps what it compiles."""
    if into.is_dir():
        return
    into.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=into.name, dir=into.parent))
    with zipfile.ZipFile(io.BytesIO(code)) as archive:
        archive.extractall(fresh)
    try:
        fresh.rename(into)
    except OSError:  # another endpoint was faster
        shutil.rmtree(fresh)


def _environment(task_root: Path) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(task_root),
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
        "PYTHONHASHSEED": "0",  # the same seed gives the same record
        "PYTHONUNBUFFERED": "1",
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": str(task_root),
        "LAMBDA_TASK_ROOT": str(task_root),
        "AWS_EXECUTION_ENV": f"AWS_Lambda_python{sys.version_info[0]}.{sys.version_info[1]}",
    }
