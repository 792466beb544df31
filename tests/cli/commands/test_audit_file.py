"""`headroom audit` and `headroom explain` on a file of records."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from headroom.cli.main import run
from headroom.cli.sources.records_file import line_of
from headroom.domain.decision import decide
from headroom.domain.policy import Mode
from tests.application.test_databases import Databases, spending
from tests.builders import decision_input, policy, ref, starved_gp3, volume
from tests.cli.sources.chains import Chain, acted, chain, written

WATCHED = "vol-2"


def watched() -> Chain:
    seen = starved_gp3(vol=volume(ref=ref(WATCHED), tags=()))
    return chain(decide(decision_input(seen, rules=policy(mode=Mode.OBSERVE))))


@pytest.fixture
def records(tmp_path: Path) -> str:
    return str(written(tmp_path / "records.jsonl", acted(), watched()))


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, object]]:
    assert run(["audit", *words, "--json"]) == 0
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("name", [WATCHED, ref(WATCHED).arn])
def test_records_are_found_by_volume_id_and_by_arn(
    records: str, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    found = asked(capsys, "--file", records, "--resource", name)
    assert [r["outcome"] for r in found] == ["hold"]


@pytest.mark.parametrize(
    "name", ["db:orders", "db:Orders", "arn:aws:rds:us-east-1:123456789012:db:orders"]
)
def test_records_of_a_database_are_found_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    decided = chain(Databases.of(spending()).reconcile())
    path = str(written(tmp_path / "records.jsonl", acted(), decided))
    found = asked(capsys, "--file", path, "--resource", name)
    assert [r["decision_id"] for r in found] == [decided[0].decision_id]
    assert run(["audit", "--file", path, "--resource", name]) == 0
    assert "db:orders" in capsys.readouterr().out
    assert asked(capsys, "--file", path, "--resource", "cluster:orders") == []


def test_a_name_that_could_be_two_things_is_one_sentence(
    records: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", "--file", records, "--resource", "orders"]) == 2
    assert "write db:orders for a DB instance" in " ".join(capsys.readouterr().err.split())


def test_records_are_found_by_outcome(records: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = asked(capsys, "--file", records, "--outcome", "relieved")
    assert [r["decision_id"] for r in found] == [acted()[0].decision_id]


def test_records_are_found_by_time_newest_first(
    records: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = asked(capsys, "--file", records, "--since", "2026-01-05T12:01Z")
    assert [r["outcome"] for r in found] == ["relieved"]
    assert len(asked(capsys, "--file", records)) == 5
    assert asked(capsys, "--file", records, "--until", "2026-01-05T11:59Z") == []


def test_one_decision_is_its_whole_chain(records: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = asked(capsys, "--file", records, "--decision", acted()[0].decision_id)
    assert [r["step"] for r in found] == ["decided", "intended", "applied", "relieved"]


def test_explain_describes_the_decision_in_words(
    records: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", acted()[0].decision_id, "--file", records]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for part in (
        "ACT vol-1 at 2026-01-05 12:00Z, woken by an alarm",
        "Binding: the volume's IOPS",
        "gp3 100 GiB 12000 IOPS 207 MiB/s: $56.28 a month (+$48.28), value +$",
        "price_per_account: 48.28 is at most 2,000.00 USD/month",
        "2026-01-05 12:25Z relieved: No pressure for 10 minutes.",
        "$8.00 -> $56.28 a month (+$48.28)",
        "4 links, and all hashes match",
    ):
        assert part in said


def test_a_record_that_was_changed_is_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *rest = acted()
    forged = (replace(first, summary="nothing happened"), *rest)
    path = tmp_path / "forged.jsonl"
    path.write_text("".join(line_of(r) + "\n" for r in forged), encoding="utf-8")
    for words in (["explain", first.decision_id], ["audit", "--decision", first.decision_id]):
        assert run([*words, "--file", str(path)]) == 1
    assert "BROKEN at link 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["audit", "--outcome", "won"], "There is no outcome 'won'"),
        (["audit", "--since", "tuesday"], "--since 'tuesday' is not a time"),
        (["audit", "--since", "2026-01-06", "--until", "2026-01-05"], "is after --until"),
        (["audit", "--limit", "0"], "limit"),
        (["audit", "--decision", "d", "--outcome", "act"], "takes no other filter"),
        (["explain", "nobody"], "There is no decision nobody"),
        (["explain"], "Missing argument"),
        (["audit", "--colour", "red"], "No such option"),
        (["audit", "--region", "us-east-1"], "not both"),
        (["forget"], "No such command"),
    ],
)
def test_a_senseless_question_gets_one_sentence_and_exit_code_2(
    records: str, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    place = ["--file", records] if words[0] in ("audit", "explain") else []
    assert run([*words, *place]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("headroom: ")
    assert sentence in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize("text", ["not json\n", "{}\n", '{"at": "2026-01-05T00:00:00"}\n', "[]\n"])
def test_a_file_that_holds_no_records_is_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text(text, encoding="utf-8")
    assert run(["audit", "--file", str(path)]) == 2
    assert "Line 1" in capsys.readouterr().err


def test_a_missing_file_is_refused_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "--file", "nowhere.jsonl"]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_without_a_place_the_record_of_the_last_demo_is_read_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build/demo").mkdir(parents=True)
    written(tmp_path / "build/demo/records.jsonl", acted())
    assert run(["audit", "--json"]) == 0
    said = capsys.readouterr()
    assert len(json.loads(said.out)) == 4
    assert "Reading build/demo/records.jsonl from the last demo" in " ".join(said.err.split())


@pytest.mark.parametrize("text", ["version: 1", "[]", "1"])
@pytest.mark.parametrize("verb", [["audit"], ["explain", "abc"], ["report"]])
def test_another_file_is_no_file_of_records(
    verb: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "policy.yaml"
    other.write_text(f"{text}\n")
    assert run([*verb, "--file", str(other)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "this is no file of records" in said
    assert "indices" not in said
