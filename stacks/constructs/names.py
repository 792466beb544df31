"""Names that more than one resource must agree on, and the Regions Headroom can buy in."""

from __future__ import annotations

from headroom import settings

DETECTION_ALARM_PREFIX = "headroom-detect-"
"""Alarms whose state changes wake the loop: the deployed ones, and any that the owner adds."""

OWN_ALARM_PREFIX = "headroom-own-"
"""Alarms on Headroom itself; they tell people and never wake the loop."""

PRICED_REGIONS = ("ap-northeast-1", "us-east-1", "us-east-2", "us-west-2")
"""Regions whose EBS prices the catalogue has, whether or not AWS's price list can be read."""
PRICED_PARTITION = "aws"
"""Where AWS's price list is in US dollars and its API open to everyone; elsewhere nothing is ever
changed."""

POLICY_PARAMETER = settings.POLICY_PARAMETER
"""Where the functions read the policy."""

REQUESTS_FUNCTION = settings.REQUESTS_FUNCTION
"""The function that people's requests go to."""

LOOP_STACK = "HeadroomLoop"
STATE_STACK = "HeadroomState"

WRITING_ROLES = f"role/{LOOP_STACK}-*"
"""Roles that may write to the tables: CloudFormation names a stack's roles after the stack."""
