"""A policy that a hub publishes here: taken only if it makes sense and exceeds no hard cap."""

from __future__ import annotations

from headroom.domain.policy import HardCaps, Policy, PolicyError, beyond_caps
from headroom.policy.check import first_problem
from headroom.policy.parts import LONGEST_PART
from headroom.policy.text import canonical_json, policy_from_json, published

SOURCE = "The published policy"


def received_policy(text: str, caps: HardCaps, account_id: str, region: str) -> Policy:
    """What of the policy in a JSON text counts here; raises PolicyError with one sentence."""
    whole = policy_from_json(text, source=SOURCE)
    first_problem(whole, source=SOURCE)
    policy = published(whole, account_id, region)
    for problem in beyond_caps(policy, caps):
        raise PolicyError(f"{SOURCE}: {problem}.")
    size = len(canonical_json(policy))
    if size > LONGEST_PART:
        raise PolicyError(
            f"{SOURCE}: the part for account {account_id}, {region} has {size:,} characters; "
            f"{LONGEST_PART:,} is the most. Deploy it instead."
        )
    return policy
