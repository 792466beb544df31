"""The deployed Requests function beside a command under test: its handler in this process, on moto.

The handler is the real one; STS is replaced by one that verifies signatures, as AWS's does.
"""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import botocore.client
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from headroom import account
from headroom.settings import REQUESTS_FUNCTION, FunctionSettings
from tests.builders import ACCOUNT, REGION

ARN = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{REQUESTS_FUNCTION}"
SETTINGS = FunctionSettings(
    records_table="records", state_table="state", policy_parameter="/headroom/policy",
    topic_arn=f"arn:aws:sns:{REGION}:{ACCOUNT}:headroom",
    queue_url=f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/work",
)  # fmt: skip


@dataclass
class Context:
    """What Lambda hands to a handler."""

    invoked_function_arn: str = ARN
    function_name: str = REQUESTS_FUNCTION
    memory_limit_in_mb: int = 512
    aws_request_id: str = "request-1"


@dataclass
class Sts:
    """STS that knows some keys: it answers GetCallerIdentity only for what they signed."""

    secrets: dict[str, str] = field(
        default_factory=lambda: {"FOOBARKEY": "FOOBARSECRET"}  # those of moto
    )
    arns: dict[str, str] = field(default_factory=dict)
    account_id: str = ACCOUNT

    def __call__(self, url: str, headers: Mapping[str, str], body: str) -> tuple[int, str]:
        key, _, region, service, _ = headers["Authorization"].split("=")[1].split(",")[0].split("/")
        credentials = Credentials(key, self.secrets[key], headers.get("X-Amz-Security-Token"))
        others = {name: value for name, value in headers.items() if name != "Authorization"}
        again = AWSRequest("POST", url, headers=others, data=body)
        again.context["timestamp"] = headers["X-Amz-Date"]
        auth = SigV4Auth(credentials, service, region)
        signature = auth.signature(auth.string_to_sign(again, auth.canonical_request(again)), again)
        if not headers["Authorization"].endswith(f"Signature={signature}"):
            return 403, "<ErrorResponse><Code>SignatureDoesNotMatch</Code></ErrorResponse>"
        arn = self.arns.get(key, f"arn:aws:sts::{self.account_id}:assumed-role/people/alice")
        return 200, f"<R><Arn>{arn}</Arn><Account>{self.account_id}</Account></R>"


class Inside:
    """Whether the function runs now, and not the command."""

    running = False


def call(event: Any, context: Context | None = None) -> dict[str, str]:
    """The function's answer to an event, which may be anything."""
    handler = importlib.import_module("lambdas.requests").handler
    Inside.running = True
    try:
        answer: dict[str, str] = handler(event, context or Context())
    finally:
        Inside.running = False
    return answer


def deploy(monkeypatch: pytest.MonkeyPatch) -> Sts:
    """Have `lambda:Invoke` run the function; the STS that it asks."""
    sts = Sts()
    for name, value in SETTINGS.to_environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(account, "_post", sts)
    for handler in importlib.import_module("lambdas.requests").logger.handlers:
        monkeypatch.setattr(handler, "stream", io.StringIO())  # its log is not the command's output
    send = botocore.client.BaseClient._make_api_call  # type: ignore[attr-defined]

    def routed(client: Any, operation: str, arguments: dict[str, Any]) -> Any:
        if operation != "Invoke":
            return send(client, operation, arguments)
        assert arguments["FunctionName"] == REQUESTS_FUNCTION
        answer = call(json.loads(arguments["Payload"]))
        return {"StatusCode": 200, "Payload": io.BytesIO(json.dumps(answer).encode())}

    monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", routed)
    return sts
