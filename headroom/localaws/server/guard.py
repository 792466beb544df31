"""Who may use the endpoint: programs of its owner, which know its access key; never a web page.

A browser sends a page's requests to 127.0.0.1 as readily as anywhere else, and a stack created here runs
its functions as the user. A page cannot read the key, forge a Host, or leave out what browsers add.
"""

from __future__ import annotations

import io
import re
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs
from wsgiref.types import WSGIEnvironment

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.sts.models import sts_backends

from headroom.adapters.callers import HEADER

KEY_HEADER = "X-Headroom-Key"
"""Carries the access key to the control API, whose requests are not signed."""
_BROWSER_HEADERS = ("HTTP_ORIGIN", "HTTP_SEC_FETCH_SITE", "HTTP_SEC_FETCH_MODE")
_SIGNED = re.compile(
    r"Credential=([^/,\s]+)/\d{8}/([^/,\s]+)/sts/aws4_request,\s*"
    r"SignedHeaders=([a-z0-9;-]+),\s*Signature=([0-9a-f]{64})"
)
SECRET = "local"
"""The secret of the endpoint's own access key; not secret, for the key is what counts."""
STS_ACCEPTS = timedelta(minutes=5)
"""How far a signature's time may be from STS's. Source: IAM User Guide, "Signature Version 4" (2026-11)."""
_PROOF = "HTTP_" + HEADER.upper().replace("-", "_")
"""Only these signatures are verified: a caller's proof to somebody else who it is."""
_CREDENTIAL = re.compile(r"Credential=([^/,\s]+)/")


def refusal(environ: WSGIEnvironment, *, access_key: str, port: int) -> str | None:
    """Why a request is refused, in a sentence; None where it is one of the owner's programs."""
    host = environ.get("HTTP_HOST", "")
    if host not in (f"127.0.0.1:{port}", f"localhost:{port}"):
        return f"This endpoint answers for 127.0.0.1:{port} only, not for {host!r}."
    if any(name in environ for name in _BROWSER_HEADERS):
        return "This endpoint does not answer web pages."
    key = key_of(environ)
    if not key:
        return "The request carries no access key; `headroom local up` prints the endpoint's."
    if not secrets.compare_digest(key.encode(), access_key.encode()) and not _issued(key):
        return "The access key is not this endpoint's; `headroom local up` prints the right one."
    if _PROOF in environ and not _signed(environ):
        return "The signature is not that of this request, or older than five minutes."
    return None


def _signed(environ: WSGIEnvironment) -> bool:
    """Whether the signature of a request to STS holds, by real time."""
    found = _SIGNED.search(environ.get("HTTP_AUTHORIZATION", ""))
    if found is None:
        return False
    key, region, names, signature = found.groups()
    body = environ["wsgi.input"].read()
    environ["wsgi.input"] = io.BytesIO(body)
    url = f"http://{environ['HTTP_HOST']}{environ['PATH_INFO']}?{environ.get('QUERY_STRING', '')}"
    request = AWSRequest(environ["REQUEST_METHOD"], url.rstrip("?"), data=body)
    for name in names.split(";"):
        variable = name.upper().replace("-", "_")
        plain = variable in ("CONTENT_TYPE", "CONTENT_LENGTH")
        request.headers[name] = environ.get(variable if plain else f"HTTP_{variable}", "")
    request.context["timestamp"] = request.headers.get("X-Amz-Date") or "19700101T000000Z"
    signed_at = datetime.strptime(request.context["timestamp"], "%Y%m%dT%H%M%S%z")
    if abs(datetime.now(UTC) - signed_at) > STS_ACCEPTS:
        return False
    auth = SigV4Auth(Credentials(key, _secret_of(key)), "sts", region)
    text = auth.string_to_sign(request, auth.canonical_request(request))
    return secrets.compare_digest(auth.signature(text, request), signature)


def _secret_of(key: str) -> str:
    found = (role.secret_access_key for role in _roles() if role.access_key_id == key)
    return next(found, SECRET)


def key_of(environ: WSGIEnvironment) -> str:
    """The access key id of a signed, presigned or control request; empty if there is none."""
    own = environ.get("HTTP_" + KEY_HEADER.upper().replace("-", "_"))
    if own:
        return str(own)
    found = _CREDENTIAL.search(environ.get("HTTP_AUTHORIZATION", ""))
    if found:
        return str(found[1])
    query = parse_qs(environ.get("QUERY_STRING", ""))
    (presigned,) = query.get("X-Amz-Credential", [""])[:1]
    return str(presigned.partition("/")[0])


def _issued(key: str) -> bool:
    """Whether the endpoint's own STS gave out the key with an assumed role."""
    return any(role.access_key_id == key for role in _roles())


def _roles() -> Iterator[Any]:
    """What the endpoint's own STS gave out: credentials of assumed roles."""
    for partitions in sts_backends.values():
        for backend in partitions.values():
            yield from backend.assumed_roles
