"""The hub, and what a deployment has where its owner names one: nothing by default, and nothing more."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_sns as sns

from headroom.adapters.events import log_fields
from headroom.adapters.events.bus import entry
from headroom.adapters.events.schemas import DETAIL_TYPES, schema
from headroom.cdk import Hub
from headroom.cdk.dashboards import COLUMNS, DETAIL, PANELS, QUERIES, RENAMED
from headroom.policy.parts import LONGEST_PART
from headroom.settings import SettingsError
from tests.adapters.events.test_bus import EVERY
from tests.athena import Lake, Row
from tests.builders import REGION
from tests.stacks.conftest import ROOT, Synth, Synthesised, Template, properties, resources

HUB = "999999999999"
HUB_SETTINGS = {
    "hub_bus": f"arn:aws:events:eu-central-1:{HUB}:event-bus/headroom-hub",
    "hub_role": f"arn:aws:iam::{HUB}:role/operators",
    "hub_policy_role": f"arn:aws:iam::{HUB}:role/policy-owners",
}
ORGANIZATION = "o-a1b2c3d4e5"


def synthesised(folder: Path, **props: Any) -> Template:
    app = cdk.App(outdir=str(folder), analytics_reporting=False)
    Hub(cdk.Stack(app, "Hub"), "Hub", **{"organization_id": ORGANIZATION, **props})
    found: Template = app.synth().get_stack_by_name("Hub").template
    return found


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Template:
    return synthesised(tmp_path_factory.mktemp("hub") / "cdk.out")


def _statements(template: Template, kind: str) -> list[dict[str, Any]]:
    found = []
    for each in properties(template, kind):
        documents = [p["PolicyDocument"] for p in each.get("Policies", [])]
        documents += [each["PolicyDocument"]] if "PolicyDocument" in each else []
        found += [one for document in documents for one in document["Statement"]]
    return found


def test_only_accounts_of_the_organization_may_forward_to_the_bus(hub: Template) -> None:
    (policy,) = properties(hub, "AWS::Events::EventBusPolicy")
    statement_of_bus = policy["Statement"]
    assert statement_of_bus["Action"] == "events:PutEvents"
    assert statement_of_bus["Condition"] == {"StringEquals": {"aws:PrincipalOrgID": ORGANIZATION}}


def test_the_hub_may_do_nothing_in_another_account_but_what_its_people_ask(hub: Template) -> None:
    actions = {a for one in _statements(hub, "AWS::IAM::Role") for a in _listed(one["Action"])}
    assert {action.partition(":")[0] for action in actions} == {"firehose", "s3"}
    (ask,) = _statements(hub, "AWS::IAM::ManagedPolicy")
    assert ask["Action"] == "lambda:InvokeFunction"
    assert ask["Condition"] == {"StringEquals": {"aws:ResourceOrgID": ORGANIZATION}}
    assert json.dumps(ask["Resource"]).endswith('":lambda:*:*:function:headroom-requests"]]}')


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def test_the_bucket_is_private_encrypted_and_stays(hub: Template) -> None:
    ((_, bucket),) = resources(hub, "AWS::S3::Bucket").items()
    assert bucket["DeletionPolicy"] == "RetainExceptOnCreate"  # a failed creation leaves nothing
    assert bucket["UpdateReplacePolicy"] == "Retain"
    assert set(bucket["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}
    (rule,) = bucket["Properties"]["LifecycleConfiguration"]["Rules"]
    assert rule["ExpirationInDays"] == 400


def test_events_that_are_not_stored_notify_the_hubs_topic_or_the_one_that_is_given(
    hub: Template, tmp_path: Path
) -> None:
    (alarm,) = properties(hub, "AWS::CloudWatch::Alarm")
    ((own, _),) = resources(hub, "AWS::SNS::Topic").items()
    assert alarm["AlarmActions"] == [{"Ref": own}]
    assert alarm["Dimensions"][0]["Value"]["Fn::GetAtt"][0] in resources(hub, "AWS::SQS::Queue")
    app = cdk.App(outdir=str(tmp_path), analytics_reporting=False)
    stack, given = cdk.Stack(app, "Hub"), "arn:aws:sns:eu-central-1:999999999999:ops"
    topic = sns.Topic.from_topic_arn(stack, "Ops", given)
    Hub(stack, "Hub", organization_id=ORGANIZATION, topic=topic)
    template = app.synth().get_stack_by_name("Hub").template
    assert not resources(template, "AWS::SNS::Topic")
    assert properties(template, "AWS::CloudWatch::Alarm")[0]["AlarmActions"] == [given]


@pytest.mark.parametrize(
    "props", [{"organization_id": "acme"}, {"prefix": "Hub"}, {"record_retention_days": 0}]
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, props: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        synthesised(tmp_path, **props)


def test_the_table_has_every_field_of_every_event_with_its_type() -> None:
    """But `from` and `to` of a plan, which the summary has in words, and what programs write back."""
    kinds = {"string": "string", "integer": "int", "number": "double", "boolean": "boolean"}
    envelope, detail, plan = set(), {}, {}
    for name in DETAIL_TYPES:
        top: Any = schema(name)["properties"]
        envelope |= set(top)
        for field, said in top["detail"]["properties"].items():
            types = {t for t in _listed(said.get("type", "string")) if t != "null"}
            if field == "plan":
                plan = said["anyOf"][1]["properties"]
            elif field == "write_back":
                continue
            elif types == {"array"}:
                detail[field] = "array<string>"
            else:
                detail[field] = kinds[types.pop()]
    renamed = {RENAMED.get(column, column) for column in COLUMNS}
    assert envelope - renamed == {"version", "source"}
    assert {k: v for k, v in DETAIL.items() if k != "plan"} == detail
    inner = dict(pair.split(":") for pair in DETAIL["plan"][7:-1].split(","))
    assert inner == {name: kinds[plan[name]["type"]] for name in plan if name not in ("from", "to")}


@pytest.fixture(scope="module")
def ask(hub: Template, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[Row]]:
    """What a named query of the template answers from real events, each `copies` times, over its own table."""
    ((_, glue),) = resources(hub, "AWS::Glue::Table").items()
    described = glue["Properties"]["TableInput"]["StorageDescriptor"]
    columns = {each["Name"]: each["Type"] for each in described["Columns"]}
    mapped = described["SerdeInfo"]["Parameters"]
    fields = {key.removeprefix("mapping."): v for key, v in mapped.items() if "mapping." in key}
    made = properties(hub, "AWS::Athena::NamedQuery")
    queries = {one["Name"].removeprefix("headroom-hub-"): one["QueryString"] for one in made}

    def lines_of(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            {column: event[fields.get(column, column)] for column in columns} for event in events
        ]

    @cache
    def lake(copies: int) -> Lake:
        lines = lines_of(map(_event, EVERY))
        found = Lake(tmp_path_factory.mktemp("lake"))
        day = datetime.now(UTC).date()  # the queries look back 30 days from now
        found.table("records", columns, {f"day={day}/{n}.json": lines for n in range(copies)})
        return found

    def answer(
        name: str, copies: int = 1, *, aged: Iterable[tuple[dict[str, Any], int]] = ()
    ) -> list[Row]:
        """From `aged` events instead, each so many days old, if there are any."""
        if not aged:
            return lake(copies).ask(queries[name])
        found = Lake(tmp_path_factory.mktemp("lake"))
        days: dict[str, list[dict[str, Any]]] = {}
        for event, ago in aged:
            day = datetime.now(UTC).date() - timedelta(days=ago)
            days.setdefault(f"day={day}/1.json", []).extend(lines_of([event]))
        found.table("records", columns, days)
        return found.ask(queries[name])

    return answer


def _event(one: Any) -> dict[str, Any]:
    """As EventBridge delivers it."""
    sent = entry(one)
    detail = json.loads(sent["Detail"])
    return {
        "version": "0", "id": "1", "detail-type": sent["DetailType"], "source": sent["Source"],
        "account": "1", "region": "r", "time": detail["at"], "resources": sent["Resources"],
        "detail": detail,
    }  # fmt: skip


@pytest.mark.parametrize("name", QUERIES)
def test_every_query_answers_from_real_records_and_counts_none_twice(
    ask: Callable[..., list[Row]], name: str
) -> None:
    found = ask(name)
    assert sorted(map(str, ask(name, 3))) == sorted(map(str, found))
    empty = {key for key in found[0] if all(row[key] is None for row in found)}
    # A field of another name would be null in every row; only these records' requests never expire.
    assert empty <= {"expires"}


def test_what_expired_waits_no_more_though_nobody_said_so(ask: Callable[..., list[Row]]) -> None:
    """An account that left sends no event of it."""
    (asked,) = [e for e in map(_event, EVERY) if e["detail"]["step"] == "awaiting"][:1]

    def of(account: str, expires_in: timedelta | None) -> dict[str, Any]:
        expires = (
            None
            if expires_in is None
            else f"{datetime.now(UTC) + expires_in:%Y-%m-%dT%H:%M:%S+00:00}"
        )
        detail = asked["detail"] | {
            "record_hash": account,
            "decision_id": account,
            "expires": expires,
        }
        return asked | {"account": account, "detail": detail}

    aged = [
        (of("left", timedelta(days=-19)), 20), (of("waits", timedelta(hours=8)), 0),
        (of("a minute ago", timedelta(minutes=-1)), 0), (of("no end", None), 3),
    ]  # fmt: skip
    found = {row["account"] for row in ask("waiting", aged=aged)}
    assert found == {"waits", "no end"}


def test_a_pause_in_force_is_found_however_old_it_is(ask: Callable[..., list[Row]]) -> None:
    by_step = {e["detail"]["step"]: e for e in map(_event, EVERY)}

    def of(
        account: str, step: str, ago: int, until: str | None = None
    ) -> tuple[dict[str, Any], int]:
        event = by_step[step]
        at = f"{datetime.now(UTC) - timedelta(days=ago):%Y-%m-%dT%H:%M:%S+00:00}"
        detail = event["detail"] | {
            "record_hash": f"{account}{step}",
            "at": at,
            "until": until,
            "resource": "all",
        }
        return event | {"account": account, "detail": detail}, ago

    aged = [
        of("paused", "paused", 80, "9999-12-31T23:59:59.999999+00:00"),
        of("over", "paused", 50, "2026-01-01T00:00:00+00:00"),
        of("resumed", "paused", 40), of("resumed", "resumed", 2),
        of("both", "paused", 9), of("both", "breaker_opened", 8), of("both", "breaker_closed", 1),
    ]  # fmt: skip
    found = {(row["account"], row["step"]) for row in ask("stopped", aged=aged)}
    assert found == {("paused", "paused"), ("both", "paused")}


def test_what_the_queries_count_is_what_the_records_say(ask: Callable[..., list[Row]]) -> None:
    facts = [log_fields(one) for one in EVERY]
    applied = [f["price_change_usd"] or 0 for f in facts if f["step"] == "applied"]
    (changes,) = ask("changes")
    assert changes["changes"] == len(applied) > 0
    assert changes["added_usd"] - changes["saved_usd"] == pytest.approx(sum(applied))
    held = [f for f in facts if f["step"] == "decided" and f["answer"] == "hold"]
    assert sum(row["decisions"] for row in ask("held")) == len(held) > 0
    for name in ("changes", "held", "people"):
        assert {row["region"] for row in ask(name)} == {REGION}, "not the envelope's"
    assert {row["step"] for row in ask("people")} >= {"paused", "resumed", "breaker_closed"}


def test_the_named_queries_and_the_dashboard_read_what_there_is(hub: Template) -> None:
    made = properties(hub, "AWS::Athena::NamedQuery")
    assert {one["Name"] for one in made} == {f"headroom-hub-{name}" for name in QUERIES}
    assert all('"headroom_hub"."records"' in one["QueryString"] for one in made)
    known = {f"detail.{name}" for name in DETAIL} | {"detail.plan.price_change_usd"}
    for _, query in PANELS.values():
        assert set(re.findall(r"detail(?:\.\w+)+", query)) <= known


def test_no_pause_is_hidden_by_a_breaker_and_the_region_is_the_deployments() -> None:
    """An event that was redelivered comes from the hub's Region."""
    (title,) = (t for t in PANELS if t.startswith("Pauses"))
    grouped = "by account, of_region, detail.resource, is_breaker"
    assert grouped in PANELS[title][1]
    assert 'strcontains(detail.step, "breaker") as is_breaker' in PANELS[title][1]
    for _, query in PANELS.values():
        assert not re.search(r"(by account|account), region", query)


