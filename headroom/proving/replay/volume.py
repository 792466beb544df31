"""Replays one volume's history twice: without changes, and under Headroom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from decimal import Decimal

from headroom.domain.catalog import PriceTable
from headroom.domain.policy import Mode, Policy, Rule, Selector, discount_of, limits_for
from headroom.domain.resources import EBS_TYPES, PriceUnknown, Volume, VolumeType
from headroom.ports import StorageView
from headroom.proving.replay.added import AddedLoad
from headroom.proving.replay.demand import HistoryCoverage, reconstruct_load
from headroom.proving.replay.history import Parts
from headroom.proving.replay.instance import attachment_of
from headroom.proving.replay.playback import PlaybackOutcome, play_exact, play_vectorized
from headroom.proving.replay.timeline import PlaybackTimeline
from headroom.proving.vectorized import SSD


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """The replay of one volume."""

    view: StorageView
    known: HistoryCoverage
    relief_usd_per_minute: float
    usd_per_month: Decimal
    left_alone: PlaybackOutcome
    headroom: PlaybackOutcome
    timeline: PlaybackTimeline | None = None
    added: AddedLoad | None = None
    """What its raises add to the load on its instance; only on request."""

    @property
    def avoided_minutes(self) -> int:
        """Starved minutes avoided; negative if there had been more."""
        return self.left_alone.starved_minutes - self.headroom.starved_minutes

    @property
    def usd_change(self) -> Decimal:
        """Additional storage cost over the history."""
        return self.headroom.storage_usd - self.left_alone.storage_usd


class NotReplayed(Exception):
    """The volume cannot be replayed; the message is the reason, without a full stop."""


def policy_in_auto_mode(policy: Policy, volume: Volume) -> Policy:
    """`policy` as it is for `volume` under every type it may get, with mode auto unless it is off.

    Requests count as approved at once, but for a change that could never be undone. A database with RDS storage autoscaling is never grown here.
    The effects of tags are resolved into settings: the result does not depend on tags.
    """

    def settings(kind: VolumeType) -> tuple[tuple[str, object], ...]:
        then = replace(volume, configuration=replace(volume.configuration, volume_type=kind))
        limits = limits_for(policy, then).limits
        mode = Mode.OFF if limits.mode is Mode.OFF else Mode.AUTO
        plain = {field.name: getattr(limits, field.name) for field in fields(limits)}
        own = {"mode": mode, "approve_above_usd": None, "growth": limits.growth and not grown}
        return tuple(sorted((plain | own).items()))

    grown = volume.facts is not None and volume.facts.grows_by_itself
    rules = tuple(
        Rule(selector=Selector(kind=volume.ref.kind, volume_types=(kind,)), settings=settings(kind))
        for kind in EBS_TYPES
    )
    return replace(policy, defaults=replace(policy.defaults, mode=Mode.AUTO), rules=rules)


def why_not_replayable(view: StorageView, policy: Policy) -> str | None:
    """Why a volume cannot be replayed, whatever its history; None if it can."""
    volume = view.volume
    effective = limits_for(policy, volume)
    if effective.problem is not None:
        return f"Headroom would change nothing: {effective.problem}"
    if effective.limits.mode is Mode.OFF:
        return "the policy or its tag says off"
    if volume.managed_by is not None:
        return f"it is managed by {volume.managed_by}, and Headroom leaves such volumes alone"
    if volume.multi_attach:
        return "it is shared by Multi-Attach, and Headroom leaves such volumes alone"
    if volume.on_outpost:
        return "it is on an Outpost, where other limits hold"
    if volume.facts is not None and volume.facts.unusual is not None:
        return f"its storage is unusual ({volume.facts.unusual}), and Headroom only observes it"
    if volume.configuration.volume_type is VolumeType.STANDARD:
        return "magnetic volumes have no limits that are documented well enough to simulate"
    return None


def replay_volume(
    view: StorageView,
    parts: Parts,
    policy: Policy,
    prices: PriceTable,
    *,
    since: datetime,
    draw: bool = False,
    with_added: bool = False,
    beside: AddedLoad | None = None,
) -> Replayed:
    """Replay one volume from its present configuration, from `since` to the end of its history.

    The engine knows what came before `since` as history. The policy counts as if the mode were
    auto. The timeline is computed only with `draw`, what its raises add only `with_added`; `beside`
    is what raises of the instance's other volumes add. Raises NotReplayed.
    """
    problem = why_not_replayable(view, policy)
    if problem is not None:
        raise NotReplayed(problem)
    instance = view.instance
    reconstructed = reconstruct_load(
        parts, view.volume, view.modification, None if instance is None else instance.limits,
        since=since,
    )  # fmt: skip
    if reconstructed is None:
        raise NotReplayed("CloudWatch has nothing measured of it in this time")
    try:
        prices = prices.after_discount(discount_of(policy, view.volume))
        usd = prices.monthly(view.volume.configuration)
    except PriceUnknown as unknown:
        raise NotReplayed(str(unknown)) from None
    configuration = view.volume.configuration
    as_auto = policy_in_auto_mode(policy, view.volume)
    attachment = attachment_of(view, parts, reconstructed)
    shared = None if beside is None else attachment_of(view, parts, reconstructed, beside)
    bound = attachment is not None or shared is not None
    if configuration.database is None and configuration.volume_type in SSD and not bound:
        found = play_vectorized(
            view.volume, reconstructed, as_auto, prices, draw=draw, with_added=with_added
        )
    else:
        found = play_exact(
            view.volume, reconstructed, as_auto, prices, draw=draw, attachment=attachment,
            beside=shared, raises=() if beside is None else beside.raises, with_added=with_added,
        )  # fmt: skip
    return Replayed(
        view=view,
        known=reconstructed.known,
        relief_usd_per_minute=limits_for(policy, view.volume).limits.relief_value_usd_per_minute,
        usd_per_month=usd,
        left_alone=found.left_alone,
        headroom=found.headroom,
        timeline=found.timeline,
        added=found.added,
    )


def largest_configuration(replayed: Sequence[Replayed]) -> Decimal:
    """The largest increase of the sum of all volumes' prices during the replay, USD a month."""
    changes = sorted((c.at, c.usd_change) for each in replayed for c in each.headroom.changes)
    most = total = Decimal(0)
    for _, usd in changes:
        total += usd
        most = max(most, total)
    return most
