"""docs/policy.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from headroom.domain.policy import FRIENDLY, PRESETS, Mode, PolicyError
from headroom.domain.policy.tags import BY_TAG, key_of, tag_settings
from headroom.policy import check, default_policy, parse_policy
from headroom.proving.policy_tests import load_tests, run_policy_test
from headroom.proving.policy_tests.cases import ANSWERS, EXPECT, LEDGER, LOAD, TO, VOLUME, WORDS
from tests import ROOT

TEXT = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
ROWS = {
    row[1]: [cell.strip() for cell in row[0].strip("|").split("|")]
    for row in re.finditer(r"^\| `([a-z_]+)` \|.*$", TEXT, re.MULTILINE)
}
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def test_every_setting_is_in_the_table_and_nothing_else_is() -> None:
    assert set(ROWS) == {*FRIENDLY, "preset"}


@pytest.mark.parametrize("name", FRIENDLY)
def test_the_table_has_the_real_default(name: str) -> None:
    written = ROWS[name][2].strip("`")
    if not written.startswith(("[", "{")):
        written = written.replace(",", "")
    document = {"defaults": {name: yaml.safe_load(written)}}
    assert parse_policy(document, source="docs/policy.md") == default_policy()


def test_the_table_names_all_modes_and_presets() -> None:
    assert all(f"`{mode}`" in ROWS["mode"][1] for mode in Mode)
    assert all(f"`{preset}`" in ROWS["preset"][1] for preset in PRESETS)


def test_the_example_reads_without_a_warning() -> None:
    example, events, _ = [text for language, text in BLOCKS if language == "yaml"]
    policy = parse_policy(yaml.safe_load(example), source="docs/policy.md")
    assert (check(policy).problems, check(policy).remarks) == ((), ())
    assert policy.defaults == default_policy().defaults
    assert len(parse_policy(yaml.safe_load(events), source="docs/policy.md").known_events) == 2
    assert dict(policy.rules[0].settings)["cooldown_minutes"] == 60


def test_every_setting_has_its_tag_in_the_docs_with_a_value_it_takes() -> None:
    rows = dict(re.findall(r"^\| (`headroom.*?`) \| `([^`]*)`", TEXT, re.MULTILINE))
    keys = {key: text for keys, text in rows.items() for key in re.findall(r"`([^`]+)`", keys)}
    assert set(keys) == {"headroom", "headroom:preset", *map(key_of, BY_TAG)}
    for key, text in keys.items():
        (one,) = tag_settings(((key, text),))
        assert one.tag == key


CHECKED = {
    "problems": [
        [({"type": "gp2"}, {"mode": "auto"}), ({"type": "gp2"}, {"mode": "off"})],
        [({"tags": {"": "b"}}, {"mode": "auto"})],
        [
            ({"type": "gp2"}, {"max_iops": 4000, "growth": True}),
            ({"type": "gp2"}, {"max_iops": 8000}),
        ],
        [({"type": "gp2"}, {"slots_reserve": 4})],
    ],
    "remarks": [
        [({}, {"max_iops": 8000})],
        [({"type": "gp2"}, {"max_iops": 16000})],
        [({"tags": {"headroom": "auto"}}, {"mode": "auto"})],
        [({"type": "gp2"}, {"max_size_gib": 500})],
        [({"type": "gp2"}, {"mode": "auto"})],
        [
            ({"type": "gp2"}, {"max_iops": 80000}),
            ({"kind": "rds", "tags": {"environment": "test"}}, {"mode": "auto"}),
        ],
    ],
}


@pytest.mark.parametrize(
    ("kind", "rules"), [(kind, rules) for kind, many in CHECKED.items() for rules in many]
)
def test_the_page_quotes_what_a_check_prints(kind: str, rules: list[tuple[object, object]]) -> None:
    document = {"rules": [{"match": match, "set": settings} for match, settings in rules]}
    (said,) = getattr(check(parse_policy(document, source="policy.yaml")), kind)
    assert said in TEXT


@pytest.mark.parametrize(
    "document",
    [
        {"defaults": {"max_iop": 1}},
        {"defaults": {"growth": "false"}},
        {"defaults": {"types": ["standard"]}},
        {"rules": [{"set": {"mode": "auto"}}]},
    ],
)
def test_the_page_quotes_real_refusals(document: object) -> None:
    with pytest.raises(PolicyError) as refusal:
        parse_policy(document, source="policy.yaml")
    assert str(refusal.value) in TEXT


def test_the_example_tests_pass_on_the_example_policy(tmp_path: Path) -> None:
    policy, _, tests = [text for language, text in BLOCKS if language == "yaml"]
    (tmp_path / "policy.yaml").write_text(policy)
    (tmp_path / "policy.tests.yaml").write_text(tests)
    verdicts = list(run_policy_test(load_tests(tmp_path / "policy.tests.yaml")))
    assert [verdict.differences for verdict in verdicts] == [(), ()]


def test_every_word_of_a_test_file_is_in_the_docs() -> None:
    section = TEXT.split("## Test it")[1].split("## Publication")[0]
    for word in {*VOLUME, *LOAD, *LEDGER, *EXPECT, *TO, *WORDS, *ANSWERS}:
        assert re.search(rf"\b{word}\b", section), word
