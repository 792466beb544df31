"""What the end-to-end tests share: whatever runs, IAM denies nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.localaws.conftest import Program


@pytest.fixture
def program(program: Program) -> Iterator[Program]:
    """The program; no request of a function may have been denied during the test."""
    yield program
    assert program.aws.control("iam")["denials"] == []
