"""Replays the volumes of one instance one after another, each beside the raises before it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from headroom.domain.catalog import PriceTable
from headroom.domain.policy import Policy
from headroom.ports import StorageView
from headroom.proving.replay.added import AddedLoad
from headroom.proving.replay.history import Parts
from headroom.proving.replay.volume import Replayed, replay_volume


def replay_together(
    volumes: Sequence[tuple[StorageView, Parts]], policy: Policy, prices: PriceTable, *,
    since: datetime, draw: bool = False,
) -> list[Replayed | Exception]:  # fmt: skip
    """The replay of each, or why there is none: one failure does not stop the others.

    The most starved volume is raised first. Those after it are replayed with what it takes then.
    """
    limited = [
        view.instance is not None and view.instance.limits is not None for view, _ in volumes
    ]
    several = sum(limited) > 1

    def play(place: int, beside: AddedLoad | None = None) -> Replayed | Exception:
        view, parts = volumes[place]
        try:
            return replay_volume(
                view, parts, policy, prices, since=since, draw=draw, with_added=several,
                beside=beside,
            )  # fmt: skip
        except Exception as error:
            return error

    found = [play(place) for place in range(len(volumes))]
    raised = [
        (-one.left_alone.starved_minutes, one.view.volume.ref.arn, place)
        for place, one in enumerate(found)
        if isinstance(one, Replayed) and one.added is not None and one.added.raises
    ]
    beside: AddedLoad | None = None
    for _, _, place in sorted(raised) if len(raised) > 1 else ():
        if beside is not None:
            found[place] = play(place, beside)
        one = found[place]
        if isinstance(one, Replayed) and one.added is not None:
            beside = one.added.plus(beside)
    return found
