"""`headroom writeback`: what a decision hands over to the code that also defines the resource."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from headroom.cli.loading import imported
from headroom.cli.sources.options import JsonOption, RecordsOptions
from headroom.cli.sources.records import Source, source
from headroom.cli.terminal.names import short
from headroom.cli.terminal.output import emit, err, say
from headroom.cli.terminal.problems import FAILED, OK, BadRequest
from headroom.cli.writeback import cloudformation, kubernetes, terraform
from headroom.cli.writeback.edits import CannotPatch, Patched, top_of, unified
from headroom.cli.writeback.handoff import ACCEPTED, Handoff, of_chain, of_event
from headroom.cli.writeback.modules import Code
from headroom.cli.writeback.state import Address, address_in_state, logical_id
from headroom.domain.decision import claim_patch, class_text, settings
from headroom.domain.resources import EBS_CSI, Tool
from headroom.domain.state import Record, Step
from headroom.ports import ReadFailed, ResourceGone

CODE = (Tool.TERRAFORM, Tool.OPENTOFU, Tool.CODE)


def writeback(
    decision_id: Annotated[
        str,
        typer.Argument(metavar="[DECISION]", help="Id of the decision, unless --event is given."),
    ] = "",
    event: Annotated[
        Path | None,
        typer.Option(
            "--event",
            help="File with an event of Headroom as JSON (`-` for stdin), instead of an id.",
        ),
    ] = None,
    patch: Annotated[
        bool, typer.Option("--patch", help="Print a unified diff for `git apply`.")
    ] = False,
    directory: Annotated[
        Path, typer.Option("--directory", help="Folder or file with the code or manifests.")
    ] = Path(),
    state: Annotated[
        Path | None,
        typer.Option(
            "--state",
            help="File with the output of `terraform show -json` or `aws cloudformation "
            "describe-stack-resources`, to find the resource by its id.",
        ),
    ] = None,
    address: Annotated[
        str,
        typer.Option(
            "--address", help="The resource's Terraform address, or its CloudFormation logical id."
        ),
    ] = "",
    apply: Annotated[
        bool,
        typer.Option(
            "--apply", help="Set the VolumeAttributesClass of the Kubernetes claim, with kubectl."
        ),
    ] = False,
    kubeconfig: Annotated[
        Path | None, typer.Option("--kubeconfig", help="Kubeconfig file for --apply.")
    ] = None,
    context: Annotated[str, typer.Option("--context", help="Kubeconfig context for --apply.")] = "",
    as_json: JsonOption = False,
    *,
    where: RecordsOptions,
) -> int:
    """Print the values that code needs for a change to last, or with `--patch` a diff of your code.

    Reads files and writes none. In the root of the repository, run
    `headroom writeback ID --patch | git apply`. Only `--apply` changes anything: it creates the class
    and sets it in the claim of a Kubernetes cluster. Ambiguous or computed values are not patched;
    stderr shows where they are set.

    Exit code 0 if the patch is complete (empty if the code already has the values), 1 if any value
    could not be patched. In that case no patch is printed.
    """
    handoff = _handoff(decision_id, event, where)
    if patch and apply:
        raise BadRequest("Give --patch or --apply, not both.")
    if not patch and not apply:
        _print(handoff, as_json)
        return OK
    try:
        if apply:
            cluster = kubernetes.Kubectl(kubeconfig=kubeconfig, context=context)
            done = _applied(handoff, cluster, where)
            emit({**_object(handoff), "done": done}) if as_json else say(f"{done}.")
            return OK
        found = _patched(handoff, directory, _json(state), address, where)
        diff = unified(found.edits, top_of(directory))
    except CannotPatch as problem:
        if as_json:
            emit({**_object(handoff), "patch": None, "problem": str(problem)})
        say(f"Not patched: {problem}.", err())
        if not as_json:
            say(_sentence(handoff), err())
        return FAILED
    if as_json:
        emit({**_object(handoff), "patch": diff, "place": found.place,
              "remarks": list(found.remarks), "problem": None})  # fmt: skip
        return OK
    say(f"{found.place}: {'patched' if diff else 'the code already has the values'}.", err())
    for remark in found.remarks:
        say(f"Note: {remark}.", err())
    sys.stdout.write(diff)
    return OK


def _handoff(decision_id: str, event: Path | None, where: RecordsOptions) -> Handoff:
    if (event is None) == (not decision_id):
        raise BadRequest("Give either the id of a decision or --event FILE.")
    if event is not None:
        return of_event(_json(event))
    opened = source(where)
    chain = opened.records.chain(decision_id)
    if not chain or chain[0].step is not Step.DECIDED:
        raise BadRequest(f"There is no decision {decision_id} in {opened.name}.")
    handoff = of_chain(chain)
    _refuse_replaced(opened, chain[0], handoff)
    return handoff


def _refuse_replaced(opened: Source, first: Record, handoff: Handoff) -> None:
    """Raise BadRequest where a later decision changed the resource again, or may have."""
    later = opened.records.record_summaries(
        since=first.at, until=opened.now, resource=handoff.ref.arn
    )
    newest = next((one for one in later if one.step in ACCEPTED | {Step.RELEASED}), None)
    if newest is not None and newest.decision_id != handoff.decision_id:
        has = "has" if newest.step in ACCEPTED else "may have"
        raise BadRequest(
            f"Decision {newest.decision_id} {has} since changed {short(handoff.ref.arn)}: write that one back."
        )


def _json(path: Path | None) -> Any:
    if path is None:
        return None
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
        return json.loads(text)
    except (OSError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or problem
        raise BadRequest(f"{path} cannot be read as JSON: {why}.") from None


def _patched(
    handoff: Handoff, directory: Path, state: Any, address: str, where: RecordsOptions
) -> Patched:
    """The patch by the owner's tool; a state says which tool it is where no tag does."""
    if not directory.exists():
        raise BadRequest(f"{directory} does not exist.")
    if state is not None and not isinstance(state, dict):
        raise BadRequest("The --state file is not a JSON object from Terraform or CloudFormation.")
    of_stack = state is not None and not {"values", "prior_state"} & set(state)
    owner = handoff.owner
    tool = Tool.TERRAFORM if owner is None else owner.tool
    if state is not None:
        tool = Tool.CLOUDFORMATION if of_stack else Tool.TERRAFORM
    if tool is Tool.CLOUDFORMATION:
        by, name = "the address", address
        if not name and state is not None:
            by, name = "its id in the stack", logical_id(state, handoff)
        if not name and owner is not None:
            by, name = "its tag", owner.logical_id
        if not name:
            raise CannotPatch("the logical id is unknown: give --state or --address")
        return cloudformation.patched(directory, handoff, name, by)
    if tool in CODE:
        there = Address(address=address) if address else None
        if there is None and state is not None:
            there = address_in_state(state, handoff)
        if there is not None and there.replaces and handoff.made:
            _refuse_moved(handoff, where, "with the patch, Terraform would replace the instance")
        return terraform.patched(Code(directory), handoff, there)
    if tool is Tool.KUBERNETES:
        return kubernetes.patched(directory, handoff)
    raise CannotPatch(f"{owner} cannot be patched: write the values by hand")


