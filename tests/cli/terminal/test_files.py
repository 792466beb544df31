"""Files to be written are refused before the work where that can be known, and after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from headroom.cli.terminal.files import refuse_unwritable, save
from headroom.cli.terminal.problems import BAD_INPUT, BadRequest


def test_what_can_be_written_is_let_through_and_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "there.html").write_text("old", encoding="utf-8")
    for path in (tmp_path / "there.html", tmp_path / "new.html", tmp_path / "a" / "b" / "c.html"):
        refuse_unwritable(path)
    assert [each.name for each in tmp_path.iterdir()] == ["there.html"]
    assert (tmp_path / "there.html").read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize(
    ("name", "why"), [("folder", "is a directory."), ("file/page.html", "file is not a directory.")]
)
def test_what_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, name: str, why: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(BadRequest) as refused:
        refuse_unwritable(tmp_path / name)
    assert str(refused.value).endswith(why)
    assert refused.value.exit_code == BAD_INPUT


def test_a_folder_that_may_not_be_written_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda place, mode: False)
    with pytest.raises(BadRequest, match="is not writable"):
        refuse_unwritable(tmp_path / "page.html")


def test_a_relative_name_is_resolved_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refuse_unwritable(Path("page.html"))
    save("text", Path("new") / "page.html")
    assert (tmp_path / "new" / "page.html").read_text(encoding="utf-8") == "text"


def test_a_write_failure_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadRequest, match=r"page\.html could not be written: .*\.$"):
        save("text", tmp_path / "file" / "page.html")
