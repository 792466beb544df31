"""Builds and runs DynamoDB Local; the jars are brought once and kept until the pom changes."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
BUILD = HERE.parent.parent / "build" / "dynamodb-local"
SOURCES = (HERE / "pom.xml", HERE / "LoopbackDynamoDb.java")
BRING_S = 300


class CannotRun(RuntimeError):
    """What this machine lacks, in one sentence."""


def why_not() -> str | None:
    """Which tools are missing, None when all are there."""
    missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    return f"DynamoDB Local needs {', '.join(missing)} on the PATH" if missing else None


def build() -> Path:
    """The directory with `lib/` and `classes/`; brings and compiles what is not there yet.

    Raises CannotRun.
    """
    missing = why_not()
    if missing is not None:
        raise CannotRun(missing)
    BUILD.mkdir(parents=True, exist_ok=True)
    wanted = hashlib.sha256(b"".join(source.read_bytes() for source in SOURCES)).hexdigest()
    built = BUILD / "built"
    with (BUILD / "lock").open("w") as lock:  # one test worker builds, the others wait
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.is_file() or built.read_text() != wanted:
            _run("mvn", "-q", "-B", "-f", str(SOURCES[0]), "dependency:copy-dependencies",
                 f"-DoutputDirectory={BUILD / 'lib'}")  # fmt: skip
            _run("javac", "-cp", f"{BUILD / 'lib'}/*", "-d", str(BUILD / "classes"),
                 str(SOURCES[1]))  # fmt: skip
            built.write_text(wanted)
    return BUILD


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """DynamoDB Local's URL while it runs; one for all processes that name the same `folder`.

    It ends when the last of them closes its end of the pipe `input`, however that process ends.
    Raises CannotRun.
    """
    pipe, url = folder / "input", folder / "url"
    with (folder / "lock").open("w") as lock:  # one test worker starts it, the others wait
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            kept_open = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # no pipe yet, or nobody reads it any more
            pipe.unlink(missing_ok=True)
            os.mkfifo(pipe)
            reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            kept_open = os.open(pipe, os.O_WRONLY)
            os.set_blocking(reader, True)
            try:
                url.write_text(f"http://127.0.0.1:{_started(reader)}", encoding="ascii")
            finally:
                os.close(reader)
    try:
        yield url.read_text(encoding="ascii")
    finally:
        os.close(kept_open)


QUICK_START = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""A server of minutes: what the second compiler and a parallel collector save, they never earn back."""


def _started(stdin: int) -> int:
    """Start the server, which ends with `stdin`; the port on which it listens. Raises CannotRun."""
    home = build()
    command = (
        "java", *QUICK_START, f"-Djava.library.path={home / 'lib'}",
        "-cp", f"{home / 'classes'}:{home / 'lib'}/*", "LoopbackDynamoDb",
        "-inMemory", "-sharedDb", "-disableTelemetry",
    )  # fmt: skip
    process = subprocess.Popen(
        command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    port = next((line for line in process.stdout if line.startswith("port ")), None)
    if port is None:
        raise CannotRun("DynamoDB Local ended before it listened")
    return int(port.split()[1])


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=BRING_S, check=False)
    if done.returncode:
        output = (done.stdout + done.stderr).strip().splitlines()
        raise CannotRun(f"{command[0]} failed: {output[0] if output else 'it said nothing'}")


def required() -> bool:
    """Whether a machine that cannot run it is a failure: in CI it is."""
    return bool(os.environ.get("CI"))
