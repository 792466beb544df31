"""AWS at botocore's HTTP layer: requests are really serialised, and answers really parsed.

A client's `before-send` event is the last thing before the socket. What is registered there reads the
request's bytes, asks an account in this process, and gives the bytes that AWS would have sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

import boto3
from botocore import UNSIGNED
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.model import OperationModel, ServiceModel
from botocore.session import get_session
from botocore.useragent import UserAgentString

JSON = "application/x-amz-json-1.0"


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request: the service's and the operation's name, and its parameters.

    Those of EC2, RDS and SNS are flat, as their query protocol sends them: `Filter.1.Name`.
    """

    service: str
    operation: str
    asked: Mapping[str, Any]

    def listed(self, prefix: str) -> list[str]:
        """A flat list: `VolumeId.1`, `VolumeId.2` ... of the prefix `VolumeId`."""
        found: list[str] = []
        while (value := self.asked.get(f"{prefix}.{len(found) + 1}")) is not None:
            found.append(value)
        return found

    def filters(self, values: str = "Value") -> dict[str, list[str]]:
        """The filters of a Describe call by name."""
        found, number, start = dict[str, list[str]](), 1, "Filter"
        if "Filters.Filter.1.Name" in self.asked:
            start, values = "Filters.Filter", "Values.Value"
        while (name := self.asked.get(f"{start}.{number}.Name")) is not None:
            found[name] = self.listed(f"{start}.{number}.{values}")
            number += 1
        return found


class Refusal(Exception):
    """An error of AWS: its code and message, and what a JSON service adds."""

    def __init__(self, code: str, message: str = "no", status: int = 400, **more: Any) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.status, self.more = code, message, status, more


Answer = Callable[[Call], Mapping[str, Any]]
"""What AWS answers in the shape of botocore's model; raises Refusal, or what cuts the connection."""


def connect(session: boto3.Session, answer: Answer) -> None:
    """Let `answer` stand behind every client that the session makes."""

    def send(request: AWSPreparedRequest, event_name: str, **_: Any) -> AWSResponse:
        call = _call(event_name.split(".")[1], request)
        model = _models(call.service).operation_model(call.operation)
        try:
            status, body = 200, _body(model, answer(call))
        except Refusal as refused:
            status, body = refused.status, _error(model, refused)
        return _response(request.url, status, body)

    UserAgentString.to_string = lambda self: "law"  # type: ignore[method-assign]  # a tenth of a call
    session.events.register("before-send", send)
    session.events.register(
        "choose-signer", lambda **_: UNSIGNED
    )  # nobody checks it, and it is slow


def _call(service_id: str, request: AWSPreparedRequest) -> Call:
    body, headers = request.body or b"", request.headers
    text = body.decode() if isinstance(body, bytes) else str(body)
    target = headers.get("X-Amz-Target")
    if target is not None:
        name = target.decode() if isinstance(target, bytes) else target
        return Call(service_id, name.rpartition(".")[2], json.loads(text))
    flat = dict(parse_qsl(text, keep_blank_values=True))
    return Call(service_id, flat.pop("Action"), flat)


NAMES = {"eventbridge": "events"}
"""Service ids as events spell them, where the model's name is another one."""


@cache
def _models(service_id: str) -> ServiceModel:
    return get_session().get_service_model(NAMES.get(service_id, service_id))


def _response(url: str, status: int, body: bytes) -> AWSResponse:
    answer = AWSResponse(url, status, {"Content-Type": "text/xml"}, None)
    answer._content = body
    return answer


def _body(model: OperationModel, answer: Mapping[str, Any]) -> bytes:
    if model.service_model.resolved_protocol == "json":
        return json.dumps(answer, default=_json).encode()
    parts = "" if model.output_shape is None else "".join(_members(model.output_shape, answer))
    if model.service_model.resolved_protocol == "ec2":
        return f"<R>{parts}<requestId>r</requestId></R>".encode()
    wrapper = model.output_shape.serialization.get("resultWrapper") if model.output_shape else None
    inside = f"<{wrapper}>{parts}</{wrapper}>" if wrapper else parts
    return f"<R>{inside}<ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></R>".encode()


def _error(model: OperationModel, refused: Refusal) -> bytes:
    protocol, message = model.service_model.resolved_protocol, escape(refused.message)
    if protocol == "json":
        body = {"__type": refused.code, "message": refused.message, **refused.more}
        return json.dumps(body, default=_json).encode()
    error = f"<Error><Code>{refused.code}</Code><Message>{message}</Message></Error>"
    if protocol == "ec2":
        return f"<R><Errors>{error}</Errors><RequestID>r</RequestID></R>".encode()
    return f"<ErrorResponse>{error}<RequestId>r</RequestId></ErrorResponse>".encode()


def _json(value: object) -> object:
    if isinstance(value, datetime):
        return value.timestamp()
    raise TypeError(f"{type(value).__name__} is in no answer of AWS")


def _members(shape: Any, value: Mapping[str, Any]) -> Iterator[str]:
    """The members of a structure as XML; what has none is left out."""
    for key, member in shape.members.items():
        if value.get(key) is not None:
            yield from _xml(member.serialization.get("name", key), member, value[key])


def _xml(name: str, shape: Any, value: Any) -> Iterator[str]:
    if shape.type_name == "list":
        own = shape.member.serialization.get("name", "member")
        if shape.serialization.get("flattened"):
            for each in value:
                yield from _xml(name, shape.member, each)
            return
        inside = "".join(part for each in value for part in _xml(own, shape.member, each))
    elif shape.type_name == "structure":
        inside = "".join(_members(shape, value))
    elif shape.type_name == "boolean":
        inside = str(bool(value)).lower()
    elif isinstance(value, datetime):
        inside = value.isoformat().replace("+00:00", "Z")
    else:
        inside = escape(str(getattr(value, "value", value)))
    yield f"<{name}>{inside}</{name}>"
