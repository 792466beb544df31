"""Every refusal of IAM's simulation is a finding with its fix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from headroom.cli.doctor.findings import Fact, Finding
from headroom.cli.doctor.permissions import permissions
from tests.cli.doctor.deployment import Whole, client, whole


class Iam:
    """IAM that allows everything but what `refused` names."""

    def __init__(self, **refused: dict[str, Any]) -> None:
        self.refused = refused
        self.asked: set[str] = set()

    def simulate_principal_policy(
        self, *, ActionNames: list[str], PolicySourceArn: str, **_: Any
    ) -> Any:
        assert ":role/" in PolicySourceArn
        self.asked |= set(ActionNames)
        if "denied" in self.refused:
            error = {"Error": {"Code": "AccessDenied", "Message": "no"}}
            raise ClientError(error, "SimulatePrincipalPolicy")  # type: ignore[arg-type]
        return {"EvaluationResults": [
            {"EvalActionName": name, "EvalDecision": "allowed",
             **self.refused.get(name.partition(":")[2], {})}
            for name in ActionNames
        ]}  # fmt: skip


@pytest.fixture(scope="module")
def there() -> Iterator[Whole]:
    """Read by every test here, and changed by none."""
    with pytest.MonkeyPatch.context() as patch, mock_aws():
        for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
            patch.setenv(f"AWS_{name}", "test")
        client("iam").create_role(RoleName="role", AssumeRolePolicyDocument="{}")
        made = whole()
        for name in ("signals", "sweep"):
            client("lambda").update_function_configuration(
                FunctionName=name, Handler=f"lambdas.{name}.handler"
            )
        yield made


def simulated(there: Whole, iam: Iam) -> tuple[list[Finding], list[str]]:
    deployed = replace(there.again(), is_local=False)
    deployed._clients["iam"] = iam
    found = list(permissions(deployed))
    return [f for f in found if isinstance(f, Finding)], [
        f.text for f in found if isinstance(f, Fact)
    ]


@pytest.mark.parametrize(
    ("result", "said", "fix"),
    [
        ({"EvalDecision": "implicitDeny"}, "no policy allows it", "restore what the template defines"),
        ({"EvalDecision": "explicitDeny"}, "a policy of the role denies it", "remove that statement"),
        ({"EvalDecision": "implicitDeny", "OrganizationsDecisionDetail": {"AllowedByOrganizations": False}},
         "a service control policy", "change that policy to allow it"),
        ({"EvalDecision": "implicitDeny",
          "PermissionsBoundaryDecisionDetail": {"AllowedByPermissionsBoundary": False}},
         "permissions boundary", "change the boundary to allow it"),
    ],
    ids=["missing", "denied", "organization", "boundary"],
)  # fmt: skip
def test_what_a_role_may_not_do_is_found(
    there: Whole, result: dict[str, Any], said: str, fix: str
) -> None:
    (finding,), _ = simulated(there, Iam(ModifyVolume=result))
    assert finding.problem.startswith(
        "the role of signals is denied ec2:ModifyVolume on arn:aws:ec2:"
    )
    assert said in finding.problem
    assert finding.fix.startswith(fix)


def test_what_may_be_done_is_a_fact(there: Whole) -> None:
    iam = Iam()
    assert simulated(there, iam)[0] == []
    asked = {"ec2:ModifyVolume", "events:PutEvents", "dynamodb:PutItem", "cloudwatch:DeleteAlarms"}
    assert asked <= iam.asked
    assert "cloudwatch:PutMetricAlarm" not in iam.asked, "there is no budget for alarms"


def test_a_simulation_that_is_denied_is_said_and_no_finding(there: Whole) -> None:
    assert simulated(there, Iam(denied={})) == (
        [], ["not simulated: iam:SimulatePrincipalPolicy is denied to the caller"],
    )  # fmt: skip
