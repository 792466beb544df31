"""The bundle of `headroom doctor --contact`: findings, versions and shapes of AWS's answers, redacted.

A readable JSON file for the owner to look through and send, if they want to: nothing is sent. Records
and other items of the tables are not part of it.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib.metadata import version
from typing import Any

from headroom import __version__
from headroom.cli.doctor.findings import Examined
from headroom.cli.doctor.redaction import Redactor
from headroom.cli.sources.deployment import Deployment

FORMAT = "headroom contact 1"
LEFT_OUT = frozenset({"dynamodb", "sts"})
"""Services whose answers hold nothing but what must not be shared."""
MOST_ANSWERS = 3
"""Answers of one operation that differ once they are redacted."""
_CODE = re.compile(r"[A-Za-z][A-Za-z.]{1,60}")
_FAILED = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What AWS said to one call, as botocore parsed it; `shape` is the model of the output."""

    service: str
    operation: str
    status: int
    parsed: dict[str, Any]
    shape: Any


@dataclass(frozen=True, slots=True)
class Recorder:
    """Keeps the answers that the clients it listens to receive."""

    answers: list[Answer] = field(default_factory=list)

    def listen(self, client: Any) -> Any:
        """The client, whose answers are kept from now on."""
        client.meta.events.register("after-call", self._keep)
        return client

    def _keep(self, *, http_response: Any, parsed: dict[str, Any], model: Any, **_: Any) -> None:
        service = model.service_model.service_name
        if service not in LEFT_OUT:
            self.answers.append(
                Answer(
                    service=service, operation=model.name, status=http_response.status_code,
                    parsed=parsed, shape=model.output_shape,
                )
            )  # fmt: skip


def recorded(here: Deployment, recorder: Recorder) -> Deployment:
    """The deployment with a recorder on every client that the checks use."""
    account = here.account
    for client in (account.ec2, account.cloudwatch):
        recorder.listen(client)

    def listened(*words: Any) -> Any:
        return recorder.listen(account.client(*words))

    return replace(here, account=replace(account, client=listened))


def bundle(
    examined: Sequence[Examined], answers: Sequence[Answer], now: datetime
) -> dict[str, object]:
    """The content of the file; the same for the same findings and answers."""
    redactor = Redactor(now)
    return {
        "format": FORMAT,
        "versions": {
            "headroom": __version__,
            "python": platform.python_version(),
            "botocore": version("botocore"),
        },
        "checks": [
            {
                "check": each.name,
                "findings": [
                    {"problem": redactor.prose(one.problem), "fix": redactor.prose(one.fix)}
                    for one in each.findings
                ],
                "facts": [redactor.prose(fact.text) for fact in each.facts],
            }
            for each in examined
        ],
        "refused": _refused(answers),
        "answers": _shapes(answers, redactor),
    }


def _refused(answers: Sequence[Answer]) -> list[dict[str, object]]:
    """Calls that AWS refused, each once: denials among them."""
    found: dict[tuple[str, str, str], dict[str, object]] = {}
    for one in answers:
        code = str(one.parsed.get("Error", {}).get("Code", ""))
        if one.status >= _FAILED:
            code = code if _CODE.fullmatch(code) else "other"
            found[(one.service, one.operation, code)] = {
                "service": one.service, "operation": one.operation, "code": code,
            }  # fmt: skip
    return [found[key] for key in sorted(found)]


def _shapes(answers: Sequence[Answer], redactor: Redactor) -> list[dict[str, object]]:
    """Answers by operation, each redacted form once."""
    found: dict[tuple[str, str], dict[str, object]] = {}
    for one in answers:
        if one.status >= _FAILED or one.shape is None:
            continue
        redacted = redactor.answer(one.parsed, one.shape)
        kept = found.setdefault((one.service, one.operation), {})
        if len(kept) < MOST_ANSWERS:
            kept[json.dumps(redacted, sort_keys=True)] = redacted
    return [
        {"service": service, "operation": operation, "answer": answer}
        for (service, operation), kept in sorted(found.items())
        for answer in kept.values()
    ]
