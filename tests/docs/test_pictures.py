"""The documentation's pictures are made from real output, or one sentence says what is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools import pictures


def test_a_terminal_picture_is_text_that_asks_no_server() -> None:
    drawn = pictures.svg([("headroom version", "headroom 0.1.0 \x1b[32mfine\x1b[0m\n")])
    assert drawn.startswith("<svg")
    assert "headroom&#160;0.1.0" in drawn
    assert not re.search(r"url\(.?https?:|href=", drawn)


def test_the_same_output_gives_the_same_picture() -> None:
    assert pictures.svg([("a", "b")]) == pictures.svg([("a", "b")])


def test_without_a_demo_one_sentence_says_to_run_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pictures.main(["--demo", str(tmp_path), "--into", str(tmp_path)]) == 2
    assert (
        capsys.readouterr().err
        == f"{tmp_path / 'records.jsonl'} is not there: run `make demo` first.\n"
    )


def test_without_a_browser_one_sentence_says_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pictures.Missing, match="install it, on Debian"):
        pictures._browser(str(tmp_path / "chromium"))
