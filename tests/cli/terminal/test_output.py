"""What people read: counted nouns and settings of a policy."""

from __future__ import annotations

import pytest

from headroom.cli.terminal.output import counted, setting_text


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 links"), (1, "1 link"), (2, "2 links"), (1_000, "1,000 links")]
)
def test_a_noun_agrees_with_its_number(count: int, said: str) -> None:
    assert counted(count, "link") == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("10080m", "7d"), ("480m", "8h"), ("90m", "90m"), ("0m", "0m"), ("36h", "36h"),
        (True, "true"), (False, "false"), (["gp3", "io2"], "gp3, io2"), ([], ""),
        (16_000, "16,000"), (0.1, "0.1"), ("never", "never"),
    ],
)  # fmt: skip
def test_a_setting_is_written_as_a_policy_would(value: object, said: str) -> None:
    assert setting_text(value) == said
