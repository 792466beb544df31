"""Events of volumes for EventBridge: EBS's own, and calls that CloudTrail records.

Source: EBS User Guide, "EventBridge events for EBS" (checked 2026-10).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from headroom.localaws.events import put_api_call, put_event, trail_shape
from headroom.localaws.state import AccountRegion, Cloud


def put_volume_notification(
    cloud: Cloud,
    account_region: AccountRegion,
    volume_id: str,
    *,
    event: str,
    result: str,
    request_id: str,
    at: datetime,
) -> None:
    """An `EBS Volume Notification`."""
    put_event(
        cloud, account_region, source="aws.ec2", detail_type="EBS Volume Notification", at=at,
        resources=[f"arn:aws:ec2:{account_region.region}:{account_region.account}:volume/{volume_id}"],
        detail={"result": result, "cause": "", "event": event, "request-id": request_id},
    )  # fmt: skip


def put_modify_volume_call(
    cloud: Cloud,
    account_region: AccountRegion,
    request: Mapping[str, Any],
    request_id: str,
    *,
    agent: str,
    shape: Mapping[str, Any] | None = None,
    error: tuple[str, str] | None = None,
) -> None:
    """ModifyVolume as CloudTrail reports it: nested, and the request in PascalCase."""
    if not cloud.options.cloudtrail:
        return
    response = None
    if shape is not None:
        modification = trail_shape(shape)
        response = {
            "ModifyVolumeResponse": {"requestId": request_id, "volumeModification": modification}
        }
    put_api_call(
        cloud, account_region, "ec2", "ModifyVolume", {"ModifyVolumeRequest": request}, request_id,
        response=response, agent=agent,
        error=None if error is None else (f"Client.{error[0]}", error[1]),
    )  # fmt: skip
