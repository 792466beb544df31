"""How the volumes of one instance share what it gives: max-min fair, minute by minute."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Rates = tuple[float, float]
"""EBS operations and bytes per second."""
ROUNDS = 3


def fair_left(capacity: float, wants: Iterable[float]) -> float:
    """What one volume may take of `capacity` beside others that want this much.

    Who wants less than an equal part gets it all; the rest is shared equally.
    """
    left, others = capacity, sorted(wants)
    for place, want in enumerate(others):
        part = left / (len(others) - place + 1)
        if want >= part:
            return part
        left -= want
    return left


def within(rates: Rates, limits: Rates) -> Rates:
    """`rates` in the same proportion, of which neither is above its limit."""
    part = min([1.0, *(most / rate for rate, most in zip(rates, limits, strict=True) if rate)])
    return rates[0] * part, rates[1] * part


def settled(asked: Sequence[Rates], capacity: Rates) -> list[Rates]:
    """What volumes that ask for `asked` want of each limit.

    Operations that the limit of bytes keeps from one count as not wanted, and the other way round.
    """
    wants = list(asked)
    for _ in range(ROUNDS):
        shares = []
        for own, of_own in enumerate(asked):
            part = [1.0, 1.0]
            for which in (0, 1):
                others = (want[which] for each, want in enumerate(wants) if each != own)
                if of_own[which]:
                    left = fair_left(capacity[which], others)
                    part[which] = min(1.0, left / of_own[which])
            shares.append((of_own[0] * part[1], of_own[1] * part[0]))
        wants = shares
    return wants
