"""Whatever is in a scenario or a trace, the answer is a value or one sentence."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from headroom.proving.inputs import BadInput
from headroom.proving.scenarios import load_blocks as loads
from headroom.proving.scenarios import load_scenario, load_steps, parse_scenario, scenario
from headroom.proving.workloads import read_trace

WORDS = [
    *scenario.TOP, *scenario.RESOURCE, *scenario.AWS, *loads.ATTACHMENT, *loads.SOURCES,
    *loads.TRACE, *loads.CLOSED_LOOP, *load_steps.STEP, "gp3", "gp2", "io2", "ebs", "30m", "0s", "1h",
    "2026-01-05T00:00:00Z", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:00", "m5.large",
    "us-east-1", "auto", "defaults", "rules", "mode",
]  # fmt: skip
LEAF = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 70_000), st.floats(), st.sampled_from(WORDS),
    st.text(max_size=8), st.integers(10**20, 10**30),
)  # fmt: skip
NEST = st.recursive(
    LEAF,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.sampled_from(WORDS), st.integers(0, 3)), inner, max_size=5),
    ),
    max_leaves=25,
)
VALID: dict[str, object] = {
    "resource": {"type": "gp3", "size_gib": 100},
    "workload": {"steps": [{"for": "30m", "iops": 500, "io_kib": 16}]},
}


def one_sentence(error: BadInput) -> None:
    assert "\n" not in str(error)
    assert len(str(error)) < 600


@settings(max_examples=300, deadline=None)
@given(document=NEST)
def test_any_document_is_a_scenario_or_one_sentence(document: object) -> None:
    try:
        parse_scenario(document, source="case.yaml", base=Path("/nonexistent"))
    except BadInput as error:
        one_sentence(error)


@settings(max_examples=400, deadline=None)
@given(
    key=st.sampled_from(scenario.TOP), value=NEST, inner=st.sampled_from(WORDS), deep=st.booleans()
)
@example(key="policy", value=None, inner="defaults", deep=True)
def test_one_wrong_value_anywhere_is_one_sentence(
    key: str, value: object, inner: str, deep: bool
) -> None:
    document = dict(VALID)
    if deep:
        before = document.get(key)
        document[key] = (dict(before) if isinstance(before, dict) else {}) | {inner: value}
    else:
        document[key] = value
    try:
        parse_scenario(document, source="case.yaml", base=Path("/nonexistent"))
    except BadInput as error:
        one_sentence(error)


@settings(max_examples=150, deadline=None)
@given(text=st.one_of(st.text(max_size=200), st.binary(max_size=200)))
def test_any_file_is_a_scenario_or_one_sentence(text: str | bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "case.yaml"
        raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        file.write_bytes(raw)
        with suppress(BadInput):
            load_scenario(file)


CELL = st.one_of(
    st.sampled_from(["", "0", "1", "5000", "-1", "nan", "1e3", "2020-03-01T00:00:00Z", "x"]),
    st.integers(0, 10**20).map(str), st.text(max_size=6),
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(rows=st.lists(st.lists(CELL, max_size=6), max_size=6), good=st.booleans(), kib=st.booleans())
def test_any_table_is_a_trace_or_one_sentence(rows: list[list[str]], good: bool, kib: bool) -> None:
    header = "timestamp,read_ops,write_ops,read_bytes,write_bytes\n"
    first = "2020-03-01T00:00:00Z,1,1,4096,4096\n2020-03-01T00:01:00Z,1,1,4096,4096\n"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "load.csv"
        body = "\n".join(",".join(row) for row in rows)
        raw = (header + (first if good else "") + body).encode("utf-8", "surrogatepass")
        file.write_bytes(raw)
        try:
            read_trace(file, io_kib=16 if kib else None)
        except BadInput as error:
            one_sentence(error)
