"""The dashboard: only where it is asked for, and every metric on it is one that somebody publishes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_lambda as lambda_

from headroom.cdk import Headroom
from headroom.cdk.dashboards import DIMENSIONS, MetricPanel, Part, panels
from headroom.cdk.stackset import as_text, template
from headroom.running_cost import PRICES
from headroom.settings import FunctionSettings
from tests.stacks.conftest import ROOT, Synth, Synthesised, Template, properties, resources
from tools.grafana import FOUND, LOGS, PAGE, dashboard, written

PUBLISHED_BY_AWS = {
    "AWS/DynamoDB": {
        "ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits", "ReadThrottleEvents",
        "WriteThrottleEvents",
    },
    "AWS/Lambda": {"ConcurrentExecutions", "Duration", "Errors", "Invocations", "Throttles"},
    "AWS/SQS": {
        "ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesNotVisible",
        "ApproximateNumberOfMessagesVisible", "NumberOfMessagesSent",
    },
}  # fmt: skip
"""By table, function and queue. Source: the services' developer guides, CloudWatch metrics (2026-11)."""
FREE_METRICS = 50
"""On one of the three dashboards that an account has free. Source: CloudWatch pricing (2026-11)."""
INLINE = 51_200
"""Bytes of a template in a request. Source: CloudFormation quotas (2026-11)."""
METRICS = [one for panel in panels() if isinstance(panel, MetricPanel) for one in panel.series]
HUB_BUS = "arn:aws:events:eu-central-1:999988887777:event-bus/headroom-hub"
TYPES = {
    "AWS/Lambda": "AWS::Lambda::Function",
    "AWS/SQS": "AWS::SQS::Queue",
    "AWS/DynamoDB": "AWS::DynamoDB::Table",
}


def _published_by_the_functions() -> set[str]:
    return {
        name
        for path in ("sweep.py", "signals.py")
        for name in re.findall(
            r'"([A-Z]\w+)"(?::|, MetricUnit)', (ROOT / "lambdas" / path).read_text()
        )
    }


def _deployed(tmp_path: Path, **settings: Any) -> Template:
    """One construct in one stack."""
    app = cdk.App(outdir=str(tmp_path), analytics_reporting=False)
    code = lambda_.Code.from_inline("# the package is tested elsewhere")
    Headroom(cdk.Stack(app, "Storage"), "Headroom", code=code, **settings)
    found: Template = app.synth().get_stack_by_name("Storage").template
    return found


def _text(node: Any) -> str:
    """A text of a template, with `<LogicalId>` or `<AWS::Name>` for each reference."""
    if isinstance(node, str):
        return node
    ((how, given),) = node.items()
    if how == "Fn::Join":
        return "".join(map(_text, given[1]))
    return f"<{given if how == 'Ref' else given[0]}>"


def _body(whole: Template) -> dict[str, Any]:
    (dashboard,) = properties(whole, "AWS::CloudWatch::Dashboard")
    body: dict[str, Any] = json.loads(_text(dashboard["DashboardBody"]))
    return body


def test_there_is_none_unless_it_is_asked_for(shipped: Synthesised) -> None:
    for made in shipped.templates:
        assert resources(made, "AWS::CloudWatch::Dashboard") == {}


def test_it_adds_one_resource_and_no_permission(shipped: Synthesised, synth: Synth) -> None:
    made = synth(dashboard="on")
    before, after = (
        {name: body for each in one.templates for name, body in each["Resources"].items()}
        for one in (shipped, made)
    )
    assert [after[name]["Type"] for name in after.keys() - before.keys()] == [
        "AWS::CloudWatch::Dashboard"
    ]
    roles = [resources(one.loop, "AWS::IAM::Role") for one in (shipped, made)]
    assert roles[0] == roles[1]


def test_two_regions_of_an_account_have_a_name_each(tmp_path: Path) -> None:
    whole = _deployed(tmp_path, prefix="blue", dashboard="on")
    (dashboard,) = properties(whole, "AWS::CloudWatch::Dashboard")
    assert _text(dashboard["DashboardName"]) == "blue-<AWS::Region>"


def test_each_metric_is_one_that_somebody_publishes() -> None:
    own = {one.metric for one in METRICS if one.namespace not in PUBLISHED_BY_AWS}
    assert own == _published_by_the_functions()
    for one in METRICS:
        assert one.metric in PUBLISHED_BY_AWS.get(one.namespace, own)
    assert len(METRICS) <= FREE_METRICS


