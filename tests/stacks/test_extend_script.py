"""The script that extends a file system: on loop devices as root, and with stand-ins for LVM's tools."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import headroom.cdk
from headroom.cdk.extend import content

SCRIPT = Path(headroom.cdk.__file__).with_name("extend_file_system.sh")
VOLUME = "vol-0123456789abcdef0"
MIB = 1024**2
TOOLS = (
    "losetup",
    "sfdisk",
    "mkfs.ext4",
    "mkfs.xfs",
    "growpart",
    "resize2fs",
    "xfs_growfs",
    "lsblk",
)


def script(size_gib: int) -> str:
    """The commands of the document's Linux step, as the instance's agent gets them."""
    steps: Any = content()["mainSteps"]
    (commands,) = (s["inputs"]["runCommand"] for s in steps if s["name"] == "Linux")
    text = "\n".join(commands)
    return text.replace("{{ VolumeId }}", VOLUME).replace("{{ SizeGib }}", str(size_gib))


def _why_not() -> str:
    """Why there are no loop devices to play with here; empty where there are."""
    if os.geteuid() != 0:
        return "loop devices take root"
    missing = [tool for tool in TOOLS if shutil.which(tool, path=PATH) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    free = subprocess.run(["losetup", "-f"], capture_output=True, check=False)
    return "" if free.returncode == 0 else "this machine has no loop devices"


def _may_resize() -> bool:
    """Whether ext4 may be resized while it is mounted: that takes CAP_SYS_RESOURCE."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    effective = next(line for line in status.splitlines() if line.startswith("CapEff"))
    return bool(int(effective.split()[1], 16) >> 24 & 1)


UNMOUNTED_RESIZE = """
place=$(findmnt -nlo TARGET -S "$1")
umount "$1" && e2fsck -fp "$1" >/dev/null
/usr/sbin/resize2fs "$1" && mount "$1" "$place"
"""
"""Instead of resize2fs on a mounted file system, where the machine does not permit that."""
PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
loops = pytest.mark.skipif(bool(_why_not()), reason=f"the script on real devices: {_why_not()}")


def run(*command: str | Path, **more: str) -> str:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": PATH, **more},
    )  # fmt: skip
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


@dataclass
class Disk:
    """A loop device of an image, under which a mount is made; its serial number is the volume's."""

    image: Path
    device: str
    place: Path
    tools: Path

    def grow(self, mib: int) -> None:
        os.truncate(self.image, mib * MIB)
        run("losetup", "-c", self.device)

    def extend(self, size_gib: int = 0) -> tuple[int, str]:
        """The status and the last line."""
        done = subprocess.run(
            ["sh", "-c", script(size_gib)], capture_output=True, text=True, check=False,
            env={**os.environ, "PATH": f"{self.tools}:{PATH}"},
        )  # fmt: skip
        lines = done.stdout.strip().splitlines()
        return done.returncode, lines[-1] if lines else done.stderr

    def mib(self) -> int:
        found = os.statvfs(self.place)
        return found.f_blocks * found.f_frsize // MIB


