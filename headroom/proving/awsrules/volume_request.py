"""What one ModifyVolume call asks for: AWS's defaults, ranges and refusals for the target type.

Source: EC2 API reference, ModifyVolume; EBS User Guide, "Modify a volume", "Multi-Attach",
"General Purpose SSD volumes" and "Volume types on AWS Outposts" (checked 2026-10).
"""

from __future__ import annotations

from headroom.domain.catalog.ebs import LIMITS, capability, max_iops
from headroom.domain.resources import Configuration, VolumeType

DEFAULT_IOPS = 3_000
DEFAULT_GP3_MIBPS = 125
OUTPOST_GP3 = (16_384, 16_000, 1_000)
"""Most GiB, IOPS and MiB/s of gp3 on an Outpost, where the limits of 2025-09 did not come."""
MULTI_ATTACH_TYPES = (VolumeType.IO1, VolumeType.IO2)


class ModificationRefused(Exception):
    """AWS's no: `code` as in the API, `message` for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


def target_of(
    origin: Configuration,
    *,
    volume_type: str | None,
    size_gib: int | None,
    iops: int | None,
    throughput_mibps: int | None,
    multi_attach: bool = False,
    root: bool = False,
    on_outpost: bool = False,
) -> Configuration:
    """The configuration that such a call leads to, or ModificationRefused as AWS would word it."""
    if volume_type is None and size_gib is None and iops is None and throughput_mibps is None:
        raise ModificationRefused(
            "MissingParameter", "The request must name at least one attribute to modify."
        )
    kind = origin.volume_type if volume_type is None else _known_type(volume_type)
    _refuse_unsettable(kind, iops, throughput_mibps)
    _refuse_transition(origin.volume_type, kind, multi_attach=multi_attach, root=root)
    size = origin.size_gib if size_gib is None else size_gib
    if size < origin.size_gib:
        raise _invalid("New size cannot be smaller than existing size")
    target = Configuration(
        volume_type=kind,
        size_gib=size,
        iops=iops if iops is not None else _default_iops(origin, kind),
        throughput_mibps=(
            throughput_mibps if throughput_mibps is not None else _default_mibps(origin, kind)
        ),
    )
    refuse_out_of_range(target, on_outpost=on_outpost)
    return target


def refuse_out_of_range(target: Configuration, *, on_outpost: bool = False) -> None:
    """Raise ModificationRefused unless `target` keeps the sizes and ratios of its type."""
    kind, limits = target.volume_type, LIMITS[target.volume_type]
    size, iops, mibps = target.size_gib, target.iops, target.throughput_mibps
    low, high = limits.size_gib
    if not low <= size <= (OUTPOST_GP3[0] if on_outpost and kind is VolumeType.GP3 else high):
        word, bound = (
            ("small", f"minimum is {low}") if size < low else ("large", f"maximum is {high}")
        )
        raise _invalid(
            f"Volume of {size}GiB is too {word} for volume type {kind.value}; {bound}GiB."
        )
    if limits.iops is not None and iops is not None:
        most = OUTPOST_GP3[1] if on_outpost and kind is VolumeType.GP3 else limits.iops[1]
        _refuse_range("iops", iops, limits.iops[0], most)
        if iops > max_iops(kind, size):
            raise _invalid(
                f"Iops to volume size ratio of {iops / size:.6f} is too high; "
                f"maximum is {limits.iops_per_gib}"
            )
    if limits.throughput_mibps is not None and mibps is not None:
        most = OUTPOST_GP3[2] if on_outpost else limits.throughput_mibps[1]
        _refuse_range("throughput", mibps, limits.throughput_mibps[0], most)
        if iops is not None and 4 * mibps > iops:
            raise _invalid(
                f"Throughput (MiBps) to iops ratio of {mibps / iops:.6f} is too high; "
                "maximum is 0.250000 MiBps per iops"
            )


def _known_type(text: str) -> VolumeType:
    try:
        return VolumeType(text)
    except ValueError:
        raise _invalid(
            f"Value ({text}) for parameter volumeType is invalid. Unknown volume type"
        ) from None


def _refuse_unsettable(kind: VolumeType, iops: int | None, mibps: int | None) -> None:
    for name, value, allowed in (
        ("iops", iops, LIMITS[kind].iops),
        ("throughput", mibps, LIMITS[kind].throughput_mibps),
    ):
        if value is not None and allowed is None:
            raise ModificationRefused(
                "InvalidParameterCombination",
                f"The parameter {name} is not supported for {kind.value} volumes.",
            )


def _refuse_transition(
    origin: VolumeType, kind: VolumeType, *, multi_attach: bool, root: bool
) -> None:
    if kind is origin:
        return
    if root and kind in (VolumeType.ST1, VolumeType.SC1):
        raise _invalid(f"Volume type {kind.value} cannot be used for a boot volume.")
    if multi_attach and not (origin in MULTI_ATTACH_TYPES and kind in MULTI_ATTACH_TYPES):
        raise ModificationRefused(
            "UnsupportedOperation",
            "The type of a volume with Multi-Attach can only be changed between io1 and io2.",
        )


def _refuse_range(name: str, value: int, low: int, high: int) -> None:
    if value < low:
        raise _invalid(f"Volume {name} of {value} is too low; minimum is {low}.")
    if value > high:
        raise _invalid(f"Volume {name} of {value} is too high; maximum is {high}.")


def _default_iops(origin: Configuration, kind: VolumeType) -> int | None:
    """Omitted IOPS: kept within a type, else 3,000; gp2 to gp3 keeps what gp2 had if it is more."""
    if LIMITS[kind].iops is None:
        return None
    if origin.volume_type is kind and origin.iops is not None:
        return origin.iops
    if kind is VolumeType.GP3 and origin.volume_type is VolumeType.GP2:
        return max(DEFAULT_IOPS, int(capability(origin).sustained_iops))
    return DEFAULT_IOPS


def _default_mibps(origin: Configuration, kind: VolumeType) -> int | None:
    """Omitted throughput: kept within gp3, else 125; gp2 to gp3 keeps what gp2 had if it is more."""
    if LIMITS[kind].throughput_mibps is None:
        return None
    if origin.volume_type is kind and origin.throughput_mibps is not None:
        return origin.throughput_mibps
    if origin.volume_type is VolumeType.GP2:
        return max(DEFAULT_GP3_MIBPS, int(capability(origin).burst_mibps))
    return DEFAULT_GP3_MIBPS


def _invalid(message: str) -> ModificationRefused:
    return ModificationRefused("InvalidParameterValue", message)
