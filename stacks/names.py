"""Physical names that more than one resource must agree on."""

from __future__ import annotations

DETECTION_ALARM_PREFIX = "headroom-detect-"
"""Alarms whose state changes wake the loop: the deployed ones, and any that the owner adds."""

OWN_ALARM_PREFIX = "headroom-own-"
"""Alarms on Headroom itself; they tell people and never wake the loop."""

POLICY_PARAMETER = "/headroom/policy"
"""Where the functions read the policy."""
