from __future__ import annotations

import json
from pathlib import Path

import boto3
import pytest

from headroom.cli.main import run


def test_the_endpoint_starts_answers_any_client_and_stops(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--state-dir", str(tmp_path / "endpoint"), "--json"]
    assert run(["local", "status", *place]) == 1
    assert run(["local", "up", *place]) == 0
    try:
        lines = capsys.readouterr().out
        started = json.loads(lines[lines.index('{\n  "url"') :])
        assert started["url"].startswith("http://127.0.0.1:")
        client = boto3.client(
            "sts", endpoint_url=started["url"], region_name="us-east-1",
            aws_access_key_id=started["environment"]["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key="any",
        )  # fmt: skip
        assert client.get_caller_identity()["Account"] == "123456789012"
        assert run(["local", "status", *place]) == 0
    finally:
        assert run(["local", "down", *place]) == 0
    assert run(["local", "status", *place]) == 1
    assert run(["local", "down", *place]) == 0


def test_a_state_folder_that_is_a_file_is_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "taken"
    taken.write_text("")
    assert run(["local", "up", "--state-dir", str(taken)]) == 2
    assert f"{taken} cannot be used: File exists." in " ".join(capsys.readouterr().err.split())
