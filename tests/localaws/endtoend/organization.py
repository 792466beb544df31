"""Accounts and Regions of an organization at the local endpoint, with what StackSets would do in each."""

from __future__ import annotations

import io
import zipfile
from datetime import datetime, timedelta
from typing import Any

import boto3

from headroom.adapters.parameters import ParameterPolicies
from headroom.cdk.asset import stage_function_code
from headroom.domain.policy import HardCaps, Policy
from headroom.localaws.daemon import LocalAws

START = datetime.fromisoformat("2026-01-05T00:00:00+00:00")


class Place:
    """One account and Region, with what StackSets would do there."""

    def __init__(
        self, aws: LocalAws, account: str, region: str, *, role: str = "stacksets-exec",
        person: str = "stacksets",
    ) -> None:  # fmt: skip
        own = boto3.client("sts", endpoint_url=aws.url, region_name=region, **aws.credentials)
        arn = f"arn:aws:iam::{account}:role/{role}"
        given = own.assume_role(RoleArn=arn, RoleSessionName=person)["Credentials"]
        self._session = boto3.Session(
            aws_access_key_id=given["AccessKeyId"], aws_secret_access_key=given["SecretAccessKey"],
            aws_session_token=given["SessionToken"], region_name=region,
        )  # fmt: skip
        self._url = aws.url

    def client(self, service: str) -> Any:
        return self._session.client(service, endpoint_url=self._url)

    @property
    def stack(self) -> dict[str, Any]:
        return self.of("Headroom")

    def of(self, stack: str) -> dict[str, Any]:
        """The status and the outputs of a stack."""
        found = self.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]
        outputs = {o["OutputKey"]: o["OutputValue"] for o in found.get("Outputs", [])}
        return {"status": found["StackStatus"], "outputs": outputs}

    @property
    def alarms(self) -> list[str]:
        found = self.client("cloudwatch").describe_alarms()["MetricAlarms"]
        return [alarm["AlarmName"] for alarm in found]

    @property
    def expressions(self) -> set[str]:
        found = self.client("cloudwatch").describe_alarms(AlarmNamePrefix="headroom-detect-")
        return {a["Metrics"][0]["Expression"] for a in found["MetricAlarms"]}

    @property
    def sweeps(self) -> float:
        found = self.client("cloudwatch").get_metric_statistics(
            Namespace="Headroom", MetricName="SweepCompleted", Statistics=["Sum"], Period=3_600,
            Dimensions=[{"Name": "service", "Value": "headroom"}],
            StartTime=START, EndTime=START + timedelta(hours=1),
        )  # fmt: skip
        return float(sum(point["Sum"] for point in found["Datapoints"]))

    @property
    def policy(self) -> str:
        found = ParameterPolicies(
            self.client("ssm"), parameter="/headroom/policy", caps=HardCaps()
        ).current()
        assert isinstance(found, Policy), found
        return found.version

    @property
    def code(self) -> set[str]:
        functions = self.client("lambda").list_functions()["Functions"]
        return {function["CodeSha256"] for function in functions}

    @property
    def addresses(self) -> list[str]:
        found = self.client("sns").list_subscriptions()["Subscriptions"]
        return [each["Endpoint"] for each in found]

    def seen(self) -> dict[str, Any]:
        """Everything a test asks about, now."""
        names = ("stack", "alarms", "expressions", "sweeps", "policy", "code", "addresses")
        return {name: getattr(self, name) for name in names}


def code_zip(marker: str = "") -> bytes:
    """The functions' package; a `marker` makes it another one."""
    folder, buffer = stage_function_code(), io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            archive.writestr(path.relative_to(folder).as_posix(), path.read_bytes())
        if marker:
            archive.writestr("marker", marker)
    return buffer.getvalue()


def given(**values: str) -> list[dict[str, str]]:
    return [{"ParameterKey": key, "ParameterValue": value} for key, value in values.items()]
