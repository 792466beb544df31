"""Versions of the stored formats: each item and each stored decision carries the one it was written in.

Raise a version when an earlier release would misread the new form: a field gets another meaning,
unit or type, a field that a decision needs moves, an index is keyed otherwise, or the hash of a record covers something else. A
new field with a default needs no new version. Whoever raises one keeps reading every earlier
version, with its way to compute the hash, and adds a text in the old form to `tests/stored`.
"""

from __future__ import annotations

RECORD_FORMAT = 2
"""Of an item in `records` and of its body, except the body of `decided`. Since 2 it has a reason and a
change of price, which the hash covers."""
DECISION_FORMAT = 3
"""Of a stored decision: the body of `decided`. Since 2 verdicts and series are written once, since 3 of plans and
verdicts what differs, and of values that repeat how often."""
STATE_FORMAT = 1
"""Of an item in `state`: resource states, notes, switches, budget, concurrency, scan, prices."""
PROFILE_FORMAT = 1
"""Of the bytes of a profile, the first of which it is. A profile in any other format counts as none: it is
read from CloudWatch again."""


class WrongFormat(ValueError):
    """A stored value has no format version, or one that a newer release wrote."""


def require_format(found: object, known: int, what: str) -> None:
    """Raise WrongFormat unless `found` is a version between 1 and `known`."""
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise WrongFormat(f"{what} has no valid format version (found {found!r})")
    if found > known:
        raise WrongFormat(
            f"{what} has format {found}, and this release reads formats up to {known}; "
            "upgrade Headroom"
        )