def _applied(handoff: Handoff, cluster: kubernetes.Kubectl, where: RecordsOptions) -> str:
    if handoff.owner is None or handoff.owner.tool is not Tool.KUBERNETES:
        raise BadRequest("--apply is only for Kubernetes claims. Use --patch for code.")
    if handoff.made:
        _refuse_moved(handoff, where, "with the class, the driver would change it")
    return kubernetes.applied(handoff, cluster)


def _refuse_moved(handoff: Handoff, where: RecordsOptions, why: str) -> None:
    """Raise CannotPatch if the volume is not what the code or the class would say."""
    here = imported("headroom.cli.sources.account:account")(
        region=where.region or handoff.ref.region, profile=where.profile,
        endpoint_url=where.endpoint_url, local=where.local,
    )  # fmt: skip
    if here.account_id != handoff.ref.account_id:
        raise BadRequest(
            f"The credentials are for account {here.account_id}, which is not the volume's account."
        )
    try:
        seen = imported("headroom.cli.sources.storage:read_storage")(here, handoff.ref)
    except (ReadFailed, ResourceGone) as problem:
        raise CannotPatch(f"the volume cannot be read: {problem}") from None
    current = seen.volume.configuration
    if current != handoff.target:
        raise CannotPatch(f"the volume is {current}, not {handoff.target}: {why}")


def _print(handoff: Handoff, as_json: bool) -> None:
    if as_json:
        emit(_object(handoff))
    else:
        say(_sentence(handoff))


def _sentence(handoff: Handoff) -> str:
    kind, values = settings(_tool(handoff), handoff.names, handoff.target)
    listed = ", ".join(
        f"{name} = {value}" if value is not None else f"no {name}" for name, value in values.items()
    )
    owner = handoff.owner
    if owner is not None and owner.claim and kind == "VolumeAttributesClass":
        manifest = class_text(handoff.target, owner.driver or EBS_CSI)
        return f"{manifest}---\n# {claim_patch(owner, handoff.target).rstrip()}"
    return f"{short(handoff.ref.arn)} is {handoff.target}; as {kind}: {listed}."


def _tool(handoff: Handoff) -> Tool:
    return Tool.TERRAFORM if handoff.owner is None else handoff.owner.tool


def _object(handoff: Handoff) -> dict[str, object]:
    kind, values = settings(_tool(handoff), handoff.names, handoff.target)
    return {
        "decision_id": handoff.decision_id, "resource": handoff.ref.arn,
        "owner": None if handoff.owner is None else str(handoff.owner), "made": handoff.made,
        "resource_type": kind, "settings": values,
    }  # fmt: skip
