"""The published policy in SSM parameters that are all of the Standard tier, whatever its size.

A policy of at most LONGEST_PART characters is the one parameter. A longer one is cut: the parameter then
holds an index, and the parts are the parameters NAME/1, NAME/2 and so on. CloudFormation does not write
them together, so the index has the hash of the whole text: parts of two policies are not read as one.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from headroom.domain.policy import PolicyError

LONGEST_PART = 4_096
"""Characters a parameter of the Standard tier holds. Source: SSM API reference, PutParameter (2026-09)."""
MOST_PARTS = 64
LONGEST_POLICY = MOST_PARTS * LONGEST_PART
"""Characters of a policy: 256 KB."""
TEMPLATE_PARTS = 4
"""Parts for which the StackSets template has parameters."""
INDEX = "policy_parts"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartIndex:
    """How many parts a published policy has, and the SHA-256 of all its text in hex."""

    count: int
    sha256: str

    def joined(self, parts: list[str], *, source: str) -> str:
        """The text of these parts; raises PolicyError unless they are the ones of this index."""
        text = "".join(parts)
        if len(parts) != self.count or _sha256(text) != self.sha256:
            raise PolicyError(
                f"{source}: its parts are not of one policy; a deployment is under way, or somebody "
                "changed one. Deploy again."
            )
        return text


def parameter_texts(text: str) -> tuple[str, ...]:
    """The value of the parameter, then those of its parts if `text` is too long for one.

    Raises PolicyError for a policy that is longer than LONGEST_POLICY.
    """
    size = len(text)
    if size > LONGEST_POLICY:
        raise PolicyError(
            f"The policy is {size:,} characters long and at most {LONGEST_POLICY:,} are published; "
            "merge rules that set the same, put resources under fewer tags, or publish only what "
            "counts in the place (-c account=... -c region=...)."
        )
    if size <= LONGEST_PART:
        return (text,)
    parts = [text[at : at + LONGEST_PART] for at in range(0, size, LONGEST_PART)]
    index = {INDEX: len(parts), "sha256": _sha256(text)}
    return (json.dumps(index, sort_keys=True, separators=(",", ":")), *parts)


def part_index(text: str) -> PartIndex | None:
    """The index in the parameter's value; None if that is the policy itself, or nothing known."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    if not isinstance(found, dict) or INDEX not in found:
        return None
    count, sha256 = found[INDEX], found.get("sha256")
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_PARTS:
        raise PolicyError(f"The index of the policy names {count!r} parts.")
    return PartIndex(count=count, sha256=str(sha256))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