def test_each_metric_is_read_of_what_is_deployed(tmp_path: Path) -> None:
    whole = _deployed(tmp_path, prefix="blue", dashboard="on", hub_bus=HUB_BUS)
    panels = [w["properties"] for w in _body(whole)["widgets"] if w["type"] == "metric"]
    read = [metric for each in panels for metric in each["metrics"]]
    assert len(read) == len(METRICS)
    for namespace, _, dimension, value, _ in read:
        if namespace in TYPES:
            assert value.strip("<>") in resources(whole, TYPES[namespace])
        else:
            assert namespace == FunctionSettings.__dataclass_fields__["metrics_namespace"].default
            assert (dimension, value) == ("service", "blue")
        assert dimension == DIMENSIONS[namespace]


def test_logs_are_read_of_the_deployed_functions_and_alarms_are_all_of_our_own(
    tmp_path: Path,
) -> None:
    whole = _deployed(tmp_path, dashboard="on")
    widgets = _body(whole)["widgets"]
    groups = resources(whole, "AWS::Logs::LogGroup")
    for query in (w["properties"]["query"] for w in widgets if w["type"] == "log"):
        (group,) = re.findall(r"^SOURCE '<(\w+)>' \| ", query)
        assert group in groups
    (alarms,) = [w["properties"]["alarms"] for w in widgets if w["type"] == "alarm"]
    assert {arn.strip("<>") for arn in alarms} == set(resources(whole, "AWS::CloudWatch::Alarm"))


def test_no_panel_covers_another(tmp_path: Path) -> None:
    taken: set[tuple[int, int]] = set()
    for widget in _body(_deployed(tmp_path, dashboard="on"))["widgets"]:
        fields = {
            (x, y)
            for x in range(widget["x"], widget["x"] + widget["width"])
            for y in range(widget["y"], widget["y"] + widget["height"])
        }
        assert not fields & taken
        assert all(x < 24 for x, _ in fields)
        taken |= fields


def test_the_template_for_stacksets_fits_into_a_request_without_it() -> None:
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    assert len(as_text(template(context))) < INLINE
    made = template({**context, "dashboard": "on"})
    (dashboard,) = properties(made, "AWS::CloudWatch::Dashboard")
    named = re.findall(r'"Fn::GetAtt": \["(\w*HubEvents\w*)"', json.dumps(dashboard))
    guarded = re.findall(
        r'"HasHubBus", {"Fn::GetAtt": \["(\w*HubEvents\w*)"', json.dumps(dashboard)
    )
    assert len(set(named)) == 2, "the queue and the alarm, which are not there without a hub"
    assert named == guarded


def test_the_grafana_dashboard_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == written(), "run `python -m tools.grafana`"


def test_the_grafana_dashboard_has_the_same_panels_and_declares_what_they_name() -> None:
    made = dashboard()
    assert len(made["panels"]) == len(panels())
    declared = {each["name"] for each in made["templating"]["list"]}
    assert set(re.findall(r"\$\{?(\w+)", written())) <= declared
    assert {part.value for part in Part} <= declared


def test_grafanas_variables_find_each_part_and_nothing_else(tmp_path: Path, synth: Synth) -> None:
    """CloudFormation's names contain the logical ids, in the app as in the construct."""
    with_hub = {"hub_bus": HUB_BUS}
    for made in (synth(dashboard="on", **with_hub).templates, (_deployed(tmp_path, **with_hub),)):
        for namespace, metric, contains in FOUND.values():
            assert metric in PUBLISHED_BY_AWS[namespace]
            names = [
                str(body.get("Properties", {}).get("FunctionName", name))
                for each in made for name, body in resources(each, TYPES[namespace]).items()
            ]  # fmt: skip
            assert len([name for name in names if re.search(contains, name)]) == 1, contains
        groups = [name for each in made for name in resources(each, "AWS::Logs::LogGroup")]
        for contains in LOGS.values():
            assert len([name for name in groups if contains in name]) == 1


def test_the_page_states_the_price_and_every_source() -> None:
    page = (ROOT / "docs" / "operate" / "dashboard.md").read_text(encoding="utf-8")
    price, most = PRICES["dashboard"], str(FREE_METRICS)
    assert f"up to {most} metrics" in page
    assert f"up to {most} metrics" in price.source
    assert f"costs ${price.usd:.0f} a month" in page
    assert PAGE.name in page
    table = page.split("| panel | where it comes from |")[1].split("\n\n")[0]
    for service in ("Amazon SQS", "AWS Lambda", "Amazon DynamoDB", "Signals log", "Sweep log"):
        assert service in table


@pytest.mark.parametrize("value", ["maybe", 1, ""])
def test_it_is_on_or_off(tmp_path: Path, value: Any) -> None:
    with pytest.raises(ValueError, match=r"Setting dashboard is .* it must be on or off"):
        _deployed(tmp_path, dashboard=value)
