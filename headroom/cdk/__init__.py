"""Headroom as constructs of the AWS CDK: tables, functions, permissions, triggers and alarms.

May import `settings`, `policy`, `running_cost`, `adapters.actions` and the ledger's schema.
The door offers `Headroom` and `Hub`, the constructs for other apps, and the parts that `stacks/` puts together."""

from importlib.util import find_spec

if find_spec("aws_cdk") is None:
    raise ImportError("headroom.cdk needs the AWS CDK: run pip install 'headroom-storage[cdk]'.")

from headroom.cdk.asset import WheelsMissing
from headroom.cdk.construct import Headroom, Settings, function_code, read_policy
from headroom.cdk.hub import Hub
from headroom.cdk.loop import Loop
from headroom.cdk.permissions import Kept
from headroom.cdk.state import State
