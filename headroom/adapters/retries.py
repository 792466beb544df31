"""How long a message that failed waits, and how often it is tried: for about a day."""

from __future__ import annotations

FIRST_RETRY_S = 60
LONGEST_RETRY_S = 1_800
HIDDEN_S = 360
"""How long a message is hidden from other workers while one has it: twice as long as a worker may run."""
GIVE_UP_S = 86_400
"""A message is parked once it has failed for about this long."""


def retry_delay_s(receives: int) -> int:
    """Seconds until a message that failed for the nth time is delivered again; doubles up to half an hour."""
    return int(min(LONGEST_RETRY_S, FIRST_RETRY_S * 2 ** min(max(receives, 1) - 1, 10)))


def tries_before_parking() -> int:
    """Deliveries whose delays add up to a day."""
    tries = waited_s = 0
    while waited_s < GIVE_UP_S:
        tries += 1
        waited_s += retry_delay_s(tries)
    return tries
