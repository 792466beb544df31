"""A denial as each service's protocol writes it."""

from __future__ import annotations

import json
from xml.sax.saxutils import escape

from headroom.localaws.iam.gate import AccessDenied

_XML_CODES = {"ec2": "UnauthorizedOperation", "sns": "AuthorizationError"}
_QUERY_CODES = ("cloudwatch", "sqs")
"""Services with JSON that still name errors as their older protocol did."""
Answer = tuple[str, list[tuple[str, str]], bytes]
"""Status, headers, body."""


def denial(error: AccessDenied, content_type: str) -> Answer:
    """AWS's answer to a request that IAM denies."""
    text, service = str(error), error.service
    if service == "ec2":
        text = f"You are not authorized to perform this operation. {text}"
    if service != "lambda" and "json" not in content_type:
        code = _XML_CODES.get(service, "AccessDenied")
        if service == "sns" and error.action.startswith("kms:"):
            code = "KMSAccessDenied"
        detail = f"<Error><Type>Sender</Type><Code>{code}</Code><Message>{escape(text)}</Message></Error>"
        whole = (
            f"<Response><Errors>{detail}</Errors></Response>"
            if service == "ec2"
            else f"<ErrorResponse>{detail}</ErrorResponse>"
        )
        return "403 Forbidden", [("Content-Type", "text/xml")], whole.encode()
    code = "AccessDenied" if service in _QUERY_CODES else "AccessDeniedException"
    status = "403 Forbidden" if service == "lambda" else "400 Bad Request"
    body = json.dumps({"__type": code, "message": text, "Message": text}).encode()
    headers = [("Content-Type", "application/x-amz-json-1.0"), ("X-Amzn-ErrorType", code)]
    return status, headers, body
