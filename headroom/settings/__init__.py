"""The two typed settings objects, of a deployment and of a deployed function, and the names that a deployment fixes.

May import `domain.policy`. Standard library otherwise; nothing here reads the environment or a context by itself.
The door offers `DeploymentConfig`, `FunctionSettings`, `Names` and `SettingsError`."""

from headroom.settings.deployment import MOST_ALARM_BUDGET, DeploymentConfig, FunctionSettings
from headroom.settings.names import DEFAULT_PREFIX, REQUESTS_FUNCTION, Names
from headroom.settings.readers import BUS_ARN, OFF, ROLE_ARN, Detection, SettingsError
