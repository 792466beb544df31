"""Domain values as canonical JSON, and profiles as bytes, and back: one value, the same bytes.

May import the domain and cattrs.
The door offers `to_json`, `from_json`, `decision_to_json`, `decision_from_json`, `body_to_json` and `profile_to_bytes`."""

from headroom.serialization.canonical import Unreadable, from_json, from_plain, to_json, to_plain
from headroom.serialization.decisions import (
    LARGEST_BODY,
    DecisionTooLarge,
    body_to_json,
    decision_from_json,
    decision_to_json,
    stored,
)
from headroom.serialization.profiles import UnreadableProfile, profile_from_bytes, profile_to_bytes
from headroom.serialization.scalars import instant_text
