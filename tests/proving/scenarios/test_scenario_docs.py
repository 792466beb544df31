"""docs/scenario-format.md says what the code reads and prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headroom.proving.inputs import load_yaml
from headroom.proving.physics.instances import _table
from headroom.proving.scenarios import database as databases
from headroom.proving.scenarios import load_blocks as loads
from headroom.proving.scenarios import load_steps, parse_scenario, scenario
from headroom.proving.simulation import simulate

PAGE = Path(__file__).parents[3] / "docs" / "scenario-format.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
KEYS = {
    *scenario.TOP, *scenario.RESOURCE, *scenario.AWS, *databases.DATABASE, *loads.ATTACHMENT, *loads.SOURCES,
    *loads.TRACE, *loads.CLOSED_LOOP, *load_steps.STEP,
}  # fmt: skip


@pytest.mark.parametrize("key", sorted(KEYS))
def test_every_key_of_the_format_is_documented(key: str) -> None:
    assert re.search(rf"\b{key}\b", TEXT)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_is_read(number: int, tmp_path: Path) -> None:
    rows = [f"2020-03-01T00:0{n}:00Z,60,60,245760,245760" for n in range(3)]
    header = "timestamp,read_ops,write_ops,read_bytes,write_bytes"
    (tmp_path / "db.csv").write_text("\n".join([header, *rows]), encoding="utf-8")
    file = tmp_path / "example.yaml"
    file.write_text(EXAMPLES[number], encoding="utf-8")
    document = load_yaml(file)
    assert isinstance(document, dict)
    document.setdefault("resource", {"type": "gp3", "size_gib": 100})
    assert parse_scenario(document, source="example.yaml", base=tmp_path)


def test_every_key_of_the_result_is_documented() -> None:
    document = {
        "resource": {"type": "gp3", "size_gib": 100},
        "workload": {"steps": [{"for": "2m", "iops": 1, "io_kib": 4}]},
    }
    result = simulate(parse_scenario(document, source="case", base=Path()), "none")
    for key in result.to_json():
        assert f"`{key}`" in TEXT


def test_the_number_of_instance_types_is_as_written() -> None:
    assert f"({len(_table()):,} types are known" in TEXT
