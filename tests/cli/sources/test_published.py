"""The policy in force under a deployment's hard caps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from headroom.cli.sources.account import Account
from headroom.cli.sources.published import hard_caps_in
from headroom.domain.policy import HardCaps, hard_caps_of
from tests.test_settings import SETTINGS

CAPS = hard_caps_of({"max_iops": 5_000}, "here")


class _Function:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def get_function_configuration(self, FunctionName: str) -> Any:
        if isinstance(self.answer, str):
            raise ClientError({"Error": {"Code": self.answer}}, "GetFunctionConfiguration")
        return {"Environment": {"Variables": self.answer}}


@pytest.mark.parametrize(
    ("answer", "caps", "says"),
    [
        (replace(SETTINGS, hard_caps=CAPS).to_environment(), CAPS, ""),
        (SETTINGS.to_environment(), HardCaps(), ""),
        ("ResourceNotFoundException", HardCaps(), ""),
        ("AccessDeniedException", HardCaps(), "without the deployment's hard caps"),
        ({}, HardCaps(), "without the deployment's hard caps"),
    ],
)
def test_hard_caps_are_the_functions_own_and_what_cannot_be_read_is_said(
    answer: Any, caps: HardCaps, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    where = Account(
        account_id="123456789012", region="us-east-1", caller="", now=None,  # type: ignore[arg-type]
        ec2=None, cloudwatch=None, prices=None, client=lambda _: _Function(answer),  # type: ignore[arg-type]
    )  # fmt: skip
    assert hard_caps_in(where) == caps
    assert says in capsys.readouterr().err
