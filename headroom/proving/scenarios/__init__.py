"""Scenario files: one volume, database or Aurora cluster under one load, parsed and checked.

May import `physics`, `awsrules`, `workloads`, `inputs`.
Offers: Scenario, AuroraScenario and the functions that load them."""

from headroom.proving.scenarios.aurora import (
    AuroraScenario,
    cluster_usage,
    is_aurora,
    load_aurora_scenario,
)
from headroom.proving.scenarios.load_blocks import (
    AttachmentSettings,
    parse_attachment,
    parse_workload,
)
from headroom.proving.scenarios.scenario import (
    AwsBehaviour,
    Detection,
    Resource,
    Scenario,
    load_scenario,
    parse_scenario,
)
