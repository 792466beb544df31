"""`headroom policy parameters`: the policy for the StackSets template."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headroom.cli.policy.check import USUAL_FILE
from headroom.cli.terminal.output import emit
from headroom.cli.terminal.problems import OK, BadRequest
from headroom.policy import (
    TEMPLATE_PARTS,
    canonical_json,
    first_problem,
    load_policy_file,
    parameter_texts,
)


def parameters(
    file: Annotated[Path, typer.Argument(help="Policy file.")] = USUAL_FILE,
    also: Annotated[
        list[str] | None, typer.Option(help="Another parameter, as NAME=VALUE; may be repeated.")
    ] = None,
) -> int:
    """Print a policy as parameters of the StackSets template, as JSON for CloudFormation."""
    others = dict(_pair(text) for text in also or ())
    policy = load_policy_file(file)
    first_problem(policy, source=str(file))
    first, *parts = parameter_texts(canonical_json(policy))
    if len(parts) > TEMPLATE_PARTS:
        raise BadRequest(
            f"{file} needs {len(parts)} parts and the template has parameters for "
            f"{TEMPLATE_PARTS}; merge rules, or deploy with the CDK."
        )
    texts = [first, *parts, *[""] * (TEMPLATE_PARTS - len(parts))]
    values = {f"Policy{number or ''}": text for number, text in enumerate(texts)} | others
    emit([{"ParameterKey": name, "ParameterValue": value} for name, value in values.items()])
    return OK


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isalnum():
        raise BadRequest(f"--also {text} is not of the form NAME=VALUE.")
    return name, value
