"""The published policy of an account, under the hard caps of its deployment."""

from __future__ import annotations

from botocore.exceptions import BotoCoreError, ClientError

from headroom.adapters.errors import code_of
from headroom.adapters.parameters import ParameterPolicies
from headroom.cli.sources.account import Account
from headroom.cli.terminal.output import err, say
from headroom.domain.policy import HardCaps, Policy, PolicyUnreadable
from headroom.settings import FunctionSettings, SettingsError


def published_policy(where: Account) -> Policy | PolicyUnreadable:
    """The policy that the functions there follow."""
    return ParameterPolicies(
        where.client("ssm"), parameter=where.names.policy_parameter, caps=hard_caps_in(where)
    ).current()


def hard_caps_in(where: Account) -> HardCaps:
    """The hard caps of the deployment there; none without one.

    Where they cannot be read, a line on standard error says that they are left out.
    """
    try:
        function = where.client("lambda").get_function_configuration(
            FunctionName=where.names.requests_function
        )
        variables = function.get("Environment", {}).get("Variables", {})
        return FunctionSettings.from_environment(variables).hard_caps
    except (ClientError, BotoCoreError, SettingsError) as problem:
        gone = isinstance(problem, ClientError) and code_of(problem) == "ResourceNotFoundException"
        if not gone:
            say(f"Continuing without the deployment's hard caps: {problem}", err(), style="dim")
        return HardCaps()
