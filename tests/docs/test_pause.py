"""docs/operate/pause.md says what the code does, and names the rights that its commands take."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import botocore.client
import pytest

from headroom.adapters.ledger import DynamoLedger
from headroom.cli.main import run
from headroom.domain.state import MAX_FAILURES
from headroom.domain.state.breakers import MAX_ACCOUNT_FAILURES
from headroom.settings import REQUESTS_FUNCTION
from tests.cli.commands.test_pause import HERE, VOLUME, ledger
from tests.cli.deployed import Inside
from tests.contracts.decisions import broken, failed

TEXT = (Path(__file__).parents[2] / "docs" / "operate" / "pause.md").read_text(encoding="utf-8")
PARTS = {"Put": "PutItem", "Update": "UpdateItem", "ConditionCheck": "ConditionCheckItem"}

__all__ = ["ledger"]


def test_the_page_states_the_numbers_in_force() -> None:
    assert f"| {MAX_FAILURES} failures of this volume in a row |" in TEXT
    assert f"| {MAX_ACCOUNT_FAILURES} failures in a row, of any" in TEXT


def allowed() -> dict[str, set[str]]:
    """Actions the page allows, by what they are allowed on."""
    (block,) = re.findall(r"^```json\n(.*?)^```", TEXT, re.M | re.S)
    found: dict[str, set[str]] = {}
    for statement in json.loads(block)["Statement"]:
        actions, resources = statement["Action"], statement["Resource"]
        for resource in [resources] if isinstance(resources, str) else resources:
            of = {actions} if isinstance(actions, str) else set(actions)
            found[resource.split(":", 5)[-1]] = of
    return found


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """Every action a client is asked for, and the table it is about."""
    found: set[tuple[str, str]] = set()
    send = botocore.client.BaseClient._make_api_call

    def spy(client: Any, operation: str, arguments: dict[str, Any]) -> Any:
        if Inside.running:  # the function's own rights are the template's
            return send(client, operation, arguments)
        service = client.meta.service_model.service_name
        if operation == "TransactWriteItems":
            for part in arguments["TransactItems"]:
                ((kind, what),) = part.items()
                found.add((f"dynamodb:{PARTS[kind]}", what["TableName"]))
        elif operation == "BatchGetItem":
            found.update(("dynamodb:BatchGetItem", table) for table in arguments["RequestItems"])
        else:
            found.add((f"{service}:{operation}", arguments.get("TableName", "")))
        return send(client, operation, arguments)

    monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", spy)
    return found


def test_the_rights_of_the_page_are_what_the_commands_take(
    ledger: DynamoLedger, called: set[tuple[str, str]]
) -> None:
    broken(ledger, VOLUME)
    for number in range(MAX_ACCOUNT_FAILURES - MAX_FAILURES):
        failed(ledger, f"f{number}", f"vol-{number}")
    called.clear()
    for words in (
        ["pause"], ["status"], ["breaker", "list"], ["breaker", "close", VOLUME],
        ["breaker", "close", "--account"], ["resume"], ["audit", "--outcome", "paused"],
        ["audit", "--since", "1h", "--json", "--bodies"],
    ):  # fmt: skip
        assert run([*words, *HERE]) in (0, 1), words
    rights = allowed()
    tables = {
        "records": rights["table/HeadroomState-Records*"],
        "state": rights["table/HeadroomState-State*"],
    }
    elsewhere = {
        "cloudformation:DescribeStacks", "ssm:GetParameter", "lambda:GetFunctionConfiguration",
        "lambda:InvokeFunction",
    }  # fmt: skip
    named = ("stack/HeadroomState/*", "parameter/headroom/policy*", f"function:{REQUESTS_FUNCTION}")
    assert set.union(*(rights[name] for name in named)) == elsewhere
    for table, actions in tables.items():
        assert {action for action, about in called if about == table} == actions
    rest = {action.replace(":Invoke", ":InvokeFunction") for action, about in called if not about}
    assert rest == {*elsewhere, "sts:GetCallerIdentity"}  # which needs no right at all


def test_nobody_who_may_ask_may_write() -> None:
    writing = ("Put", "Update", "Delete", "BatchWrite", "PartiQL", "Transact")
    actions = [a.split(":")[1] for allowed_on in allowed().values() for a in allowed_on]
    assert [action for action in actions if action.startswith(writing)] == []
