"""What forks the processes of functions, when it ends before they do."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from headroom.localaws.functions.forks import ForkServer


def test_one_that_has_ended_starts_nothing_and_lets_nobody_wait(tmp_path: Path) -> None:
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("handler.py", "def handle(event, context): return 1")
    server = ForkServer(code.getvalue(), tmp_path / "package")
    assert server.alive
    server.close()
    assert not server.alive
    for _ in range(2):
        _, output = os.pipe()
        with pytest.raises((RuntimeError, OSError)):
            server.start("handler.handle", {}, output)
