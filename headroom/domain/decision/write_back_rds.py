"""What to write where a database's settings are kept: language, place in words, and text.

Sources (2026-10): CloudFormation template reference, AWS::RDS::DBInstance and AWS::RDS::DBCluster;
Terraform AWS provider, aws_db_instance and aws_rds_cluster; Pulumi AWS, rds.Instance and
rds.Cluster. All keep storage under RDS's own names.
"""

from __future__ import annotations

import json
import re

from headroom.domain.resources import STORAGE_MODES, CodeOwner, Configuration, Deployment, Tool

_NAMES = ("StorageType", "AllocatedStorage", "Iops", "StorageThroughput")
_HCL = ("storage_type", "allocated_storage", "iops", "storage_throughput")
_PULUMI = ("storageType", "allocatedStorage", "iops", "storageThroughput")


def database_text(owner: CodeOwner, name: str, target: Configuration) -> tuple[str, str, str]:
    """What `owner`'s files must say for the database `name` to keep `target`."""
    database = target.database
    cluster = database is None or database.deployment is Deployment.CLUSTER
    match owner.tool:
        case Tool.CLOUDFORMATION:
            return _cloudformation(owner, target, cluster=cluster)
        case Tool.PULUMI:
            lines = [f"{key}: {json.dumps(v)}" for key, v in _values(_PULUMI, target)]
            of = "aws.rds.Cluster" if cluster else "aws.rds.Instance"
            return "pulumi", f"In the properties of the {of} that is {name}.", _joined(lines)
        case Tool.KUBERNETES:
            lines = [f"{key}: {v}" for key, v in _values(_NAMES, target)]
            where = f"In the manifest that {name} is made from, under the names it has there."
            return "kubernetes", where, _joined(lines)
        case _:
            return _hcl(name, target, cluster=cluster)


def _values(names: tuple[str, ...], target: Configuration) -> list[tuple[str, str | int]]:
    """Names and values of what may be set; what may not is left out, or RDS refuses it.

    Of an Aurora cluster only the type may be set: it has no size to set.
    """
    size = None if target.volume_type in STORAGE_MODES else target.size_gib
    values = (target.volume_type.value, size, target.iops, target.throughput_mibps)
    return [(name, v) for name, v in zip(names, values, strict=True) if v is not None]


def _cloudformation(
    owner: CodeOwner, target: Configuration, *, cluster: bool
) -> tuple[str, str, str]:
    name = owner.logical_id if re.fullmatch(r"[A-Za-z0-9]+", owner.logical_id) else "TheDatabase"
    kind = "AWS::RDS::DBCluster" if cluster else "AWS::RDS::DBInstance"
    lines = [f"{name}:", f"  Type: {kind}", "  Properties:"]
    for key, value in _values(_NAMES, target):
        # An instance takes its size as text, a cluster as a number.
        text = f'"{value}"' if key == "AllocatedStorage" and not cluster else value
        lines.append(f"    {key}: {text}")
    fails = ", and one that names a smaller size fails" if target.size_gib else ""
    where = (
        f"In the template of stack {owner.stack or '(unknown)'}, these properties of {name} (keep "
        "its other ones). Until they are there, an update that touches it may put the old values "
        f"back{fails}."
    )
    return "cloudformation", where, _joined(lines)


def _hcl(name: str, target: Configuration, *, cluster: bool) -> tuple[str, str, str]:
    pairs = _values(_HCL, target)
    width = max(len(key) for key, _ in pairs)
    kind = "aws_rds_cluster" if cluster else "aws_db_instance"
    lines = [f'resource "{kind}" "this" {{']
    lines += [f"  {key:<{width}} = {json.dumps(value)}" for key, value in pairs]
    where = (
        f"In the resource that is {name}, or leave {', '.join(key for key, _ in pairs)} to "
        "Headroom with ignore_changes. Until it says so the next apply puts the old values back, "
        "and Headroom then leaves the database alone for a while."
    )
    return "hcl", where, _joined([*lines, "}"])


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"
