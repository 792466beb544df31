"""`headroom policy`: checked, displayed and tested at the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from headroom.cli.main import run
from headroom.policy import canonical_json, load_policy_file, parse_policy, schema_text
from tests.builders import ACCOUNT, REGION
from tests.cli.commands.signed_in import account


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A policy in the folder one stands in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text(
        "rules:\n"
        "  - {match: {tags: {team: data}}, set: {max_iops: 9000, cooldown: 2h}}\n"
        "  - {match: {account: '123456789012'}, set: {growth: true}}\n"
    )
    return tmp_path / "policy.yaml"


def said(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_the_schema_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["policy", "schema"]) == 0
    assert capsys.readouterr().out == schema_text()


def test_a_policy_is_printed_as_parameters_of_the_stacksets_template(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run(["policy", "parameters", "--also", "CodeBucket=acme", "--also", "NotifyEmail=a=b"]) == 0
    )
    found = {each["ParameterKey"]: each["ParameterValue"] for each in said(capsys)}
    assert found.pop("Policy") == canonical_json(load_policy_file(policy))
    assert found == {
        "Policy1": "", "Policy2": "", "Policy3": "", "Policy4": "", "CodeBucket": "acme",
        "NotifyEmail": "a=b",
    }  # fmt: skip


@pytest.mark.parametrize(("rules", "fits"), [(120, True), (300, False)])
def test_a_long_policy_is_printed_in_parts_as_far_as_the_template_has_room(
    policy: Path, capsys: pytest.CaptureFixture[str], rules: int, fits: bool
) -> None:
    rule = "  - {match: {tags: {team: 'number-%d'}}, set: {mode: auto, max_iops: %d}}\n"
    policy.write_text("rules:\n" + "".join(rule % (n, 3_000 + n) for n in range(rules)))
    status = run(["policy", "parameters"])
    output = capsys.readouterr()
    if not fits:
        assert status == 2
        assert "the template has parameters for 4" in output.err
        return
    given = [each["ParameterValue"] for each in json.loads(output.out)]
    assert status == 0
    assert "".join(given[1:]) == canonical_json(load_policy_file(policy))
    assert max(map(len, given)) <= 4_096


def test_another_parameter_has_a_name_and_a_value(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["policy", "parameters", "--also", "CodeBucket"]) == 2
    assert "is not of the form NAME=VALUE" in capsys.readouterr().err


def test_a_valid_policy_is_reported_with_its_version(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["policy", "check"]) == 0
    assert "policy.yaml is valid: version " in capsys.readouterr().out
    assert run(["policy", "check", "policy.yaml", "--json"]) == 0
    found = said(capsys)
    assert (found["ok"], found["problems"], len(found["version"])) == (True, [], 16)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("defaults: {max_iops: -1, growth: 7}\n", ["max_iops is -1", "growth is 7"]),
        ("rules: [{match: {type: gp2}, set: {slots_reserve: 4}}]", ["can never allow anything"]),
        ("rules:\n" + "".join(
            f"  - {{match: {{tags: {{team: '{n:0250}'}}}}, set: {{max_iops: {3_000 + n}}}}}\n"
            for n in range(900)), ["262,144"]),
        ("", ["is empty"]),
    ],
)  # fmt: skip
def test_everything_wrong_is_one_sentence_each_and_exit_code_2(
    policy: Path, capsys: pytest.CaptureFixture[str], text: str, sentences: list[str]
) -> None:
    policy.write_text(text)
    assert run(["policy", "check"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(sentences)
    for line, sentence in zip(lines, sentences, strict=True):
        assert line.startswith("Problem: ")
        assert sentence in line
    assert run(["policy", "check", "--json"]) == 2
    assert len(said(capsys)["problems"]) == len(sentences)


def test_a_policy_for_many_accounts_need_only_fit_where_it_is_published(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy.write_text(
        "rules:\n"
        + "".join(
            f"  - {{match: {{account: '{n:012}', tags: {{team: {'a' * 200}}}}}, "
            f"set: {{max_iops: {3_000 + n}}}}}\n"
            for n in range(1_050)
        )
    )
    assert run(["policy", "check"]) == 2
    assert "-c account=... -c region=..." in capsys.readouterr().err
    assert run(["policy", "check", "--account", f"{7:012}", "--json"]) == 0
    assert said(capsys)["characters"] < 2_000


def test_a_remark_stops_nothing(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy.write_text("rules: [{match: {}, set: {mode: auto}}]")
    assert run(["policy", "check"]) == 0
    assert "Remark: Rule 1 matches every resource" in capsys.readouterr().err


def test_a_synthetic_volume_lists_every_number_and_its_origin(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["policy", "show", "--type", "gp2", "--size", "400", "--tag", "team=data",
             "--tag", "headroom=auto", "--tag", "headroom:max-iops=12000",
             "--tag", "headroom:cooldown=3h"]  # fmt: skip
    assert run([*words, "--json"]) == 0
    found = said(capsys)
    limits = {name: (one["value"], one["from"]) for name, one in found["limits"].items()}
    assert limits["mode"] == ("auto", "tag headroom")
    assert limits["max_iops"] == (9_000, "rule 1")
    assert limits["cooldown"] == ("180m", "tag headroom:cooldown")
    assert limits["growth"] == (True, "rule 2")
    assert limits["max_size_gib"] == (16_384, "defaults")
    assert (found["rules"], found["enrolled"]) == ([1, 2], True)
    assert "headroom:max-iops" in found["notes"][0]
    assert run(words) == 0
    output = capsys.readouterr().out
    assert "rule 1, rule 2 matches it." in output
    assert "Mode auto: it is changed within these limits." in output


def test_rules_for_another_account_do_not_count(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["policy", "show", "--type", "gp3", "--account", "210987654321", "--json"]) == 0
    assert said(capsys)["rules"] == []


@pytest.mark.parametrize(
    ("kind", "configuration"),
    [("rds", "gp3 500 GiB 12000 IOPS 500 MiB/s"), ("aurora", "aurora"),
     ("ebs", "gp3 500 GiB 3000 IOPS 125 MiB/s")],
)  # fmt: skip
def test_a_policy_is_displayed_for_a_synthetic_database(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, configuration: str
) -> None:
    """Defaults enrol no database; a rule that names its kind does."""
    path = tmp_path / "policy.yaml"
    path.write_text("defaults: {mode: auto}\nrules: [{match: {kind: rds}, set: {mode: approve}}]\n")
    words = ["policy", "show", "--kind", kind, "--size", "500", "--policy", str(path), "--json"]
    assert run(words) == 0
    found = said(capsys)
    assert (found["kind"], found["configuration"]) == (kind, configuration)
    assert found["volume"].startswith("a synthetic ")
    expected = {"rds": "approve", "aurora": "observe", "ebs": "auto"}[kind]
    assert found["limits"]["mode"]["value"] == expected


def test_known_events_are_displayed_and_remarked_on(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy.write_text(
        "known_events:\n"
        "  - {name: report, match: {tags: {app: x}}, when: weekly Sun 02:00 UTC, for: 3h, iops: 9000}\n"
        "  - {name: launch, when: once 2020-01-01 00:00 UTC, for: 1d, throughput_mibps: 2000}\n"
    )
    assert run(["policy", "show", "--type", "gp3", "--tag", "app=x"]) == 0
    output = capsys.readouterr().out
    assert "Known event report: weekly Sun 02:00 UTC for 180 minutes, 9,000 IOPS." in output
    assert "Known event launch: once 2020-01-01 00:00 UTC for 1440 minutes, 2,000 MiB/s." in output
    assert run(["policy", "show", "--type", "gp3", "--json"]) == 0
    assert [one["name"] for one in said(capsys)["known_events"]] == ["launch"]
    assert run(["policy", "check"]) == 0
    remarks = capsys.readouterr().err
    assert "The known event 'launch' is over; take it out." in remarks
    assert "The known event 'launch' takes 2,000, and max_throughput_mibps is 1,000." in remarks


def test_an_invalid_tag_is_reported_with_exit_code_1(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["policy", "show", "--type", "gp3", "--tag", "headroom:max-iop=1"]) == 1
    assert "Headroom changes nothing until this is corrected" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "Name a volume or database, or describe a synthetic one"),
        (["vol-1", "--type", "gp3"], "Name a volume or database, or describe a synthetic one"),
        (["db:orders", "--kind", "rds"], "Name a volume or database, or describe a synthetic one"),
        (["--kind", "aurora", "--type", "gp3"], "There is no gp3 storage of kind aurora"),
        (["--kind", "ebs", "--type", "aurora"], "There is no aurora storage of kind ebs"),
        (["--kind", "rds", "--type", "io1", "--size", "50"], "There is no io1 storage of 50 GiB"),
        (["--type", "gp9"], "gp9"),
        (["--type", "gp3", "--tag", "headroom"], "write KEY=VALUE"),
        (["--type", "st1", "--size", "1"], "There is no st1 volume of 1 GiB"),
        (["vol-1", "--tag", "a=b"], "has its own tags"),
        (["--type", "gp3", "--policy", "none.yaml"], "none.yaml cannot be read"),
    ],
)
def test_what_makes_no_sense_to_show_is_one_sentence(
    policy: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    assert run(["policy", "show", *words]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


@pytest.fixture
def volume_id(policy: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An account with one tagged volume and a published policy."""
    with account(monkeypatch):
        tags = [{"Key": "headroom", "Value": "auto"}, {"Key": "headroom:max-iops", "Value": "8000"}]
        yield str(
            boto3.client("ec2", region_name=REGION).create_volume(
                AvailabilityZone=f"{REGION}a", Size=100, VolumeType="gp2",
                TagSpecifications=[{"ResourceType": "volume", "Tags": tags}],
            )["VolumeId"]
        )  # fmt: skip


