"""A change of a database's storage as one RDS call, and what code calls its settings.

Source: RDS API 2014-10-31, ModifyDBInstance and ModifyDBCluster (checked 2026-11); refusals reported
for parameters sent below the striping threshold (github.com/hashicorp/terraform-provider-aws,
issue 28160); CloudFormation template reference, AWS::RDS::DBInstance and AWS::RDS::DBCluster; Terraform AWS
provider, aws_db_instance and aws_rds_cluster; Pulumi AWS, rds.Instance and rds.Cluster (2026-10).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from headroom.domain.catalog.rds.steps import why_refused
from headroom.domain.resources import (
    STORAGE_MODES,
    Configuration,
    Deployment,
    SettingNames,
    ValidStorage,
)

Parameters = Mapping[str, str | int | bool]
Request = Mapping[str, object]
INSTANCE_NAMES = SettingNames(
    cloudformation="AWS::RDS::DBInstance", terraform="aws_db_instance", pulumi="aws.rds.Instance",
    properties=("StorageType", "AllocatedStorage", "Iops", "StorageThroughput"),
    arguments=("storage_type", "allocated_storage", "iops", "storage_throughput"),
    pulumi_properties=("storageType", "allocatedStorage", "iops", "storageThroughput"),
    size_is_text=True,
)  # fmt: skip
CLUSTER_NAMES = replace(
    INSTANCE_NAMES, cloudformation="AWS::RDS::DBCluster", terraform="aws_rds_cluster",
    pulumi="aws.rds.Cluster", size_is_text=False,
)  # fmt: skip

_ADDITIONAL = "AWS::RDS::DBInstance.AdditionalStorageVolume"
ADDITIONAL_NAMES = replace(
    INSTANCE_NAMES, cloudformation=_ADDITIONAL, terraform=_ADDITIONAL, pulumi=_ADDITIONAL
)
"""CloudFormation has it as a property of the instance; the other tools had no setting for it in 2026-11."""


def parameters(
    name: str, origin: Configuration, target: Configuration, *, valid: tuple[ValidStorage, ...] = ()
) -> Parameters:
    """What ModifyDBInstance, or ModifyDBCluster for a cluster, is called with to reach `target`.

    `name` is the identifier of the instance or the cluster. Size and IOPS are always sent together.
    gp3 below the threshold is sent without settings, or RDS refuses it. The type is sent only if it
    changes; a cluster's throughput follows by itself. Without ApplyImmediately nothing happens before
    the maintenance window; it also applies other pending changes, which `flushed` lists. Raises
    ValueError for a no-op and for what RDS would refuse.
    """
    if origin == target:
        raise ValueError(f"{target} is what it has: a call would use up one of four a day")
    problem = why_refused(origin, target, valid)
    if problem is not None or target.database is None:
        raise ValueError(problem or "it is no storage of a database")
    cluster = target.database.deployment is Deployment.CLUSTER
    sent: dict[str, str | int | bool] = {
        "DBClusterIdentifier" if cluster else "DBInstanceIdentifier": name,
        "ApplyImmediately": True,
    }
    if target.volume_type is not origin.volume_type:
        sent["StorageType"] = target.volume_type.value
    if target.iops is not None:
        sent |= {"AllocatedStorage": target.size_gib, "Iops": target.iops}
    elif target.size_gib != origin.size_gib:
        sent["AllocatedStorage"] = target.size_gib
    if target.throughput_mibps is not None:
        sent["StorageThroughput"] = target.throughput_mibps
    return MappingProxyType(sent)


def request(
    name: str, origin: Configuration, target: Configuration, valid: tuple[ValidStorage, ...] = ()
) -> tuple[str, Request]:
    """The API call that leads from `origin` to `target`, and its parameters; raises as they do.

    `name` is a resource id: `NAME`, `cluster:NAME`, or `NAME/VOLUME` for an additional volume.
    """
    if target.volume_type in STORAGE_MODES:
        mode = target.volume_type.value
        return "ModifyDBCluster", {
            "DBClusterIdentifier": name, "StorageType": mode, "ApplyImmediately": True,
        }  # fmt: skip
    name, _, additional = name.removeprefix("cluster:").partition("/")
    sent = parameters(name, origin, target, valid=valid)
    if additional:
        return "ModifyDBInstance", _of_volume(sent, additional)
    return "ModifyDBCluster" if "DBClusterIdentifier" in sent else "ModifyDBInstance", sent


def _of_volume(sent: Parameters, additional: str) -> Request:
    """The same change of one additional volume: no other volume of the instance is named in it.

    Source: RDS API 2014-10-31, ModifyAdditionalStorageVolume; the name in lower case as in the User Guide.
    """
    of_instance = ("DBInstanceIdentifier", "ApplyImmediately")
    own = {"IOPS" if n == "Iops" else n: v for n, v in sent.items() if n not in of_instance}
    volume = {"VolumeName": additional, **own}
    return {n: sent[n] for n in of_instance} | {"AdditionalStorageVolumes": [volume]}


def flushed(pending: Mapping[str, object]) -> tuple[str, ...]:
    """Names of other pending changes that ApplyImmediately would also apply, sorted.

    Some restart the database (a class, an engine version), so with any of them Headroom holds.
    """
    return tuple(sorted(name for name, value in pending.items() if value not in (None, {}, [], ())))
