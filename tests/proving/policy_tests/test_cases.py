"""Situations of a policy's tests are simulated, decided by the engine, and compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from headroom.domain.decision import Act
from headroom.proving.inputs import BadInput
from headroom.proving.policy_tests import Verdict, load_tests, run_policy_test
from headroom.proving.policy_tests.situation import AT

ROOT = Path(__file__).parents[3]
AUTO = "tags: {headroom: auto}"


def verdicts(folder: Path, *tests: str, policy: str = "{}") -> list[Verdict]:
    (folder / "policy.yaml").write_text(policy)
    file = folder / "policy.tests.yaml"
    file.write_text("tests:\n" + "".join(f"  - {{{test}}}\n" for test in tests))
    return list(run_policy_test(load_tests(file)))


def differences(folder: Path, test: str, policy: str = "{}") -> str:
    (verdict,) = verdicts(folder, test, policy=policy)
    assert verdict.passed is not bool(verdict.differences)
    return "\n".join(verdict.differences)


def test_the_shipped_tests_pass_on_the_shipped_policy() -> None:
    found = list(run_policy_test(load_tests(ROOT / "policy.tests.yaml")))
    assert [v.test.name for v in found if not v.passed] == []
    assert len(found) > 5


@pytest.mark.parametrize(
    ("test", "says"),
    [
        (f"volume: {{type: gp3, {AUTO}}}, load: starved, expect: {{answer: hold}}",
         "answer is act (starved), expected hold"),
        ("volume: {type: gp3}, load: starved, expect: {reason: starved}",
         "reason is observe_only, expected starved"),
        (f"volume: {{type: gp3, {AUTO}}}, load: starved, expect: {{to: {{type: io2}}}}",
         "expected io2"),
        (f"volume: {{type: gp3, {AUTO}}}, load: starved, expect: {{to: {{iops: 1..5}}}}",
         "expected iops of 1 to 5"),
        (f"volume: {{type: gp3, {AUTO}}}, load: starved, expect: {{to: {{size: 7}}}}",
         "expected size of 7"),
        (f"volume: {{type: gp3, {AUTO}}}, load: starved, expect: {{price_change_at_most: 0}}",
         "a month more, expected at most $0.00"),
        ("volume: {type: gp3}, load: starved, expect: {blocked_by: [mode, pause]}",
         "blocked by mode, expected pause as well"),
        ("volume: {type: gp3}, expect: {limits: {max_iops: 1000}}",
         "max_iops is 16000 (from defaults), expected 1000"),
        (f"volume: {{type: gp3, {AUTO}}}, expect: {{limits: {{mode: observe, growth: true}}}}",
         "mode is auto (from tag headroom), expected observe\n"
         "growth is false (from defaults), expected true"),
        ("volume: {type: gp3}, load: idle, expect: {to: {type: gp3}}",
         "there is no change it would make"),
    ],
)  # fmt: skip
def test_a_different_decision_is_reported(tmp_path: Path, test: str, says: str) -> None:
    said = differences(tmp_path, test)
    assert "\n".join(sorted(says.splitlines())) in "\n".join(sorted(said.splitlines()))


@pytest.mark.parametrize(
    ("test", "policy"),
    [
        (f"volume: {{type: gp3, {AUTO}}}, load: starved, expect: {{to: {{iops: 3001.., "
         "throughput: ..1000}}", "{}"),
        ("volume: {type: io1, size: 100, iops: 500}, load: starved, expect: {answer: act}",
         "defaults: {mode: auto}"),
        ("volume: {type: gp2, size: 334}, load: {iops: 100}, expect: {answer: hold}", "{}"),
        ("volume: {type: st1, size: 500}, expect: {limits: {mode: off}}",
         "rules: [{match: {type: st1}, set: {mode: 'off'}}]"),
        ("volume: {type: gp3, account: '210987654321', region: eu-west-1}, "
         "expect: {limits: {max_iops: 5000, cooldown: 1h}}",
         "rules: [{match: {account: '210987654321', region: eu-west-1}, "
         "set: {max_iops: 5000, cooldown: 1h}}]"),
        ("volume: {type: gp3}, load: starved, ledger: {failures: 5}, "
         "expect: {blocked_by: failures}", "defaults: {mode: auto}"),
        ("volume: {type: gp3}, load: starved, ledger: {acted_ago: 10m}, "
         "expect: {blocked_by: cooldown}", "defaults: {mode: auto, cooldown: 1h}"),
        ("volume: {type: gp3}, load: starved, ledger: {account_increase_usd: 2000}, "
         "expect: {blocked_by: price_per_account}", "defaults: {mode: auto}"),
    ],
)  # fmt: skip
def test_what_is_expected_passes(tmp_path: Path, test: str, policy: str) -> None:
    assert differences(tmp_path, test, policy) == ""


def test_the_same_file_gives_the_same_decisions(tmp_path: Path) -> None:
    test = f"volume: {{type: gp3, {AUTO}}}, load: starved, expect: {{answer: act}}"
    one, other = (verdicts(tmp_path, test)[0].decision for _ in range(2))
    assert one is not None
    assert one == other
    assert one.at == AT


def test_a_load_is_simulated_by_the_physics(tmp_path: Path) -> None:
    test = (
        f"volume: {{type: gp3, {AUTO}}}, load: {{mibps: 300, io_kib: 128, for: 20m}}, "
        "expect: {answer: act}"
    )
    (verdict,) = verdicts(tmp_path, test)
    assert verdict.decision is not None
    assert isinstance(verdict.decision.answer, Act)
    seen = verdict.decision.observation.activity
    assert sum(seen.throughput_exceeded.known()) >= 15
    assert max(seen.read_mibps.known()) + max(seen.write_mibps.known()) <= 125.01
    assert max(seen.queue_length.known()) > 50


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tests: []", "is empty"),
        ("{}", "is empty"),
        ("test: []", "is not a known key (did you mean tests?)"),
        ("tests: [7]", "tests[1] is 7"),
        ("tests: [{expect: {answer: act}}]", "tests[1].volume is missing"),
        ("tests: [{volume: {type: gp3}, expect: {}}]", "expects nothing"),
        ("tests: [{volume: {type: gp3}, expect: {answer: act}}]", "load is missing"),
        ("tests: [{volume: {type: gp9}, expect: {answer: act}}]", "volume.type is 'gp9'"),
        ("tests: [{volume: {type: gp2, iops: 3}, expect: {limits: {max_iops: 100}}}]",
         "has no iops to set"),
        ("tests: [{volume: {type: gp3, iops: 9}, expect: {limits: {max_iops: 100}}}]",
         "nothing AWS has"),
        ("tests: [{volume: {type: st1, size: 500}, load: idle, expect: {answer: hold}}]",
         "cannot be simulated on st1"),
        ("tests: [{volume: {type: gp3}, load: heavy, expect: {answer: hold}}]",
         "one of idle, busy, starved"),
        ("tests: [{volume: {type: gp3}, load: {iops: -1}, expect: {answer: hold}}]", "load.iops"),
        ("tests: [{volume: {type: gp3}, load: {for: 1h}, expect: {answer: hold}}]",
         "load.iops is missing"),
        ("tests: [{volume: {type: gp3}, load: {iops: 1, mibps: 1, io_kib: 1}, expect: "
         "{answer: hold}}]", "give two of the three"),
        ("tests: [{volume: {type: gp3}, load: {iops: 1, for: 8d}, expect: {answer: hold}}]",
         "from 1m to 7d"),
        ("tests: [{volume: {type: gp3}, load: idle, expect: {answer: maybe}}]", "act, hold"),
        ("tests: [{volume: {type: gp3}, load: idle, expect: {blocked_by: luck}}]", "names 'luck'"),
        ("tests: [{volume: {type: gp3}, load: idle, expect: {to: {iops: many}}}]", "a range like"),
        ("tests: [{volume: {type: gp3}, expect: {limits: {max_iops: many}}}]", "whole number"),
        ("tests: [{volume: {type: gp3, account: '1'}, expect: {limits: {growth: true}}}]",
         "must look like"),
        ("tests: [{volume: {type: gp3, tags: [a]}, expect: {limits: {growth: true}}}]",
         "must map tag keys"),
        ("policy: none.yaml\ntests: [{volume: {type: gp3}, expect: {limits: {growth: true}}}]",
         "none.yaml cannot be read"),
        ("tests: [", "not valid YAML"),
    ],
)  # fmt: skip
def test_a_file_that_makes_no_sense_is_refused_in_one_sentence(
    tmp_path: Path, text: str, says: str
) -> None:
    (tmp_path / "policy.yaml").write_text("{}")
    file = tmp_path / "policy.tests.yaml"
    file.write_text(text)
    with pytest.raises((BadInput, ValueError)) as refusal:
        load_tests(file)
    assert says in str(refusal.value)
    assert "\n" not in str(refusal.value)
