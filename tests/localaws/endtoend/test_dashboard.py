"""The dashboard through plain CloudFormation calls: it comes, names what is deployed, and goes."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

from headroom.cdk.dashboards import panels
from headroom.cdk.stackset import as_text, template
from tests.localaws.conftest import Program

ROOT = Path(__file__).resolve().parents[3]
BUCKET = "acme-headroom"


def _template(program: Program, dashboard: str) -> dict[str, Any]:
    """The arguments of a call: the template is too large for a request with a dashboard."""
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    key = f"{dashboard}.template.json"
    body = as_text(template({**context, "dashboard": dashboard}))
    program.client("s3").put_object(Bucket=f"{BUCKET}-us-east-1", Key=key, Body=body.encode())
    return {
        "StackName": "Headroom",
        "TemplateURL": f"https://{BUCKET}-us-east-1.s3.amazonaws.com/{key}",
        "Capabilities": ["CAPABILITY_IAM"],
        "Parameters": [
            {"ParameterKey": name, "ParameterValue": value}
            for name, value in (("CodeBucket", BUCKET), ("CodeKey", "code.zip"))
        ],
    }


def _code() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("lambdas/__init__.py", "")
    return buffer.getvalue()


def _dashboards(program: Program) -> list[str]:
    found = program.client("cloudwatch").list_dashboards()["DashboardEntries"]
    return [each["DashboardName"] for each in found]


def _status(program: Program) -> str:
    (stack,) = program.client("cloudformation").describe_stacks(StackName="Headroom")["Stacks"]
    return str(stack["StackStatus"])


def test_it_comes_and_goes_with_the_setting_and_names_what_is_deployed(program: Program) -> None:
    cloudformation = program.client("cloudformation")
    program.client("s3").create_bucket(Bucket=f"{BUCKET}-us-east-1")
    program.client("s3").put_object(Bucket=f"{BUCKET}-us-east-1", Key="code.zip", Body=_code())
    cloudformation.create_stack(**_template(program, "off"))
    assert (_status(program), _dashboards(program)) == ("CREATE_COMPLETE", [])
    cloudformation.update_stack(**_template(program, "on"))
    assert (_status(program), _dashboards(program)) == ("UPDATE_COMPLETE", ["headroom-us-east-1"])
    found = program.client("cloudwatch").get_dashboard(DashboardName="headroom-us-east-1")
    body = json.loads(found["DashboardBody"])
    assert len(body["widgets"]) == len(panels())
    functions = {
        each["FunctionName"] for each in program.client("lambda").list_functions()["Functions"]
    }
    metrics = [m for w in body["widgets"] for m in w["properties"].get("metrics", [])]
    assert {value for _, _, name, value, _ in metrics if name == "FunctionName"} == functions
    (alarms,) = [w["properties"]["alarms"] for w in body["widgets"] if w["type"] == "alarm"]
    there = program.client("cloudwatch").describe_alarms()["MetricAlarms"]
    assert set(alarms) == {alarm["AlarmArn"] for alarm in there}
    cloudformation.update_stack(**_template(program, "off"))
    assert (_status(program), _dashboards(program)) == ("UPDATE_COMPLETE", [])
