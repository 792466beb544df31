"""CloudFormation: stacks, change sets, rollback, and a model for each supported resource type.

May import `alarms`, `rds`, `ebs`, `state`.
Offers: the API, the backend, the registry of resource types, and moto's faster parsing."""

from headroom.localaws.cloudformation.api import CloudFormationApi
from headroom.localaws.cloudformation.backend import LocalCloudFormation
from headroom.localaws.cloudformation.registry import register_all
from headroom.localaws.cloudformation.templates import parse_quickly
