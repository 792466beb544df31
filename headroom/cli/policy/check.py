"""`headroom policy check` and `schema`: whether a policy file is valid."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from headroom.cli.sources.options import JsonOption
from headroom.cli.terminal.output import counted, emit, err, say
from headroom.cli.terminal.problems import BAD_INPUT, OK, BadRequest
from headroom.domain.policy import PolicyError
from headroom.policy import (
    ACCOUNT_ID,
    LONGEST_POLICY,
    REGION,
    canonical_json,
    check_file,
    parameter_texts,
    published,
    schema_text,
)

USUAL_FILE = Path("policy.yaml")


def refuse_no_place(account_id: str | None, region: str | None) -> None:
    """Refuse what is no account or Region: no rule would name it. Raises BadRequest."""
    if account_id is not None and not re.fullmatch(ACCOUNT_ID, account_id):
        raise BadRequest(f"--account {account_id!r} is not an account's 12 digits.")
    if region is not None and not re.fullmatch(REGION, region):
        raise BadRequest(f"--region {region!r} is not a Region such as us-east-1.")


def schema() -> int:
    """Print the policy's JSON Schema, for completion and checks in an editor."""
    sys.stdout.write(schema_text())
    return OK


def check(
    file: Annotated[Path, typer.Argument(help="Policy file.")] = USUAL_FILE,
    account_id: Annotated[
        str | None, typer.Option("--account", help="Check it as published in this account.")
    ] = None,
    region: Annotated[
        str | None, typer.Option(help="Check it as published in this Region.")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Check a policy file, and list every problem in it.

    Exit code 2 if there is a problem; such a policy does not deploy. Remarks block nothing. With
    --account and --region the version and length are those of the policy published there.
    """
    refuse_no_place(account_id, region)
    found = check_file(str(file), now=datetime.now(UTC))
    problems = found.problems
    here, size = None, 0
    if found.policy is not None:
        here = published(found.policy, account_id, region)
        text = canonical_json(here)
        size = len(text)
        try:
            parameter_texts(text)
        except PolicyError as too_long:
            problems = (*problems, str(too_long))
    version = None if here is None else here.version
    if as_json:
        emit({"file": str(file), "ok": not problems, "version": version, "characters": size,
              "problems": list(problems), "remarks": list(found.remarks)})  # fmt: skip
    else:
        for problem in problems:
            say(f"Problem: {problem}", err())
        for remark in found.remarks:
            say(f"Remark: {remark}", err())
        if not problems and here is not None:
            rules = counted(len(here.rules), "rule")
            say(f"{file} is valid: version {version}, {rules}, {size:,} of {LONGEST_POLICY:,} "
                        "characters.")  # fmt: skip
    return BAD_INPUT if problems else OK
