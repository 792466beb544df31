"""A deployment goes from one choice to another and back, under CloudFormation's update rules."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from botocore.exceptions import ClientError

from tests.localaws.conftest import Program
from tests.stacks.conftest import Synth, Synthesised, shared_synth

STACKS = ("HeadroomState", "HeadroomLoop")
DONE = ("CREATE_COMPLETE", "UPDATE_COMPLETE")


@pytest.fixture(scope="module")
def synth(tmp_path_factory: pytest.TempPathFactory) -> Synth:
    return shared_synth(tmp_path_factory)


def policy_file(folder: Path, rules: int) -> str:
    """A policy with so many rules; 100 of them take several parameters."""
    text = {
        "version": 1,
        "rules": [
            {"match": {"tags": {"team": f"number-{n}"}}, "set": {"max_iops": 4_000 + n}}
            for n in range(rules)
        ],
    }
    path = folder / f"policy-{rules}.yaml"
    path.write_text(yaml.safe_dump(text), encoding="utf-8")
    return str(path)


class Account:
    """An endpoint that was bootstrapped, and deployments of templates to it."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._buckets: set[str] = set()
        program.client("ssm").put_parameter(
            Name="/cdk-bootstrap/hnb659fds/version", Value="30", Type="String"
        )

    def deploy(self, made: Synthesised) -> None:
        """Both stacks, in their order; fails with CloudFormation's words."""
        self._upload(made)
        for name, template in zip(STACKS, made.templates, strict=True):
            self._one(name, template)

    def _one(self, name: str, template: Mapping[str, Any]) -> None:
        cloudformation, body = self._program.client("cloudformation"), json.dumps(template)
        try:
            cloudformation.describe_stacks(StackName=name)
            deploy = cloudformation.update_stack
        except ClientError:
            deploy = cloudformation.create_stack
        try:
            deploy(StackName=name, TemplateBody=body, Capabilities=["CAPABILITY_IAM"])
        except ClientError as refusal:
            if "No updates are to be performed" not in str(refusal):
                raise
        stack = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
        assert stack["StackStatus"] in DONE, stack.get("StackStatusReason")

    def _upload(self, made: Synthesised) -> None:
        """The functions' code, as `cdk deploy` puts it where the templates say."""
        code = io.BytesIO()
        with zipfile.ZipFile(code, "w") as archive:
            archive.writestr("lambdas/__init__.py", "")
        manifest = json.loads((made.directory / "HeadroomLoop.assets.json").read_text())
        s3 = self._program.client("s3")
        for entry in manifest["files"].values():
            for place in entry["destinations"].values():
                bucket = place["bucketName"].replace("${AWS::AccountId}", "123456789012")
                bucket = bucket.replace("${AWS::Region}", "us-east-1")
                if bucket not in self._buckets:
                    s3.create_bucket(Bucket=bucket)
                    self._buckets.add(bucket)
                s3.put_object(Bucket=bucket, Key=place["objectKey"], Body=code.getvalue())

    def there(self) -> dict[str, Any]:
        """What exists: resources of both stacks, alarms, parameters and tables with their indexes."""
        client = self._program.client
        stacks = {
            (name, one["LogicalResourceId"]): one["ResourceType"]
            for name in STACKS
            for one in client("cloudformation").describe_stack_resources(StackName=name)[
                "StackResources"
            ]
        }
        alarms = client("cloudwatch").get_paginator("describe_alarms").paginate()
        parameters = client("ssm").get_parameters_by_path(Path="/headroom", Recursive=True)
        tables = [
            client("dynamodb").describe_table(TableName=name)["Table"]
            for name in client("dynamodb").list_tables()["TableNames"]
        ]
        return {
            "resources": stacks,
            "alarms": sorted(a["AlarmName"] for page in alarms for a in page["MetricAlarms"]),
            "parameters": {p["Name"]: p["Value"] for p in parameters["Parameters"]},
            "tables": sorted(
                (t["TableName"], tuple(sorted(i["IndexName"] for i in t["GlobalSecondaryIndexes"])))
                for t in tables
            ),
        }


CHOICES: dict[str, dict[str, Any]] = {
    "detection by alarms": {"detection": "fleet"},
    "detection by tag": {"detection": "tagged", "kinds": "ebs,rds"},
    "a long policy": {"rules": 100},
    "a policy of two parts": {"rules": 40},
    "seals": {"seal_records": "on"},
    "an encrypted topic": {"topic_key": "on"},
    "only volumes, and what is free of them": {"kinds": "ebs", "ebs_free_space": "on"},
    "a dry run": {"hard_caps": {"mode": "observe", "resource_tag": "team=db"}, "kinds": "ebs,rds"},
    "everything without alarms": {"detection": "sweep", "seal_records": "on"},
}


def test_every_choice_can_be_made_and_taken_back(
    program: Program, synth: Synth, tmp_path: Path
) -> None:
    """From the shipped choice to each of the others in turn, and back to the shipped one."""
    account = Account(program)
    made = synth()
    account.deploy(made)
    shipped = account.there()
    assert len(shipped["resources"]) > 30
    for choice, context in CHOICES.items():
        more = dict(context)
        if "rules" in more:
            more["policy_file"] = policy_file(tmp_path, more.pop("rules"))
        last, made = made, synth(**more)
        assert made.templates != last.templates, f"{choice} changes nothing"
        account.deploy(made)
        tables = account.there()["tables"]
        assert tables == shipped["tables"], f"{choice}: what outlives deployments is not replaced"
    account.deploy(synth())
    assert account.there() == shipped