def publish(text: str) -> None:
    boto3.client("ssm", region_name=REGION).put_parameter(
        Name="/headroom/policy", Value=text, Type="String"
    )


def test_a_volume_of_the_account_is_displayed_under_the_published_policy(
    volume_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(canonical_json(parse_policy({"defaults": {"growth": True}}, source="policy")))
    assert run(["policy", "show", volume_id, "--region", REGION, "--json"]) == 0
    found = said(capsys)
    assert found["policy"] == f"the policy published in {REGION}"
    assert found["account"] == ACCOUNT
    assert found["limits"]["max_iops"] == {"value": 8_000, "from": "tag headroom:max-iops"}
    assert found["limits"]["growth"]["value"] is True


def test_a_file_shows_what_it_would_mean_there(
    volume_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["policy", "show", volume_id, "--region", REGION, "--policy", "policy.yaml", "--json"]
    assert run(words) == 0
    assert said(capsys)["limits"]["growth"]["from"].startswith("rule")


@pytest.mark.parametrize("text", [None, "{", '{"defaults": {"max_iops": -1}}'])
def test_an_unreadable_published_policy_is_reported(
    volume_id: str, capsys: pytest.CaptureFixture[str], text: str | None
) -> None:
    if text is not None:
        publish(text)
    assert run(["policy", "show", volume_id, "--region", REGION]) == 1
    assert "SSM parameter /headroom/policy" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "says"), [("vol-0abc", "There is no volume vol-0abc"), ("db-1", "is not a volume id")]
)
def test_a_volume_that_is_not_there_is_one_sentence(
    volume_id: str, capsys: pytest.CaptureFixture[str], name: str, says: str
) -> None:
    assert run(["policy", "show", name, "--region", REGION]) == 2
    assert says in capsys.readouterr().err


