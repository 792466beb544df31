from __future__ import annotations

from pathlib import Path

import pytest

from headroom.cli.commands.proving.demo import MARK, clear
from headroom.cli.demo.script.deployment import ENDPOINT
from headroom.cli.demo.script.script import digest, lines
from headroom.cli.sources.records_file import RecordsFile, record_of
from headroom.cli.terminal.problems import BadRequest
from headroom.localaws.daemon import LocalAws
from tests.cli.sources.chains import acted


def test_a_folder_of_somebody_else_is_never_emptied(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(BadRequest, match="not a folder of the demo"):
        clear(tmp_path)
    assert (tmp_path / "thesis.txt").exists()


def test_the_demo_empties_its_own_folder(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    clear(folder)
    (folder / "records.jsonl").write_text("old", encoding="utf-8")
    clear(folder)
    assert [path.name for path in folder.iterdir()] == [MARK]


def test_a_demo_that_is_stopped_while_it_empties_its_folder_does_not_block_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "demo"
    clear(folder)
    (folder / "cdk.out").mkdir()
    (folder / "cdk.out" / "manifest.json").write_text("{}", encoding="utf-8")

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupted:
        interrupted.setattr("shutil.rmtree", stopped)
        with pytest.raises(KeyboardInterrupt):
            clear(folder)
    clear(folder)
    assert [path.name for path in folder.iterdir()] == [MARK]


def test_records_come_back_from_their_file_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text("".join(lines([acted()])), encoding="utf-8")
    assert RecordsFile(path).chain(acted()[0].decision_id) == acted()
    assert RecordsFile(path).chain(acted()[0].decision_id[:8]) == acted()
    assert [record_of(line) for line in lines([acted()])] == list(acted())


def test_the_digest_changes_with_any_record() -> None:
    assert digest([acted()]) == digest([acted()])
    assert digest([acted()]) != digest([acted()[:-1]])


def test_a_running_demo_is_not_disturbed(tmp_path: Path) -> None:
    clear(tmp_path / "demo")
    with (
        LocalAws(state_dir=tmp_path / "demo" / ENDPOINT, clock="lockstep"),
        pytest.raises(BadRequest, match="Another demo is running"),
    ):
        clear(tmp_path / "demo")
    clear(tmp_path / "demo")
