"""A worker process ends with the command that started it, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

STARTS_ONE = """
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import active_children, get_context
from headroom.proving.worker_process import begin_worker

if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=begin_worker)
    pool.submit(abs, 1).result()
    print(active_children()[0].pid, flush=True)
    time.sleep(60)
"""


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"


def test_no_worker_outlives_a_command_that_was_killed(tmp_path: Path) -> None:
    script = tmp_path / "starts_one.py"
    script.write_text(STARTS_ONE, encoding="utf-8")
    root = Path(__file__).resolve().parents[2]
    command = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )  # fmt: skip
    assert command.stdout is not None
    worker = int(command.stdout.readline())
    assert _runs(worker)
    command.send_signal(signal.SIGKILL)
    command.wait()
    command.stdout.close()
    deadline = time.monotonic() + 30
    while _runs(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(worker)
