"""The parameters of CreateDBInstance and CreateDBCluster other than storage.

Source: RDS API 2014-10-31 (checked 2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from headroom.domain.resources import StorageMode
from headroom.localaws.state import AwsError
from headroom.proving.awsrules import (
    ENGINE_PORTS,
    ENGINE_VERSIONS,
    MAINTENANCE_WINDOW,
    Settings,
    engine_family,
    next_maintenance_window,
)

_NAME = re.compile(r"[a-z](?:-?[a-z0-9]){0,62}")
_IGNORED = (
    "MasterUsername", "MasterUserPassword", "ManageMasterUserPassword", "DBSubnetGroupName",
    "VpcSecurityGroupIds", "DBName", "DatabaseName", "DBParameterGroupName", "PubliclyAccessible",
    "PreferredBackupWindow", "MonitoringInterval", "MonitoringRoleArn", "LicenseModel",
    "AutoMinorVersionUpgrade", "CopyTagsToSnapshot", "OptionGroupName", "EngineMode",
    "EnablePerformanceInsights", "AvailabilityZones", "CACertificateIdentifier", "PromotionTier",
    "EnableCloudwatchLogsExports", "EnableIAMDatabaseAuthentication", "StorageEncrypted",
    "KmsKeyId", "NetworkType", "MasterUserSecretKmsKeyId", "DatabaseInsightsMode",
)  # fmt: skip
"""Parameters without effect on storage; those that the API reports are reported as given."""
_STORAGE = ("AllocatedStorage", "StorageType", "Iops", "StorageThroughput")
_SETTINGS = ("EngineVersion", "BackupRetentionPeriod", "Port")
OF_INSTANCE = (
    *_STORAGE, *_SETTINGS, *_IGNORED, "DBInstanceIdentifier", "DBInstanceClass", "Engine",
    "MultiAZ", "MaxAllocatedStorage", "DBClusterIdentifier", "AvailabilityZone", "Tags",
    "PreferredMaintenanceWindow", "DeletionProtection", "DedicatedLogVolume",
    "AdditionalStorageVolumes", "SourceDBInstanceIdentifier",
)  # fmt: skip
OF_CLUSTER = (
    *_STORAGE, *_SETTINGS, *_IGNORED, "DBClusterIdentifier", "DBClusterInstanceClass", "Engine",
    "Tags", "PreferredMaintenanceWindow", "DeletionProtection", "DBClusterParameterGroupName",
    "ServerlessV2ScalingConfiguration",
)  # fmt: skip


def refuse_unknown(request: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Raise NotImplementedError, which is answered 501, for what would be silently left out."""
    unknown = sorted(set(request) - set(known))
    if unknown:
        raise NotImplementedError(f"Parameter {unknown[0]} is not part of this endpoint.")


def new_name(
    request: Mapping[str, Any], parameter: str, present: Mapping[str, object], code: str
) -> str:
    """The name asked for, in lower case as RDS keeps it; raises AwsError, `code` where it is taken."""
    name = str(required_parameter(request, parameter)).lower()
    if not _NAME.fullmatch(name):
        raise AwsError(
            "InvalidParameterValue", f"The parameter {parameter} is not a valid identifier."
        )
    if name in present:
        raise AwsError(code, f"{name} already exists")
    return name


def required_parameter(request: Mapping[str, Any], name: str) -> Any:
    """A parameter that must be there; raises AwsError."""
    if request.get(name) in (None, ""):
        raise AwsError("MissingParameter", f"The request must contain the parameter {name}.")
    return request[name]


def settings_of(request: Mapping[str, Any], engine: str, **classes: str) -> Settings:
    """The initial settings; `classes` are those of the instance or of the cluster."""
    if request.get("EngineMode", "provisioned") != "provisioned":
        raise NotImplementedError("EngineMode other than provisioned is not part of this endpoint.")
    values: dict[str, object] = {
        "EngineVersion": str(
            request.get("EngineVersion") or ENGINE_VERSIONS.get(engine_family(engine), "")
        ),
        "BackupRetentionPeriod": int(request.get("BackupRetentionPeriod", 1)),
        "Port": int(request.get("Port") or ENGINE_PORTS.get(engine_family(engine), 0)),
        **classes,
    }
    return Settings(values, window=window_of(request) or MAINTENANCE_WINDOW)


def window_of(request: Mapping[str, Any]) -> str | None:
    """The maintenance window asked for, None where none is; raises AwsError."""
    if request.get("PreferredMaintenanceWindow") is None:
        return None
    window = str(request["PreferredMaintenanceWindow"]).lower()
    try:
        next_maintenance_window(window, datetime(2026, 1, 1, tzinfo=UTC))
    except ValueError as wrong:
        raise AwsError("InvalidParameterValue", f"Invalid maintenance window: {window}") from wrong
    return window


def mode_of(request: Mapping[str, Any]) -> StorageMode | None:
    """The storage mode asked for, None where none is; raises AwsError."""
    kind = request.get("StorageType")
    if kind is None:
        return None
    if kind not in set(StorageMode):
        raise AwsError("InvalidParameterValue", f"Invalid storage type: {kind}")
    return StorageMode(kind)


def api_fields_of(request: Mapping[str, Any]) -> dict[str, object]:
    """Fields that are reported as they were given."""
    names = (
        "MasterUsername", "DeletionProtection", "DedicatedLogVolume", "StorageEncrypted", "PromotionTier", "ServerlessV2ScalingConfiguration",
    )  # fmt: skip
    return {name: request[name] for name in names if name in request}


def tags_of(request: Mapping[str, Any]) -> dict[str, str]:
    """Tags by key."""
    return {str(tag["Key"]): str(tag.get("Value", "")) for tag in request.get("Tags") or ()}