def test_the_guide_names_every_property_and_query_with_what_the_code_has() -> None:
    text = (ROOT / "docs" / "hub.md").read_text(encoding="utf-8")
    for name, one in list(signature(Hub.__init__).parameters.items())[3:]:
        default = "none" if one.default is one.empty else f"`{one.default}`"
        assert f"| `{name}` | {default} |" in text
    assert "`headroom_hub.records`" in text
    assert f"{LONGEST_PART:,} characters" in text
    for output in ("BusArn", "OperatorsPolicyArn", "HubRedelivery"):
        assert f"`{output}`" in text


def test_a_deployment_without_a_hub_has_nothing_of_it(shipped: Synthesised) -> None:
    text = json.dumps([shipped.state["Resources"], shipped.loop["Resources"]])
    assert "HubEvents" not in text
    assert resources(shipped.loop, "AWS::Lambda::Permission") == {}
    assert "ssm:PutParameter" not in text


def test_a_deployment_lets_events_out_to_the_configured_bus(synth: Synth) -> None:
    made = synth(detection="sweep", **HUB_SETTINGS).loop
    forward = [s for s in _statements(made, "AWS::IAM::Role") if s.get("Sid") == "ForwardEvents"]
    assert [(one["Action"], one["Resource"]) for one in forward] == [
        ("events:PutEvents", HUB_SETTINGS["hub_bus"])
    ]
    (rule,) = [
        r for r in properties(made, "AWS::Events::Rule") if r["EventPattern"] == {"source": ["headroom"]}
    ]  # fmt: skip
    (target,) = rule["Targets"]
    assert target["Arn"] == HUB_SETTINGS["hub_bus"]
    assert target["RetryPolicy"] == {
        "MaximumEventAgeInSeconds": 86_400,
        "MaximumRetryAttempts": 185,
    }
    assert "DeadLetterConfig" in target
    (waiting,) = [
        alarm for alarm in properties(made, "AWS::CloudWatch::Alarm")
        if alarm["AlarmName"] == "headroom-own-hub-events-waiting"
    ]  # fmt: skip
    queue = target["DeadLetterConfig"]["Arn"]["Fn::GetAtt"][0]
    assert waiting["Dimensions"] == [
        {"Name": "QueueName", "Value": {"Fn::GetAtt": [queue, "QueueName"]}}
    ]
    assert (waiting["MetricName"], waiting["Threshold"]) == ("ApproximateAgeOfOldestMessage", 600)
    assert waiting["AlarmActions"] == waiting["OKActions"]


def test_only_the_hubs_account_may_invoke_the_requests_function(synth: Synth) -> None:
    made = synth(detection="sweep", **HUB_SETTINGS).loop
    permissions = properties(made, "AWS::Lambda::Permission")
    assert {p["Principal"] for p in permissions} == {HUB}
    names = {json.dumps(p["FunctionName"]) for p in permissions}
    assert len(names) == 1
    assert "Requests" in names.pop()


def test_the_policy_is_put_by_the_requests_function_alone(synth: Synth) -> None:
    made = synth(detection="sweep", **HUB_SETTINGS).loop
    able = [
        name
        for name, role in resources(made, "AWS::IAM::Role").items()
        if "ssm:PutParameter" in json.dumps(role)
    ]
    assert len(able) == 1
    assert able[0].startswith("Requests")
    (put,) = [s for s in _statements(made, "AWS::IAM::Role") if s.get("Sid") == "PublishPolicy"]
    assert json.dumps(put["Resource"]).endswith('":parameter/headroom/policy"]]}')
