"""Which resources a rule or a known event of the policy is about."""

from __future__ import annotations

from dataclasses import dataclass

from headroom.domain.resources import Kind, Volume, VolumeType


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """Which resources a rule matches; every given part must match, an empty one matches all."""

    kind: Kind | None = None
    volume_types: tuple[VolumeType, ...] = ()
    tags: tuple[tuple[str, str], ...] = ()
    accounts: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()

    def matches(self, volume: Volume) -> bool:
        """Whether the rule matches `volume`."""
        if self.kind is not None and volume.ref.kind is not self.kind:
            return False
        if self.volume_types and volume.configuration.volume_type not in self.volume_types:
            return False
        if not self.counts_in(volume.ref.account_id, volume.ref.region):
            return False
        return all(volume.tag(key) == value for key, value in self.tags)

    def counts_in(self, account_id: str | None, region: str | None) -> bool:
        """Whether the rule may match anything in this account and Region, None being any."""
        return (not self.accounts or account_id is None or account_id in self.accounts) and (
            not self.regions or region is None or region in self.regions
        )
