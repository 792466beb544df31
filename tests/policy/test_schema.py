"""The published schema and the reader of policies say the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from jsonschema import Draft7Validator

from headroom.domain.policy import PolicyError
from headroom.policy import canonical_json, parse_policy, schema, schema_text
from tests import ROOT
from tests.policy.test_text import DOCUMENTS, EVENT, REFUSED

VALIDATOR = Draft7Validator(schema())
LEFT_TO_THE_CHECK = (
    # What a schema cannot say, or says only at the price of being unreadable.
    {"defaults": {"price_increase_usd_per_month": 0.001}},
    {"defaults": {"cooldown": "8d"}},
    {"known_events": [{**EVENT, "for": "8d"}]},
    {"known_events": [{**EVENT, "for": "0m"}]},
    {"defaults": {"cooldown": False}},
    {"defaults": {"max_iops": 16000.0}},
)


def test_the_file_is_the_schema_that_the_reader_has() -> None:
    written = (ROOT / "policy.schema.json").read_text(encoding="utf-8")
    assert written == schema_text(), "run `headroom policy schema > policy.schema.json`"


def test_the_schema_is_one() -> None:
    Draft7Validator.check_schema(schema())


@given(DOCUMENTS)
def test_what_the_reader_takes_fits_the_schema(document: object) -> None:
    VALIDATOR.validate(document)
    policy = parse_policy(document, source="policy")
    VALIDATOR.validate(json.loads(canonical_json(policy)))


@pytest.mark.parametrize(
    "document",
    [
        d
        for d, _ in REFUSED
        if d not in LEFT_TO_THE_CHECK and not {"inf", "nan"} & set(re.findall(r"\w+", str(d)))
    ],
)
def test_what_the_reader_refuses_does_not_fit_the_schema(document: object) -> None:
    with pytest.raises(PolicyError):
        parse_policy(document, source="policy")
    assert not VALIDATOR.is_valid(document)


def test_the_shipped_policy_names_the_schema_and_fits_it() -> None:
    text = (ROOT / "policy.yaml").read_text(encoding="utf-8")
    first = text.splitlines()[0]
    assert first == "# yaml-language-server: $schema=policy.schema.json"
    assert (ROOT / first.partition("=")[2]).exists()
    VALIDATOR.validate(yaml.safe_load(text))


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda p: p.name)
def test_every_policy_shown_in_the_docs_fits_the_schema(page: Path) -> None:
    blocks = page.read_text(encoding="utf-8").split("```yaml\n")[1:]
    for block in blocks:
        document = yaml.safe_load(block.partition("```")[0])
        if isinstance(document, dict) and document.keys() <= {
            "version", "defaults", "account", "rules", "known_events",
        }:  # fmt: skip
            VALIDATOR.validate(document)
