"""What a worker process does first, so that it never outlives the command that started it."""

from __future__ import annotations

import os
from multiprocessing import parent_process
from signal import SIG_IGN, SIGINT, signal
from threading import Thread


def begin_worker() -> None:
    """Leave Ctrl-C to the parent process, and end with it, however that ends."""
    signal(SIGINT, SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()  # a pool's worker does not notice; it would wait for work for ever
        os._exit(1)
