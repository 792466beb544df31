"""The document that extends file systems, and the right to run it; only where the owner asks for both."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from headroom.adapters import actions
from headroom.cdk.permissions import allow
from headroom.settings import DeploymentConfig, Names

TIMEOUT_S = "600"
"""How long one run may take; an instance that hangs beyond it is reported as hanging."""


class ExtendDocument(Construct):
    """One document with a step for Linux and one for Windows."""

    def __init__(self, scope: Construct, construct_id: str, names: Names) -> None:
        super().__init__(scope, construct_id)
        ssm.CfnDocument(
            self, "Document", name=names.extend_document, document_type="Command",
            document_format="JSON", target_type="/AWS::EC2::Instance",
            update_method="NewVersion", content=content(),
        )  # fmt: skip


def content() -> dict[str, object]:
    """The document; a parameter that does not match its pattern never reaches a shell."""
    return {
        "schemaVersion": "2.2",
        "description": "Headroom: extend the partition and the one file system on an EBS volume.",
        "parameters": {
            "VolumeId": {
                "type": "String", "allowedPattern": "^vol-[0-9a-f]{8,17}$",
                "description": "The volume that grew.",
            },
            "SizeGib": {
                "type": "String", "allowedPattern": "^[1-9][0-9]{0,4}$",
                "description": "Its size in GiB.",
            },
        },
        "mainSteps": [
            _step(
                "Linux", "aws:runShellScript", "extend_file_system.sh",
                "set -- '{{ VolumeId }}' '{{ SizeGib }}'",
            ),
            _step(
                "Windows", "aws:runPowerShellScript", "extend_file_system.ps1",
                "$VolumeId = '{{ VolumeId }}'; $SizeGib = [int64] '{{ SizeGib }}'",
            ),
        ],
    }  # fmt: skip


def _step(platform: str, action: str, script: str, arguments: str) -> dict[str, object]:
    lines = Path(__file__).with_name(script).read_text(encoding="utf-8").splitlines()
    first = 1 if lines[0].startswith("#!") else 0
    return {
        "action": action,
        "name": platform,
        "precondition": {"StringEquals": ["platformType", platform]},
        "inputs": {
            "timeoutSeconds": TIMEOUT_S, "runCommand": [*lines[:first], arguments, *lines[first:]],
        },
    }  # fmt: skip


def extend_statements(config: DeploymentConfig) -> list[iam.PolicyStatement]:
    """Running this one document, on instances with the enrolment tag; nothing unless it is on."""
    if config.ebs_free_space != "on":
        return []
    here = f"{Aws.REGION}:{Aws.ACCOUNT_ID}"
    document = f"arn:{Aws.PARTITION}:ssm:{here}:document/{config.names.extend_document}"
    tagged = allow(
        actions.EXTEND_ACTIONS,
        f"arn:{Aws.PARTITION}:ec2:{here}:instance/*",
        sid="OnEnrolledInstances",
    )
    tag = f"ssm:resourceTag/{config.enrolment_tag_key}"
    tagged.add_condition("StringEquals", {tag: config.enrolment_tag_value})
    return [
        allow(actions.EXTEND_ACTIONS, document, sid="ExtendFileSystems"),
        tagged,
        allow(actions.EXTEND_READ_ACTIONS, "*", sid="SeeHowItWent"),
    ]