Make = Callable[[int], Disk]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Loop devices; whatever was mounted or attached is let go at the end."""
    made: list[Disk] = []

    def one(mib: int) -> Disk:
        image = tmp_path / f"disk{len(made)}"
        image.touch()
        os.truncate(image, mib * MIB)
        device = run("losetup", "-fP", "--show", image)
        place, tools = tmp_path / f"place{len(made)}", tmp_path / f"tools{len(made)}"
        place.mkdir()
        tools.mkdir()
        stand_in(
            tools, "lsblk",
            f'case "$*" in *SERIAL*) echo "{device} {VOLUME.replace("-", "")}";; '
            f'*) exec {shutil.which("lsblk", path=PATH)} "$@";; esac',
        )  # fmt: skip
        if not _may_resize():
            stand_in(tools, "resize2fs", UNMOUNTED_RESIZE)
        made.append(Disk(image=image, device=device, place=place, tools=tools))
        return made[-1]

    yield one
    for disk in made:
        subprocess.run(["umount", "-R", str(disk.place)], capture_output=True, check=False)
        subprocess.run(["losetup", "-d", disk.device], capture_output=True, check=False)


def stand_in(tools: Path, name: str, body: str) -> None:
    (tools / name).write_text(f"#!/bin/sh\n{body}\n")
    (tools / name).chmod(0o755)


def partitioned(disk: Disk, layout: str) -> None:
    subprocess.run(
        ["sfdisk", "-q", disk.device], input=layout, text=True, check=True, capture_output=True,
        env={**os.environ, "PATH": PATH},
    )  # fmt: skip
    run("partx", "-u", disk.device)


@loops
@pytest.mark.parametrize(
    ("kind", "layout", "part"),
    [
        ("ext4", "", ""),
        ("xfs", "", ""),
        ("ext4", "label: gpt\n", "p1"),
        ("xfs", "label: dos\n", "p1"),
        # As Debian's and Amazon's images: small partitions for booting before the last one.
        (
            "ext4",
            "label: gpt\n2: size=4M, type=21686148-6449-6E6F-744E-656564454649\n3: size=8M\n",
            "p1",
        ),
    ],
)
def test_a_file_system_is_extended_once_and_keeps_what_is_in_it(
    make: Make, kind: str, layout: str, part: str
) -> None:
    disk = make(340)
    if layout:
        partitioned(disk, f"{layout}1: type=L\n")
    run(f"mkfs.{kind}", "-q", f"{disk.device}{part}")
    run("mount", f"{disk.device}{part}", disk.place)
    content = os.urandom(MIB)
    (disk.place / "kept").write_bytes(content)
    before = disk.mib()
    disk.grow(680)

    status, output = disk.extend()
    assert status == 0, output
    assert output.startswith(f"headroom: extended {kind} {disk.device}{part} {disk.place} ")
    small, large = (int(number) // MIB for number in output.split()[-2:])
    assert (small, large) == (before, disk.mib())
    assert large > before + 300
    assert (disk.place / "kept").read_bytes() == content

    status, output = disk.extend()
    assert (status, output.split()[1]) == (0, "already"), output
    assert disk.mib() == large


@loops
def test_what_was_left_undone_is_finished(make: Make) -> None:
    """The partition was extended, and then the run ended."""
    disk = make(64)
    partitioned(disk, "label: gpt\n1: type=L\n")
    run("mkfs.ext4", "-q", f"{disk.device}p1")
    run("mount", f"{disk.device}p1", disk.place)
    disk.grow(128)
    run("growpart", disk.device, "1")
    status, output = disk.extend()
    assert (status, output.split()[1]) == (0, "extended"), output
    assert disk.mib() > 100


@loops
def test_at_the_present_size_it_changes_nothing_and_says_what_growth_would_lack(make: Make) -> None:
    disk = make(64)
    partitioned(disk, "label: gpt\n1: type=L\n")
    run("mkfs.ext4", "-q", f"{disk.device}p1")
    run("mount", f"{disk.device}p1", disk.place)
    done = subprocess.run(
        ["sh", "-c", script(0).replace("growpart", "growpart-elsewhere")], capture_output=True,
        text=True, check=False, env={**os.environ, "PATH": f"{disk.tools}:{PATH}"},
    )  # fmt: skip
    *_, lacks, last = done.stdout.strip().splitlines()
    assert lacks == "headroom-lacks: growpart-elsewhere, which is not installed"
    assert last.startswith("headroom: already ext4 ")


@loops
def test_a_mount_point_may_have_a_space_in_its_name(make: Make) -> None:
    disk = make(64)
    disk.place = disk.place / "of orders"
    disk.place.mkdir()
    run("mkfs.ext4", "-q", disk.device)
    run("mount", disk.device, disk.place)
    disk.grow(128)
    status, output = disk.extend()
    assert (status, output.split()[1]) == (0, "extended"), output
    assert str(disk.place) in output


def bare(disk: Disk) -> None:
    """Nothing on it at all."""


def unmounted(disk: Disk) -> None:
    run("mkfs.ext4", "-q", disk.device)


def read_only(disk: Disk) -> None:
    run("mkfs.ext4", "-q", disk.device)
    run("mount", "-o", "ro", disk.device, disk.place)


def two_file_systems(disk: Disk) -> None:
    partitioned(disk, "label: gpt\n1: size=20M\n2: type=L\n")
    for part in ("p1", "p2"):
        run("mkfs.ext4", "-q", "-E", NOTHING_LATER, f"{disk.device}{part}")
    run("mount", f"{disk.device}p2", disk.place)


def swap(disk: Disk) -> None:
    run("mkswap", disk.device)


def signed(offset: int, magic: bytes) -> Callable[[Disk], None]:
    def write(disk: Disk) -> None:
        with open(disk.device, "r+b") as raw:
            raw.seek(offset)
            raw.write(magic)

    return write


NOTHING_LATER = "lazy_itable_init=0,lazy_journal_init=0"
"""Else the kernel writes to a mounted ext4 by itself, minutes after it was made."""
LUKS = b"LUKS\xba\xbe\x00\x01".ljust(8, b"\0") + b"aes".ljust(32, b"\0") + b"xts".ljust(32, b"\0")


@loops
@pytest.mark.parametrize(
    ("lay_out", "why"),
    [
        (bare, "has no file system"),
        (unmounted, "is not mounted"),
        (read_only, "is mounted read-only"),
        (two_file_systems, "has several file systems"),
        (swap, "is swap, not ext4, xfs or LVM"),
        (signed(0, LUKS), "is encrypted on the instance (LUKS)"),
    ],
)
def test_what_it_does_not_know_is_refused_and_left_as_it_is(
    make: Make, lay_out: Callable[[Disk], None], why: str
) -> None:
    disk = make(64)
    lay_out(disk)
    disk.grow(128)
    run("sync")
    before = disk.image.read_bytes()
    status, output = disk.extend()
    assert status == 3
    assert output.startswith("headroom: refused ")
    assert why in output
    run("sync")
    assert disk.image.read_bytes() == before


@loops
def test_it_waits_until_the_instance_sees_the_new_size(make: Make) -> None:
    disk = make(64)
    run("mkfs.ext4", "-q", disk.device)
    run("mount", disk.device, disk.place)
    status, output = disk.extend(size_gib=1)
    assert status == 4
    assert "less than 1 GiB" in output


LVM = {
    "id": "echo 0", "flock": "exit 0", "growpart": "exit 9",
    "lsblk": 'case "$*" in *SERIAL*) echo "/dev/nvme1n1 vol0123456789abcdef0";; '
    '*NAME,TYPE*) echo "/dev/nvme1n1 disk"; echo "/dev/mapper/data-all lvm";; '
    "*) echo disk; echo lvm;; esac",
    "blockdev": "echo 161061273600",
    "blkid": 'case "$*" in *nvme1n1*) echo LVM2_member;; *) echo xfs;; esac',
    "findmnt": 'case "$*" in *OPTIONS*) echo rw,noatime;; *) echo /data;; esac',
    "df": 'echo size; if grep -q xfs_growfs "$LOG"; then echo 160000000000; else echo 100000000000; fi',
    "pvs": "echo '  data'", "vgs": 'case "$*" in *pv_count*) echo 1;; *) echo 12800;; esac',
    "lvs": 'case "$*" in *segtype*) echo linear;; *) echo /dev/data/all;; esac',
    "pvresize": "", "lvextend": "", "xfs_growfs": "",
}  # fmt: skip
"""A disk of 150 GiB with one physical, one logical volume and XFS; each tool writes that it ran."""


def lvm(tmp_path: Path, **changed: str) -> tuple[int, str, list[str]]:
    log = tmp_path / "log"
    log.touch()
    for name, body in {**LVM, **changed}.items():
        stand_in(tmp_path, name, f'echo "{name} $*" >> "$LOG"\n{body}')
    done = subprocess.run(
        ["sh", "-c", script(150)], capture_output=True, text=True, check=False,
        env={"PATH": f"{tmp_path}:{PATH}", "LOG": str(log)},
    )  # fmt: skip
    changes = ("growpart", "pvresize", "lvextend", "xfs_growfs", "resize2fs")
    ran = [line for line in log.read_text().splitlines() if line.split()[0] in changes]
    return done.returncode, (done.stdout.splitlines() or [done.stderr])[-1], ran


root = pytest.mark.skipif(os.geteuid() != 0, reason="the script's lock is in /run, root's place")


@root
def test_lvm_grows_the_physical_the_logical_volume_and_the_file_system(tmp_path: Path) -> None:
    status, output, ran = lvm(tmp_path)
    assert ran == [
        "pvresize /dev/nvme1n1", "lvextend -l +100%FREE /dev/data/all", "xfs_growfs /data",
    ]  # fmt: skip
    assert (status, output) == (
        0, "headroom: extended xfs /dev/data/all /data 100000000000 160000000000",
    )  # fmt: skip


@root
@pytest.mark.parametrize("tool", ["pvresize", "lvextend", "xfs_growfs"])
def test_a_tool_that_fails_is_named_and_left_to_a_person(tmp_path: Path, tool: str) -> None:
    status, output, _ = lvm(tmp_path, **{tool: "exit 5"})
    assert (status, output.split()[:3]) == (3, ["headroom:", "refused", tool])


@root
def test_temporary_files_are_in_memory_where_the_root_file_system_is_full(tmp_path: Path) -> None:
    status, output, _ = lvm(
        tmp_path, pvresize='[ "$TMPDIR" = /run ]'
    )  # growpart makes a folder in it
    assert status == 0, output


@root
@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"vgs": "echo 2"}, "has several physical volumes"),
        ({"lvs": "echo /dev/data/a; echo /dev/data/b"}, "has several logical volumes"),
        ({"lvs": 'case "$*" in *segtype*) echo thin;; *) echo /dev/data/all;; esac'}, "not linear"),
        ({"blkid": 'case "$*" in *nvme1n1*) echo LVM2_member;; *) echo btrfs;; esac'}, "is btrfs"),
        (
            {"lsblk": LVM["lsblk"].replace("echo disk; echo lvm", "echo disk; echo raid1")},
            "part of a raid1 device",
        ),
        ({"lsblk": LVM["lsblk"].replace("echo disk; echo lvm", "echo disk; echo crypt")}, "LUKS"),
        ({"lsblk": 'case "$*" in *SERIAL*) echo "/dev/xvdf";; esac'}, "only Nitro instances"),
        ({"blkid": "echo zfs_member"}, "is zfs_member"),
        ({"blkid": "exit 8"}, "is ambiguous"),
    ],
)
def test_what_is_not_plain_lvm_is_refused_before_anything_changes(
    tmp_path: Path, changed: dict[str, str], why: str
) -> None:
    status, output, ran = lvm(tmp_path, **changed)
    assert (status, ran) == (3, [])
    assert output.startswith("headroom: refused ")
    assert why in output


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_shellcheck_finds_nothing() -> None:
    run("shellcheck", SCRIPT)
