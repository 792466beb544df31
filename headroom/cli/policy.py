"""`headroom policy`: what the owner's limits are, whether they make sense, and what they decide."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from headroom.cli.output import emit, err, out
from headroom.cli.problems import BAD_INPUT, OK
from headroom.domain.policy_fields import PolicyError
from headroom.policy_check import check_file
from headroom.policy_schema import schema_text
from headroom.policy_text import canonical_json, load_policy_file, published, ssm_tier
from headroom.ports import ReadFailed, ResourceGone
from headroom.proving.policy_tests import Verdict, blocking_guardrails, load_tests, run_policy_test
from headroom.settings import POLICY_PARAMETER

USUAL_FILE = Path("policy.yaml")

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def schema() -> int:
    """Print the policy's JSON Schema, by which editors complete and check it."""
    sys.stdout.write(schema_text())
    return OK


def check(
    file: Annotated[Path, typer.Argument(help="Policy file.")] = USUAL_FILE,
    account_id: Annotated[
        str | None, typer.Option("--account", help="As it is published in this account.")
    ] = None,
    region: Annotated[str | None, typer.Option(help="As it is published in this Region.")] = None,
    as_json: JsonOption = False,
) -> int:
    """Say all that is wrong with a policy: what it says, and what it can never mean.

    Exit code 2 when anything is; it would not deploy either. Remarks stop nothing. With
    --account and --region its version and length are those of what is published there.
    """
    found = check_file(str(file), now=datetime.now(UTC))
    problems = found.problems
    here, size = None, 0
    if found.policy is not None:
        here = published(found.policy, account_id, region)
        text = canonical_json(here)
        size = len(text)
        try:
            ssm_tier(text)
        except PolicyError as too_long:
            problems = (*problems, str(too_long))
    version = None if here is None else here.version
    if as_json:
        emit({"file": str(file), "ok": not problems, "version": version, "characters": size,
              "problems": list(problems), "remarks": list(found.remarks)})  # fmt: skip
    else:
        for problem in problems:
            err().print(f"Problem: {problem}", markup=False, soft_wrap=True)
        for remark in found.remarks:
            err().print(f"Remark: {remark}", markup=False, soft_wrap=True)
        if not problems and here is not None:
            rules = len(here.rules)
            out().print(f"{file} makes sense: version {version}, {rules} rules, {size:,} of 8,192 "
                        "characters.", markup=False, soft_wrap=True)  # fmt: skip
    return BAD_INPUT if problems else OK


@app.command()
def show(
    resource: Annotated[
        str | None,
        typer.Argument(help="vol-ID, db:NAME, cluster:NAME or ARN; without, what options make up."),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(help="Policy file; for what an account has, its published policy."),
    ] = None,
    volume_type: Annotated[
        VolumeType | None, typer.Option("--type", help="Type of made-up storage.")
    ] = None,
    kind: Annotated[
        Kind | None, typer.Option(help="Kind of made-up storage: ebs, rds or aurora.")
    ] = None,
    size: Annotated[int, typer.Option(min=1, help="Its size in GiB.")] = 100,
    tag: Annotated[
        list[str] | None, typer.Option(help="A tag of it (KEY=VALUE); may be given again.")
    ] = None,
    account_id: Annotated[
        str, typer.Option("--account", help="The account it is in.")
    ] = "123456789012",
    as_json: JsonOption = False,
    region: Annotated[str | None, typer.Option(help="AWS Region it is in.")] = None,
    profile: source.ProfileOption = None,
    endpoint_url: source.EndpointOption = None,
    local: Annotated[
        bool, typer.Option("--local", help="Ask the endpoint `headroom local up` started.")
    ] = False,
) -> int:
    """Show the limits in force for one volume or database, and where each of them came from.

    Exit code 1 when its tags cannot be understood.
    """
    if (resource is None) == (volume_type is None and kind is None):
        raise BadRequest(
            "Name a volume or database, or make one up with --type or --kind (and --size, --tag)."
        )
    tags = dict(_tag(text) for text in tag or ())
    if resource is not None:
        if tags:
            raise BadRequest("What an account has, has its own tags; leave --tag away.")
        where = account(region=region, profile=profile, endpoint_url=endpoint_url, local=local)
        volume = _described(where, resource)
        rules, name = in_force(where, policy)
    else:
        volume = made_up(
            kind or Kind.EBS, volume_type, size, tags, account_id=account_id,
            region=region or "us-east-1",
        )  # fmt: skip
        rules, name = load_policy_file(policy or USUAL_FILE), str(policy or USUAL_FILE)
    shown = Shown(volume=volume, policy=rules, name=name, effective=limits_for(rules, volume))
    if as_json:
        emit(policy_shown.as_object(shown))
    else:
        policy_shown.show(shown, out())
    return OK if shown.effective.problem is None else FAILED


@app.command("test")
def run_tests(
    file: Annotated[Path, typer.Argument(help="File of tests (docs/policy.md).")] = USUAL_TESTS,
    policy: Annotated[
        Path | None, typer.Option(help="Policy to test in place of the one the file names.")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Decide the situations in a file of tests, and compare with what it expects.

    Exit code 1 when any is decided otherwise.
    """
    loaded = load_tests(file, policy=policy)
    verdicts = tuple(run_policy_test(loaded))
    failed = sum(not verdict.passed for verdict in verdicts)
    if as_json:
        emit({"policy": str(loaded.policy_path), "version": loaded.policy.version,
              "passed": len(verdicts) - failed, "failed": failed,
              "tests": [_tested(verdict) for verdict in verdicts]})  # fmt: skip
    else:
        policy_shown.show_tests(verdicts, loaded, out())
    return FAILED if failed else OK


def _tested(verdict: Verdict) -> dict[str, object]:
    decision = verdict.decision
    return {
        "name": verdict.test.name,
        "passed": verdict.passed,
        "differences": list(verdict.differences),
        "decided": None if decision is None else decision.summary,
        "blocked_by": [] if decision is None else list(blocking_guardrails(decision)),
    }


def _tag(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise BadRequest(f"--tag {text!r} is no tag; write KEY=VALUE.")
    return key, value


def _described(where: Account, resource: str) -> Volume:
    ref = named(resource, account_id=where.account_id, region=where.region)
    what = "volume" if ref.kind is Kind.EBS else "database"
    try:
        return read_storage(where, ref).volume
    except ResourceGone:
        raise BadRequest(f"There is no {what} {short(ref.arn)} in {where.region}.") from None
    except ReadFailed as problem:
        raise Problem(f"The {what} cannot be read: {problem}") from None


def in_force(where: Account, file: Path | None) -> tuple[Policy, str]:
    """The policy of a file as it would be published there, or the published one."""
    if file is not None:
        return published(load_policy_file(file), where.account_id, where.region), str(file)
    policies = ParameterPolicies(where.client("ssm"), parameter=POLICY_PARAMETER)
    found = policies.current()
    if isinstance(found, PolicyUnreadable):
        raise Problem(f"{found.reason.rstrip('.')}; --policy FILE shows what a file would mean.")
    return found, f"the policy published in {where.region}"
