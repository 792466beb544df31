"""Domain values as canonical JSON and back: the same value always gives the same bytes.

May import the domain and cattrs.
The door offers `to_json`, `from_json`, `decision_to_json` and `decision_from_json`."""

from headroom.serialization.canonical import (
    Unreadable,
    decision_from_json,
    decision_to_json,
    from_json,
    from_plain,
    instant_text,
    stored,
    to_json,
    to_plain,
)
