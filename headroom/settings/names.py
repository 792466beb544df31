"""The names that a deployment fixes."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_PREFIX = "headroom"


@dataclass(frozen=True, slots=True)
class Names:
    """The names that a deployment fixes; CloudFormation makes up all others.

    Two deployments in one account and Region differ in their prefix.
    """

    prefix: str = DEFAULT_PREFIX

    @property
    def policy_parameter(self) -> str:
        """Name of the SSM parameter that holds the published policy."""
        return f"/{self.prefix}/policy"

    @property
    def requests_function(self) -> str:
        """Name of the function that takes people's requests."""
        return f"{self.prefix}-requests"

    @property
    def extend_document(self) -> str:
        """Name of the SSM document that extends file systems."""
        return f"{self.prefix}-extend-file-system"

    @property
    def detection_alarms(self) -> str:
        """Prefix of alarms that wake the loop: the deployed ones, and any that the owner adds."""
        return f"{self.prefix}-detect-"

    @property
    def resource_alarms(self) -> str:
        """Prefix of alarms on single resources, which the dispatcher makes and removes."""
        return f"{self.detection_alarms}resource-"

    @property
    def own_alarms(self) -> str:
        """Prefix of alarms on Headroom itself, which notify people and never wake the loop."""
        return f"{self.prefix}-own-"

    @property
    def role_path(self) -> str:
        """Path of the deployed roles: only they may write to the tables."""
        return f"/{self.prefix}/"

    def output(self, name: str) -> str:
        """Name of a stack's output: a stack may hold several deployments."""
        return name if self.prefix == DEFAULT_PREFIX else self.stack(name)

    def stack(self, name: str) -> str:
        """Name of a stack of the app, such as `HeadroomState`."""
        return "".join(part.capitalize() for part in self.prefix.split("-")) + name


REQUESTS_FUNCTION = Names().requests_function
