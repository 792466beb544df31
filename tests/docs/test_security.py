"""docs/security.md names tests that exist, and states what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from headroom.adapters.callers import HEADER, Proof
from headroom.settings import REQUESTS_FUNCTION, DeploymentConfig, Names

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


def test_every_test_behind_a_claim_exists() -> None:
    named = set(re.findall(r"`(tests/[\w/]+\.py)`", TEXT))
    assert len(named) >= 5
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_the_page_names_what_is_deployed() -> None:
    assert f"`{REQUESTS_FUNCTION}`" in TEXT
    assert f"roles under the path `{Names().role_path}`" in TEXT
    assert DeploymentConfig().seal_records == "off"


def test_a_proof_has_no_place_for_a_name() -> None:
    assert set(Proof.__dataclass_fields__) == {"authorization", "date", "token"}
    assert HEADER.startswith("X-Headroom-")
