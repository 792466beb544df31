"""What the owner keeps in Systems Manager: the policy parameter and Change Calendars.

May import `policy`, `adapters.errors`, `ports` and the domain.
The door offers `ParameterPolicies` and `ManagerCalendars`."""

from headroom.adapters.parameters.calendars import ManagerCalendars
from headroom.adapters.parameters.policy import ParameterPolicies
