"""Who may use the endpoint: programs of its owner, which know its access key; never a web page.

A browser sends a page's requests to 127.0.0.1 as readily as anywhere else, and a stack created here runs
its functions as the user. A page cannot read the key, forge a Host, or leave out what browsers add.
"""

from __future__ import annotations

import re
import secrets
from urllib.parse import parse_qs
from wsgiref.types import WSGIEnvironment

from moto.sts.models import sts_backends

KEY_HEADER = "X-Headroom-Key"
"""Carries the access key to the control API, whose requests are not signed."""
_BROWSER_HEADERS = ("HTTP_ORIGIN", "HTTP_SEC_FETCH_SITE", "HTTP_SEC_FETCH_MODE")
_CREDENTIAL = re.compile(r"Credential=([^/,\s]+)/")


def refusal(environ: WSGIEnvironment, *, access_key: str, port: int) -> str | None:
    """Why a request is refused, in a sentence; None where it is one of the owner's programs."""
    host = environ.get("HTTP_HOST", "")
    if host not in (f"127.0.0.1:{port}", f"localhost:{port}"):
        return f"This endpoint answers for 127.0.0.1:{port} only, not for {host!r}."
    if any(name in environ for name in _BROWSER_HEADERS):
        return "This endpoint does not answer web pages."
    key = _key_of(environ)
    if not key:
        return "The request carries no access key; `headroom local up` prints the endpoint's."
    if not secrets.compare_digest(key.encode(), access_key.encode()) and not _issued(key):
        return "The access key is not this endpoint's; `headroom local up` prints the right one."
    return None


def _key_of(environ: WSGIEnvironment) -> str:
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
    return any(
        role.access_key_id == key
        for partitions in sts_backends.values()
        for backend in partitions.values()
        for role in backend.assumed_roles
    )
