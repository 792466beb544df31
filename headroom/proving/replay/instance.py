"""The instance of a replayed volume: its limits, and what its other volumes took at the time."""

from __future__ import annotations

import numpy as np

from headroom.domain.catalog.ebs import MIB, capability
from headroom.ports import StorageView
from headroom.proving.physics import Attachment, OtherLoad
from headroom.proving.replay.added import AddedLoad
from headroom.proving.replay.demand import FRONT_PACE, ReconstructedLoad
from headroom.proving.replay.history import Parts, other_rates
from headroom.proving.workloads import Floats


def attachment_of(
    view: StorageView, parts: Parts, reconstructed: ReconstructedLoad,
    beside: AddedLoad | None = None,
) -> Attachment | None:  # fmt: skip
    """The instance with its other volumes; None if AWS reports no limits or they cannot bind.

    What raises of the others add is `beside`. The class of a database always counts: its storage has several volumes.
    """
    instance = view.instance
    if instance is None or instance.limits is None:
        return None
    others = _other_load(view, parts)
    if others is not None and beside is not None:
        others = beside.onto(others)
    found = Attachment(limits=instance.limits, others=others)
    database = view.volume.configuration.database is not None
    return found if database or _may_bind(found, view, reconstructed) else None


def _other_load(view: StorageView, parts: Parts) -> OtherLoad | None:
    """What the other volumes of the instance took each minute; None without any.

    Minutes that were not measured are like the last that was.
    """
    own = view.volume.ref.resource_id
    ids = () if view.instance is None else view.instance.volume_ids
    others = tuple(one for one in ids if one != own)
    if not others:
        return None
    columns: tuple[list[Floats], list[Floats]] = [], []
    for activity, of_instance in parts:
        minutes = activity.read_iops.period_s // 60
        for column, rates in zip(columns, other_rates(activity, of_instance), strict=True):
            column.append(np.repeat(rates, minutes))
    iops, mibps = (_without_gaps(np.concatenate(column)) for column in columns)
    return OtherLoad(
        start=parts[0][0].read_iops.start, iops=tuple(iops.tolist()), mibps=tuple(mibps.tolist()),
        volume_ids=others,
    )  # fmt: skip


def _without_gaps(values: Floats) -> Floats:
    """Each unknown value like the last known one, 0 before the first."""
    known = np.where(np.isnan(values), 0, np.arange(len(values)))
    return np.nan_to_num(values[np.maximum.accumulate(known)])


def _may_bind(attachment: Attachment, view: StorageView, reconstructed: ReconstructedLoad) -> bool:
    """Whether the volumes together might reach what the instance sustains, also after raises."""
    load, limits, others = reconstructed.load_series, attachment.limits, attachment.others
    iops = float(np.nanmax(load.ops, initial=0.0))
    mibps = float(np.nanmax(load.bytes, initial=0.0)) / MIB
    if reconstructed.known.held:  # a raise of four times what it can do today
        can = capability(view.volume.configuration)
        iops, mibps = (
            max(iops, FRONT_PACE * can.burst_iops),
            max(mibps, FRONT_PACE * can.burst_mibps),
        )
    if others is not None:
        iops, mibps = iops + max(others.iops), mibps + max(others.mibps)
    return iops > limits.baseline_iops or mibps > limits.baseline_mibps
