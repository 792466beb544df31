"""File systems extended through Systems Manager: what is asked, and what counts as done."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError

from headroom.adapters.instances import ManagedFileSystems
from headroom.ports import Extended, NotExtended
from tests.builders import gp3, volume

GIB = 1024**3
DONE = f"headroom: extended ext4 /dev/nvme1n1p1 /data {99 * GIB} {148 * GIB}"
SKIPPED = "Step execution skipped due to unsupported platform"


def error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "SendCommand")


class Manager:
    """Systems Manager with one instance: its steps' outputs, after so many polls."""

    def __init__(
        self, outputs: dict[str, str], *, after: int = 0, refuses: Exception | None = None
    ) -> None:
        self.outputs, self.after, self.refuses = outputs, after, refuses
        self.sent: list[dict[str, Any]] = []
        self.waited = 0.0

    def send_command(self, **asked: Any) -> dict[str, Any]:
        if self.refuses is not None:
            raise self.refuses
        self.sent.append(asked)
        return {"Command": {"CommandId": "c-1"}}

    def wait(self, seconds: float) -> None:
        self.waited += seconds

    def get_command_invocation(self, **asked: Any) -> dict[str, Any]:
        assert asked["InstanceId"] == "i-1"
        if self.waited <= 2:
            raise error("InvocationDoesNotExist")
        if self.waited <= self.after:
            return {"Status": "InProgress", "StandardOutputContent": DONE}
        return {
            "Status": "Success",
            "StandardOutputContent": self.outputs.get(asked["PluginName"], SKIPPED),
        }

    def extend(self) -> Extended | NotExtended:
        client: Any = self
        systems = ManagedFileSystems(client, document="headroom-extend", wait=self.wait)
        return systems.extend(volume(gp3(150)))


def test_what_an_instance_would_lack_is_read_too() -> None:
    manager = Manager({"Linux": f"headroom-lacks: growpart, which is not installed\n{DONE}\n"})
    found = manager.extend()
    assert isinstance(found, Extended)
    assert found.lacks == "growpart, which is not installed"


@pytest.mark.parametrize(
    ("outputs", "size", "detail"),
    [
        ({"Linux": f"CHANGED: partition=1\n{DONE}\n"}, 148,
         "file system extended: ext4 /dev/nvme1n1p1 /data, 99.0 -> 148.0 GiB"),
        ({"Linux": DONE.replace("extended", "already").replace(str(99 * GIB), str(148 * GIB))}, 148,
         "file system already: ext4 /dev/nvme1n1p1 /data, 148.0 GiB"),
        ({"Windows": f"headroom: extended NTFS disk 1 C: {99 * GIB} {150 * GIB}\r\n"}, 150,
         "file system extended: NTFS disk 1 C:, 99.0 -> 150.0 GiB"),
    ],
)  # fmt: skip
def test_what_the_instance_reads_back_counts(
    outputs: dict[str, str], size: int, detail: str
) -> None:
    manager = Manager(outputs, after=6)
    assert manager.extend() == Extended(size_gib=size, detail=detail, extended=" -> " in detail)
    (sent,) = manager.sent
    assert sent["DocumentName"] == "headroom-extend"
    assert sent["InstanceIds"] == ["i-1"]
    assert sent["Parameters"] == {"VolumeId": ["vol-1"], "SizeGib": ["150"]}


@pytest.mark.parametrize(
    ("manager", "why", "again"),
    [
        (Manager({"Linux": "headroom: refused /dev/x is encrypted on the instance (LUKS)"}), "LUKS", False),
        (Manager({"Linux": "headroom: later another run is at work"}), "another run", True),
        (Manager({"Linux": "resize2fs: Permission denied"}), "did not say", True),
        (Manager({"Linux": "headroom: extended ext4 /dev/x /data"}), "did not say", True),
        (Manager({}), "did not say", True),
        (Manager({"Linux": DONE}, after=99), "not finished", True),
        (Manager({}, refuses=error("InvalidInstanceId")), "not online in Systems Manager (i-1)", False),
        (Manager({}, refuses=error("AccessDeniedException")), "enrolment tag", False),
        (Manager({}, refuses=error("ThrottlingException")), "ThrottlingException", True),
        (Manager({}, refuses=ConnectTimeoutError(endpoint_url="x")), "ConnectTimeout", True),
    ],
)  # fmt: skip
def test_anything_else_is_not_extended_and_says_why(
    manager: Manager, why: str, again: bool
) -> None:
    found = manager.extend()
    assert isinstance(found, NotExtended)
    assert why in found.why
    assert found.again is again
    assert manager.waited <= 20
