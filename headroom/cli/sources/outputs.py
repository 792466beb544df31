"""What the outputs of a stack say about the deployment in it, of which it may hold several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from botocore.exceptions import ClientError

from headroom.adapters.errors import message_of
from headroom.cli.terminal.problems import Problem
from headroom.settings import Names

_REQUESTS = "RequestsFunction"
_TABLES = ("RecordsTable", "StateTable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The outputs of one deployment."""

    names: Names
    values: Mapping[str, str]
    """By their plain names, such as `RecordsTable`."""


def stack_of(option: str) -> str:
    """The name of the stack in `STACK` or `STACK/PREFIX`."""
    return option.partition("/")[0]


class NoSuchStack(Problem):
    """There is no stack of that name."""


def not_found(problem: Exception, stack: str, region: str) -> Problem:
    """What to say when CloudFormation did not show the stack."""
    if isinstance(problem, ClientError) and message_of(problem).endswith("does not exist"):
        return NoSuchStack(
            f"There is no stack {stack_of(stack)} in {region}. If Headroom is deployed elsewhere or "
            "under another name, give --region or --stack."
        )
    return Problem(f"Headroom's tables cannot be found in {region}: {problem}")


def outputs_of(found: Mapping[str, str], option: str) -> Outputs:
    """Those of the deployment that `STACK` or `STACK/PREFIX` names; raises Problem."""
    stack, _, prefix = option.partition("/")
    suffix = Names("").requests_function
    here = {found[key].removesuffix(suffix) for key in found if key.endswith(_REQUESTS)}
    if not prefix and len(here) > 1:
        raise Problem(
            f"Stack {stack} holds several deployments: give --stack {stack}/PREFIX with one of "
            f"{', '.join(sorted(here))}."
        )
    names = Names(prefix) if prefix else Names(*here)
    values = {key: found[names.output(key)] for key in _KNOWN if names.output(key) in found}
    if not values.keys() >= set(_TABLES):
        raise Problem(f"Stack {option} has no outputs that name Headroom's tables.")
    return Outputs(names=names, values=values)


_KNOWN = (*_TABLES, _REQUESTS, "TopicArn", "PolicyParameter", "SealKeyArn")
