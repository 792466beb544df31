"""File systems extended by Run Command, with the one document that the deployment brings.

The document checks on the instance whatever can be known there, changes nothing that it does not
recognise, and says in its last line what became of it (headroom/cdk/extend_file_system.sh).
Source: Systems Manager API reference, SendCommand and GetCommandInvocation (checked 2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from time import sleep
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from headroom.adapters.errors import code_of
from headroom.domain.resources import Volume
from headroom.ports import Extended, NotExtended

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

STEPS = ("Linux", "Windows")
"""The document's steps; the instance skips that of the other platform."""
RUNNING = ("Pending", "InProgress", "Delayed")
DELIVERY_S = 30
"""For how long Systems Manager tries to hand the command to an instance; it takes no less."""
POLLS, POLL_S = 10, 2.0
_GIB = 1024**3
_LAST_LINE = re.compile(r"^headroom: (extended|already|refused|later) (.*?)\s*$", re.MULTILINE)
_LACKS = re.compile(r"^headroom-lacks: (.*?)\s*$", re.MULTILINE)
_WHY = {
    "InvalidInstanceId": "its instance is not online in Systems Manager",
    "AccessDeniedException": "its instance does not have the enrolment tag, or IAM denies it",
    "InvalidDocument": "the deployment's document was deleted (`headroom doctor` names the fix)",
}


class ManagedFileSystems:
    """The file systems on instances that Systems Manager reaches; no failure is ever raised."""

    def __init__(
        self, client: SSMClient, *, document: str, wait: Callable[[float], None] = sleep
    ) -> None:
        self._client = client
        self._document = document
        self._wait = wait

    def extend(self, volume: Volume) -> Extended | NotExtended:
        """Runs the document and waits up to 20 seconds for what it says."""
        (instance_id,) = volume.instance_ids
        try:
            sent = self._client.send_command(
                DocumentName=self._document, DocumentVersion="$LATEST", InstanceIds=[instance_id],
                Parameters={
                    "VolumeId": [volume.ref.resource_id],
                    "SizeGib": [str(volume.configuration.size_gib)],
                },
                TimeoutSeconds=DELIVERY_S, Comment="Headroom: extend a file system",
            )  # fmt: skip
            output = self._output(sent["Command"]["CommandId"], instance_id)
        except (ClientError, BotoCoreError) as problem:
            code = code_of(problem) if isinstance(problem, ClientError) else ""
            why = _WHY.get(code, f"Systems Manager: {code or type(problem).__name__}")
            return NotExtended(why=f"{why} ({instance_id})", again=code not in _WHY)
        return outcome_of(output)

    def _output(self, command_id: str, instance_id: str) -> str | None:
        """What the step of the instance's platform printed; None while it runs."""
        for _ in range(POLLS):
            self._wait(POLL_S)
            printed = [self._step(command_id, instance_id, step) for step in STEPS]
            ended = "\n".join(text for text in printed if text is not None)
            if _LAST_LINE.search(ended) or None not in printed:
                return ended
        return None

    def _step(self, command_id: str, instance_id: str, step: str) -> str | None:
        try:
            found = self._client.get_command_invocation(
                CommandId=command_id, InstanceId=instance_id, PluginName=step
            )
        except ClientError as problem:
            if code_of(problem) == "InvocationDoesNotExist":
                return None  # not yet
            raise
        running = found["Status"] in RUNNING
        return None if running else found.get("StandardOutputContent", "")


def outcome_of(output: str | None) -> Extended | NotExtended:
    """What the document's last line says; anything else counts as not extended."""
    if output is None:
        return NotExtended(why="the instance has not finished it yet", again=True)
    found = _LAST_LINE.findall(output)
    word, rest = found[-1] if found else ("", "")
    numbers = re.search(r" (\d+) (\d+)$", rest)
    match word:
        case "extended" | "already" if numbers:
            before, after = (int(number) / _GIB for number in numbers.groups())
            where = rest[: numbers.start()]
            size = f"{before:.1f} -> {after:.1f} GiB" if word == "extended" else f"{after:.1f} GiB"
            lacks = ", ".join(_LACKS.findall(output))
            return Extended(
                size_gib=after, detail=f"file system {word}: {where}, {size}",
                extended=word == "extended", lacks=lacks,
            )  # fmt: skip
        case "refused" | "later":
            return NotExtended(why=rest, again=word == "later")
        case _:
            return NotExtended(why="the instance did not say what became of it", again=True)
