"""The owner's discount on AWS's list prices."""

from __future__ import annotations

from headroom.domain.catalog import PriceTable
from headroom.domain.policy.policy import Policy, PolicyUnreadable, limits_for
from headroom.domain.resources import Volume


def discount_of(policy: Policy | PolicyUnreadable, volume: Volume) -> float:
    """The owner's discount for `volume` in percent; 0 while the policy cannot be read."""
    return limits_for(policy, volume).limits.discount_percent if isinstance(policy, Policy) else 0.0


def owner_prices(
    policy: Policy | PolicyUnreadable, volume: Volume, listed: PriceTable | None
) -> PriceTable | None:
    """What the owner pays for storage like `volume`'s: every decision's prices, and every bill's.

    None where `listed`, the Region's prices, is None, and in a Local Zone, which has others.
    """
    if listed is None or volume.in_local_zone:
        return None
    return listed.after_discount(discount_of(policy, volume))
