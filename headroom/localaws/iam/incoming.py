"""An HTTP request of AWS's protocols as a call: service, operation and parameters."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qsl, unquote
from wsgiref.types import WSGIEnvironment

from headroom.localaws.iam.requests import Call, UnknownRequest

_SCOPE = re.compile(r"Credential=[^/,\s]+/\d{8}/([^/,\s]+)/([^/,\s]+)/aws4_request")
_INVOKE = re.compile(r"/2015-03-31/functions/([^/]+)/invocations")
_SIGNED_AS = {"monitoring": "cloudwatch"}
"""Services whose signatures name them otherwise than policies do."""
_TARGETS = {
    "cloudwatch": "GraniteServiceVersion20100801", "dynamodb": "DynamoDB_20120810",
    "events": "AWSEvents", "kms": "TrentService", "logs": "Logs_20140328",
    "pricing": "AWSPriceListService", "sqs": "AmazonSQS", "ssm": "AmazonSSM",
}  # fmt: skip
"""Services with JSON, and what their X-Amz-Target begins with."""
_FORM = "application/x-www-form-urlencoded"


def call_of(environ: WSGIEnvironment, account: str) -> Call:
    """The call that a signed request makes; raises UnknownRequest."""
    scope = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
    if scope is None:
        raise UnknownRequest("Only requests with an Authorization header are understood here.")
    region, signed_as = scope.groups()
    service = _SIGNED_AS.get(signed_as, signed_as)
    operation, parameters = _operation(environ, service)
    return Call(
        service=service, operation=operation, parameters=parameters, region=region, account=account
    )


def _operation(environ: WSGIEnvironment, service: str) -> tuple[str, dict[str, Any]]:
    target = environ.get("HTTP_X_AMZ_TARGET", "")
    if target:
        prefix, _, operation = target.rpartition(".")
        if _TARGETS.get(service) != prefix:
            raise UnknownRequest(f"{target} is no operation of {service}.")
        found = json.loads(_body(environ) or b"{}")
        return operation, found if isinstance(found, dict) else {}
    invoked = _INVOKE.fullmatch(environ["PATH_INFO"])
    if service == "lambda" and invoked:
        return "Invoke", {"FunctionName": unquote(invoked[1])}
    if environ.get("CONTENT_TYPE", "").startswith(_FORM):
        form = dict(parse_qsl(_body(environ).decode(), keep_blank_values=True))
        return form.get("Action", ""), form
    raise UnknownRequest(
        f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']} of {service} is not understood here."
    )


def _body(environ: WSGIEnvironment) -> bytes:
    """The body, left to be read again."""
    source = environ["wsgi.input"]
    body: bytes = source.read()
    source.seek(0)
    return body
