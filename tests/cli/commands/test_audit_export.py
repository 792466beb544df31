"""`headroom audit --csv` and `--jsonl`, bodies on demand, and `--follow`."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from headroom.cli.main import run
from headroom.cli.sources.records_file import line_of
from headroom.cli.views.record_list import COLUMNS
from headroom.domain.state import DECISION_FORMAT, seal
from tests.cli.sources.chains import acted, written

STEPS = ["decided", "intended", "applied", "relieved"]


@pytest.fixture
def records(tmp_path: Path) -> str:
    return str(written(tmp_path / "records.jsonl", acted()))


def rows(text: str) -> list[dict[str, str]]:
    return [*csv.DictReader(StringIO(text))]


def test_a_listing_has_reason_and_price_and_no_body(
    records: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", "--file", records, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [tuple(row) for row in found] == [COLUMNS] * 4
    assert {(row["reason"], row["price_change_usd"]) for row in found} == {("starved", 48.28)}
    assert run(["audit", "--file", records]) == 0
    assert "+$48.28" in capsys.readouterr().out


def test_bodies_and_hashes_come_on_demand(records: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "--file", records, "--json", "--bodies"]) == 0
    *_, first = json.loads(capsys.readouterr().out)
    assert (first["hash"], first["body"]["format"]) == (acted()[0].hash, DECISION_FORMAT)


def test_csv_goes_to_stdout_or_to_a_file_oldest_first(
    records: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", "--file", records, "--csv", "-"]) == 0
    text = capsys.readouterr().out
    assert [row["step"] for row in rows(text)] == STEPS
    assert rows(text)[0]["price_change_usd"] == "48.28"
    target = tmp_path / "all.csv"
    assert run(["audit", "--file", records, "--csv", str(target)]) == 0
    assert target.read_text(encoding="utf-8") == text
    assert [path.name for path in tmp_path.glob("*.part")] == []


def test_json_lines_are_one_object_a_line(records: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "--file", records, "--jsonl", "-", "--limit", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["step"] for line in lines] == STEPS[:3]


@pytest.mark.parametrize("start", [*"=+-@\t\r", "\uff1d"])
def test_no_cell_of_a_csv_is_a_formula(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], start: str
) -> None:
    first = acted()[0]
    evil = f'{start}HYPERLINK("https://example.com","x"),\n"y"'
    record = seal(
        decision_id="d", sequence=0, step=first.step, resource=evil, at=first.at, outcome="act",
        summary=evil, body="{}", previous_hash=first.previous_hash, reason="starved",
        price_change_usd=-first.price_change_usd if first.price_change_usd else None,
    )  # fmt: skip
    path = tmp_path / "records.jsonl"
    path.write_text(line_of(record) + "\n", encoding="utf-8")
    assert run(["audit", "--file", str(path), "--csv", "-"]) == 0
    (row,) = csv.DictReader(StringIO(capsys.readouterr().out, newline=""))
    assert row["summary"] == row["resource"] == "'" + evil
    assert row["price_change_usd"] == "-48.28"  # a number of ours stays one


def saying(path: Path, summary: str) -> str:
    """A chain in a file, whose records have the summary; its decision."""
    first, *_ = acted()
    record = seal(
        decision_id=first.decision_id, sequence=0, step=first.step, resource=first.resource,
        at=first.at, outcome="act", summary=summary, body=first.body,
        previous_hash=first.previous_hash, reason="starved", price_change_usd=None,
    )  # fmt: skip
    path.write_text(line_of(record) + "\n", encoding="utf-8")
    return first.decision_id


@pytest.mark.parametrize("words", [[], ["--decision"]], ids=["list", "chain"])
def test_a_record_is_read_as_text_whoever_wrote_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """Neither markup that hides text or fails, nor what moves the cursor of a terminal."""
    path = tmp_path / "records.jsonl"
    decision = saying(path, "a [/bold] [red]b :warning: \x1b[2J\x9b31m\u202ec\u2028d")
    assert run(["audit", "--file", str(path), *words, *([decision] if words else [])]) == 0
    output = "".join(capsys.readouterr().out.split())
    for part in ("a[/bold]", "[red]b", ":warning:?[2J?31m?c", "d"):
        assert part in output
    assert all(c.isprintable() for c in output)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--csv", "-", "--jsonl", "-"], "one of --json, --csv and --jsonl"),
        (["--bodies"], "--bodies goes with --json"),
        (["--follow"], "a file does not grow"),
        (["--follow", "--until", "2026-01-05"], "neither --until nor --json"),
        (["--follow", "--json"], "neither --until nor --json"),
        (["--decision", "d", "--csv", "-"], "goes with --json"),
    ],
)
def test_what_does_not_go_together_gets_one_sentence(
    records: str, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert run(["audit", "--file", records, *words]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_a_file_that_cannot_be_written_gets_one_sentence(
    records: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "nowhere" / "all.csv"
    assert run(["audit", "--file", records, "--csv", str(target)]) == 1
    assert "cannot be written: No such file" in " ".join(capsys.readouterr().err.split())


def test_a_chain_without_its_beginning_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text("".join(line_of(r) + "\n" for r in acted()[2:]), encoding="utf-8")
    assert run(["audit", "--file", str(path), "--decision", acted()[0].decision_id]) == 1
    assert "The first 2 records are missing" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("change", [{"reason": "cheaper"}, {"price_change_usd": None}])
def test_a_changed_reason_or_price_breaks_the_hash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, object]
) -> None:
    first, *rest = acted()
    path = tmp_path / "records.jsonl"
    forged = (replace(first, **change), *rest)  # type: ignore[arg-type]
    path.write_text("".join(line_of(r) + "\n" for r in forged), encoding="utf-8")
    assert run(["audit", "--file", str(path), "--decision", first.decision_id]) == 1
    assert "broken at record 0" in " ".join(capsys.readouterr().err.split())


def test_records_of_the_first_format_without_reason_and_price_stay_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As that release computed the hash: over neither of the two."""
    first = acted()[0]
    old = seal(
        decision_id="d", sequence=0, step=first.step, resource=first.resource, at=first.at,
        outcome="act", summary="s", body="{}", previous_hash=first.previous_hash, format=1,
    )  # fmt: skip
    assert old.hash == "44782a66fe40800f6d44f78ccb07f40533153de46bd7708e05cf4d053a012a4d"
    plain = json.loads(line_of(old))
    del plain["reason"], plain["price_change_usd"]
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(plain) + "\n", encoding="utf-8")
    assert run(["audit", "--file", str(path), "--decision", "d"]) == 0
