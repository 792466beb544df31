"""docs/operate/audit.md: every query of the page runs, and finds what the page says it does."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import jmespath
import pytest

from headroom.adapters.tables import due_shard
from headroom.domain.state import Step
from tests.athena import Lake, columns_of
from tests.builders import NOW, ref
from tests.contracts.conftest import STORED
from tests.contracts.decisions import act, append, escalate, hold, intended

TEXT = (Path(__file__).parents[2] / "docs" / "operate" / "audit.md").read_text(encoding="utf-8")
DECISION = "72de8a3a5eaf78166490"
VOLUME = "vol-0abc1"
HOUR = timedelta(hours=1)


def queries() -> dict[str, list[str]]:
    """The AWS CLI queries under each title, as words."""
    found: dict[str, list[str]] = {}
    for section in re.split(r"^## ", TEXT, flags=re.M)[1:]:
        title = section.splitlines()[0]
        found[title] = [
            block
            for block in re.findall(r"^```sh\n(.*?)^```", section, re.M | re.S)
            if block.startswith("aws dynamodb query")
        ]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Where to ask, and what the page's shell variables stand for."""

    client: Any
    tables: dict[str, str]


def asked(account: Account, block: str) -> Any:
    """What the AWS CLI would print for a query, before it is laid out."""
    words = shlex.split(block.replace("\\\n", " ").split(" | jq ")[0])[3:]
    arguments: dict[str, Any] = {}
    chosen = ""
    while words:
        option = words.pop(0).removeprefix("--")
        match option:
            case "no-scan-index-forward":
                arguments["ScanIndexForward"] = False
            case "consistent-read":
                arguments["ConsistentRead"] = True
            case "query":
                chosen = words.pop(0)
            case "output":
                words.pop(0)
            case _:
                value = words.pop(0)
                value = account.tables.get(value, value)
                name = "".join(part.title() for part in option.split("-"))
                arguments[name] = json.loads(value) if value.startswith("{") else value
    return jmespath.search(chosen, account.client.query(**arguments))


@pytest.fixture(params=[STORED])
def account(request: pytest.FixtureRequest) -> Account:
    """An account with a few chains; DynamoDB Local knows the reserved words, moto does not."""
    ledger = request.getfixturevalue(request.param)
    ledger.decided(hold("h0", VOLUME, at=NOW - timedelta(days=3)), due_at=None)
    ledger.decided(hold("h1", VOLUME, at=NOW - HOUR), due_at=None)
    ledger.decided(escalate("e1", "max_iops"), due_at=None)
    ledger.pause(None, at=NOW, who="alice")
    ledger.resume(at=NOW, who="alice")
    ledger.notified(ledger.notices(9))
    decision = act(DECISION, VOLUME, increase="48.28")
    intended(ledger, decision, lease_until=NOW + HOUR)
    append(ledger, decision, Step.APPLIED, due_at=NOW + HOUR)
    records, state = ledger._table, ledger._state._table
    return Account(client=ledger._client, tables={"$RECORDS": records, "$STATE": state})


def test_what_happened_to_a_volume_is_reported_newest_first(account: Account) -> None:
    (query,) = queries()["History of a volume"]
    assert [row[1:3] for row in asked(account, query)] == [
        ["applied", DECISION], ["intended", DECISION], ["act", DECISION], ["hold", "h1"],
    ]  # fmt: skip


def test_everything_of_one_day_is_reported(account: Account) -> None:
    (query,) = queries()["One day"]
    assert sorted(row[2] for row in asked(account, query)) == [
        "act", "applied", "escalate", "hold", "intended", "paused", "resumed",
    ]  # fmt: skip


def test_escalations_are_reported_and_holds_counted(account: Account) -> None:
    escalations, count = queries()["Escalations"]
    assert [row[1] for row in asked(account, escalations)] == [ref("vol-1").arn]
    assert asked(account, count) == 1


def test_one_decision_is_reported_oldest_first_with_its_verdicts(account: Account) -> None:
    chain, body = queries()["One decision"]
    assert [row[:2] for row in asked(account, chain)] == [
        ["0", "decided"], ["1", "intended"], ["2", "applied"],
    ]  # fmt: skip
    verdicts = json.loads(asked(account, body))["judgements"][0]["verdicts"]
    assert all({"guardrail", "value"} <= set(verdict) for verdict in verdicts)


def test_the_sql_of_the_page_runs_on_an_export(account: Account, tmp_path: Path) -> None:
    """Each statement as it is on the page, over what DynamoDB would export of these records."""
    table, view, by_month, guardrails, acts = re.findall(r"^```sql\n(.*?)^```", TEXT, re.M | re.S)
    items = account.client.scan(TableName=account.tables["$RECORDS"])["Items"]
    (one_hold,) = [i for i in items if i["decision_id"]["S"] == "h1"]
    body = json.loads(one_hold["body"]["S"])
    body["judgements"][0]["blocked_by"].append("mode")
    one_hold["body"]["S"] = json.dumps(body)
    lake, (name, columns) = Lake(tmp_path), columns_of(table)
    # The SerDe reads names in lower case: Item, S and N among them.
    lines = [
        {"item": {n: {kind.lower(): v for kind, v in a.items()} for n, a in one.items()}}
        for one in items
    ]
    lake.table(name, columns, {"data/0.json": lines})
    lake.ask(view)
    assert [tuple(row.values())[2:] for row in lake.ask(by_month)] == [(1, 48.28)]
    held = {row["guardrail"]: row["resources"] for row in lake.ask(guardrails)}
    assert held == {"mode": 1}
    (act_row,) = lake.ask(acts)
    assert act_row["resource"] == ref(VOLUME).arn
    assert None not in act_row.values()
    (record,) = lake.ask("SELECT * FROM headroom_records WHERE outcome = 'applied'")
    assert {key for key, value in record.items() if value is None} <= {"reason"}


def test_the_state_is_reported(account: Account) -> None:
    volume, whole, due = queries()["Current state"]
    assert asked(account, volume) == ["8", "0", "2026-01-05T13:00:00.000000Z", "applied"]
    assert sorted(asked(account, whole)) == [
        ["budget", "48280000", None],
        ["concurrency", None, None],
        ["pause", None, None],
    ]
    due = due.replace("due#0", due_shard(ref(VOLUME).arn))
    assert asked(account, due) == [["2026-01-05T13:00:00.000000Z", ref(VOLUME).arn]]


def test_the_table_of_attributes_is_complete(account: Account) -> None:
    ledger_item = account.client.query(
        TableName=account.tables["$RECORDS"], KeyConditionExpression="decision_id = :id",
        ExpressionAttributeValues={":id": {"S": DECISION}},
    )["Items"][0]  # fmt: skip
    section = TEXT.split("## Records")[1].split("\n\nThe indexes")[0]
    documented = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", section, re.M))))
    assert documented == set(ledger_item)
