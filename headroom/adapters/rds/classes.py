"""EBS limits of the instance classes of databases: those of the EC2 type behind each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from headroom.adapters.ebs import shapes as ebs_shapes
from headroom.adapters.errors import code_of, reading
from headroom.adapters.rds.shapes import class_type
from headroom.domain.resources import InstanceLimits

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


class InstanceClasses:
    """Limits by instance class, kept as long as the object, since AWS does not change them."""

    def __init__(self, ec2_client: EC2Client) -> None:
        self._ec2 = ec2_client
        self._known: dict[str, InstanceLimits | None] = {}

    def limits(self, instance_class: str) -> InstanceLimits | None:
        """The limits of a class, for example `db.r6g.large`; None where EC2 knows no such type.

        Raises ReadFailed.
        """
        if instance_class not in self._known:
            self._known[instance_class] = self._described(instance_class)
        return self._known[instance_class]

    def _described(self, instance_class: str) -> InstanceLimits | None:
        name = class_type(instance_class)
        if name is None:
            return None
        with reading(f"DescribeInstanceTypes {name}"):
            try:
                answer = self._ec2.describe_instance_types(InstanceTypes=[name])  # type: ignore[list-item]
            except ClientError as error:
                if code_of(error) == "InvalidInstanceType":
                    return None
                raise
            found = answer["InstanceTypes"]
            if not found or found[0].get("EbsInfo", {}).get("EbsOptimizedSupport") != "default":
                return None
            return ebs_shapes.instance_limits(found[0])
