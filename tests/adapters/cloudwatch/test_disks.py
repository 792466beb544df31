"""Free space of volumes: which of the agent's metrics are taken, and which leave doubt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from headroom.adapters.cloudwatch import CloudWatchMetrics
from headroom.ports import ReadFailed, StorageView
from tests.adapters.cloudwatch.test_metrics import FakeCloudWatch, Key, Published, minutes, view
from tests.builders import ACCOUNT, NOW, REGION, instance, ref, volume

GIB = 1024**3
Labels = dict[str, str]


class Agent(FakeCloudWatch):
    """CloudWatch with ListMetrics, two metrics a page."""

    def get_paginator(self, operation: str) -> Agent:
        assert operation == "list_metrics"
        return self

    def paginate(self, **asked: Any) -> Iterator[dict[str, Any]]:
        wanted = {(d["Name"], d["Value"]) for d in asked["Dimensions"]}
        found = [
            {"MetricName": name, "Dimensions": [{"Name": n, "Value": v} for n, v in labels]}
            for namespace, name, labels in self.published
            if namespace == asked["Namespace"] and wanted <= labels
        ]
        for first in range(0, len(found), 2):
            yield {"Metrics": found[first : first + 2]}


def key(name: str, labels: Labels) -> Key:
    return ("CWAgent", name, frozenset(labels.items()))


def linux(used: Sequence[float | None], gib: float = 100.0, **labels: str) -> Published:
    """What the agent publishes of a file system, VolumeId appended; "" leaves a label out."""
    named = {
        "InstanceId": "i-1", "VolumeId": "vol-1", "path": "/data", "device": "nvme1n1p1",
        "fstype": "xfs", "ImageId": "ami-1", **labels,
    }  # fmt: skip
    named = {name: value for name, value in named.items() if value}
    return {
        key("disk_used_percent", named): minutes(*used),
        key("disk_total", named): minutes(*(gib * GIB for _ in used)),
    }


def windows(percent_free: float, free_mib: float, drive: str = "C:") -> Published:
    named = {"InstanceId": "i-1", "objectname": "LogicalDisk", "instance": drive}
    return {
        key("LogicalDisk % Free Space", named): minutes(*[percent_free] * 9),
        key("LogicalDisk Free Megabytes", named): minutes(*[free_mib] * 9),
    }


def seen(published: Published, one: StorageView | None = None, *, disks: bool = True) -> Any:
    fake: Any = Agent(published)
    reader = CloudWatchMetrics(fake, account_id=ACCOUNT, region=REGION, disks=disks)
    return reader.activity(one or view(), NOW)[0]


def free(published: Published, one: StorageView | None = None) -> list[float] | None:
    series = seen(published, one).free_gib
    return None if series is None else [round(v, 6) for v in series.known()]


def test_free_space_is_the_share_that_is_not_used_of_the_file_system() -> None:
    found = seen(linux([90.0, None, 91.5], gib=80.0))
    assert list(found.free_gib.known()) == pytest.approx([8.0, 6.8])
    assert found.file_system_gib.known() == (80.0, 80.0)
    history = CloudWatchMetrics(
        Agent(linux([90.0] * 10)),
        account_id=ACCOUNT,
        region=REGION,
        disks=True,  # type: ignore[arg-type]
    ).history(view(), NOW)
    assert history is not None
    assert history.free_gib is not None
    assert {round(v, 6) for v in history.free_gib.known()} == {10.0}


def test_nothing_is_listed_or_read_where_the_owner_did_not_ask_for_it() -> None:
    class Silent(FakeCloudWatch):
        """A client without ListMetrics: asking for it would raise."""

    fake: Any = Silent(linux([90.0] * 9))
    found = CloudWatchMetrics(fake, account_id=ACCOUNT, region=REGION).activity(view(), NOW)[0]
    assert found.free_gib is None
    assert found.file_system_gib is None


def only_used(**labels: str) -> Published:
    """A file system of which the agent does not publish the size."""
    return {k: v for k, v in linux([90.0] * 9, **labels).items() if k[1] == "disk_used_percent"}


BOOT = linux([50.0] * 9, path="/boot/efi", fstype="vfat", device="nvme1n1p15")


@pytest.mark.parametrize(
    ("published", "read"),
    [
        (linux([90.0] * 9), True),
        ({**linux([90.0] * 9), **BOOT}, True),
        (
            {**linux([90.0] * 9), **linux([9.0] * 9, path="/bootstrap", device="nvme1n1p2")},
            False,
        ),  # data, though its name begins like that of /boot
        ({**linux([90.0] * 9), **only_used(path="/srv", device="nvme1n1p2")}, False),
        ({**linux([90.0] * 9), **linux([90.0] * 9, path="/srv")}, True),  # mounted twice
        ({**linux([90.0] * 9), **linux([10.0] * 9, path="/srv", device="nvme1n1p2")}, False),
        ({**linux([9.0] * 9, device=""), **linux([10.0] * 9, path="/b", device="")}, False),
        (linux([90.0] * 9, device=""), True),  # the agent's drop_device
        (linux([90.0] * 9, VolumeId=""), False),  # nothing says which volume it is
        (linux([90.0] * 9, VolumeId="vol-2"), False),
        (linux([90.0] * 9, InstanceId="i-2"), False),  # where it was attached before
        (linux([90.0] * 9, path=""), False),  # summed over several
        (linux([90.0] * 9, fstype="btrfs"), False),
        (linux([90.0] * 9, fstype="zfs"), False),
        (BOOT, False),
        (only_used(), False),
        ({}, False),
    ],
)
def test_only_a_volumes_one_file_system_is_read(published: Published, read: bool) -> None:
    assert (free(published) is not None) is read


@pytest.mark.parametrize(
    "changes", [{"instance_ids": ()}, {"instance_ids": ("i-1", "i-2"), "multi_attach": True}]
)
def test_a_volume_of_no_instance_or_several_has_no_file_system_to_read(
    changes: dict[str, Any],
) -> None:
    one = StorageView(volume=volume(None, **changes), modification=None, instance=None)
    assert free(linux([90.0] * 9), one) is None


@pytest.mark.parametrize(
    ("published", "volumes", "expected"),
    [
        (windows(10.0, 10_240.0), ("vol-1",), {10.0}),
        (windows(10.0, 10_240.0), ("vol-1", "vol-2"), None),  # which of them is C:?
        (windows(10.0, 10_240.0, drive="D:"), ("vol-1",), None),
        ({**windows(10.0, 10_240.0), **windows(50.0, 9.0, drive="D:")}, ("vol-1",), {10.0}),
    ],
)
def test_drive_c_is_the_volume_of_a_windows_instance_that_has_one(
    published: Published, volumes: tuple[str, ...], expected: set[float] | None
) -> None:
    found = seen(published, view(instance=replace(instance(), volume_ids=volumes)))
    assert (None if found.free_gib is None else set(found.free_gib.known())) == expected
    if expected is not None:
        assert set(found.file_system_gib.known()) == {100.0}


def test_volumes_of_one_instance_are_listed_together() -> None:
    fake: Any = Agent({**linux([90.0] * 9), **linux([80.0] * 9, VolumeId="vol-2")})
    reader = CloudWatchMetrics(fake, account_id=ACCOUNT, region=REGION, disks=True)
    views = [
        StorageView(volume=volume(None, ref=ref(one)), modification=None, instance=None)
        for one in ("vol-1", "vol-2")
    ]
    found = reader.activities(views, NOW)
    shares = [{round(v) for v in one.free_gib.known()} for one, _ in found.values() if one.free_gib]
    assert shares == [{10}, {20}]


class Refusing(Agent):
    """An agent's account where ListMetrics fails once it was called `after` times."""

    def __init__(self, published: Published, code: str, after: int = 0) -> None:
        super().__init__(published)
        self.code, self.left = code, after

    def paginate(self, **asked: Any) -> Iterator[dict[str, Any]]:
        if self.left == 0:
            raise ClientError({"Error": {"Code": self.code}}, "ListMetrics")
        self.left -= 1
        yield from super().paginate(**asked)


def reading(fake: Any) -> CloudWatchMetrics:
    return CloudWatchMetrics(fake, account_id=ACCOUNT, region=REGION, disks=True)


def test_a_denied_list_of_metrics_stops_nothing_but_the_reading_of_free_space() -> None:
    reader = reading(Refusing(linux([90.0] * 9), "AccessDenied"))
    found, _ = reader.activity(view(), NOW)
    assert found.free_gib is None
    with pytest.raises(ReadFailed):  # which passes, and is tried again
        reading(Refusing({}, "ThrottlingException")).activity(view(), NOW)


def test_the_metrics_of_an_instance_are_listed_once_for_all_reads_of_five_minutes() -> None:
    reader = reading(Refusing(linux([90.0] * 9), "ThrottlingException", after=1))
    assert reader.activity(view(), NOW)[0].free_gib is not None
    history = reader.history(view(), NOW)
    assert history is not None
    assert history.free_gib is not None
    assert reader.activity(view(), NOW + timedelta(minutes=4))[0].free_gib is not None
    with pytest.raises(ReadFailed):
        reader.activity(view(), NOW + timedelta(minutes=5))