TESTS = """
tests:
  - {name: first, volume: {type: gp3, tags: {team: data}}, expect: {limits: {max_iops: 9000}}}
  - {name: second, volume: {type: gp3}, load: starved, expect: {answer: %s}}
"""


def test_passing_and_failing_tests_are_distinguished(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = policy.parent / "policy.tests.yaml"
    file.write_text(TESTS % "hold")
    assert run(["policy", "test"]) == 0
    assert "2 passed, 0 failed" in capsys.readouterr().out
    file.write_text(TESTS % "act")
    assert run(["policy", "test", str(file)]) == 1
    output = capsys.readouterr().out
    assert "pass  first" in output
    assert "FAIL  second\n        answer is hold (observe_only), expected act\n" in output
    assert "1 passed, 1 failed" in output
    assert run(["policy", "test", "--json"]) == 1
    found = said(capsys)
    assert [one["passed"] for one in found["tests"]] == [True, False]
    assert found["tests"][1]["blocked_by"] == ["mode"]


def test_another_policy_may_be_put_to_the_same_tests(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (policy.parent / "policy.tests.yaml").write_text(TESTS % "hold")
    (policy.parent / "other.yaml").write_text("{}")
    assert run(["policy", "test", "--policy", "other.yaml"]) == 1
    assert "max_iops is 16000" in capsys.readouterr().out


def test_tests_that_cannot_be_read_are_one_sentence(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["policy", "test"]) == 2
    assert "policy.tests.yaml cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("verb", [["check"], ["show", "--type", "gp3"]])
@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        (["--account", "12"], "--account '12' is not an account's 12 digits."),
        (["--region", "mars"], "--region 'mars' is not a Region such as us-east-1."),
    ],
)
@pytest.mark.usefixtures("policy")
def test_a_place_that_no_rule_can_name_is_refused(
    capsys: pytest.CaptureFixture[str], verb: list[str], place: list[str], sentence: str
) -> None:
    assert run(["policy", *verb, *place]) == 2
    assert capsys.readouterr().err == f"headroom: {sentence}\n"
