"""A request with the caller's signature for STS, which alone says whose signature it is.

The caller signs the STS request GetCallerIdentity with a hash of the request in one of its signed
headers, and sends the signature, never a key. The function puts the hash of what it received into that
header and sends it to its own Region's STS: the answer names who holds the credentials, and there is
none where anything was changed. Source: IAM User Guide, "Signing AWS API requests" (2026-11).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

HEADER = "X-Headroom-Request"
"""Carries the hash of account, Region and request; a signature without it proves nothing here."""
BODY = "Action=GetCallerIdentity&Version=2011-06-15"
FORM = "application/x-www-form-urlencoded; charset=utf-8"
SIGNED = "content-type;host;x-amz-date;{token}x-headroom-request"
GOOD_FOR = timedelta(minutes=5)
"""How long before and after its signature a proof is taken."""
LONGEST_TOKEN = 8_192
"""Characters. STS sets no limit for session tokens; they have about 1,000 to 4,000."""

Send = Callable[[str, Mapping[str, str], str], tuple[int, str]]
"""POST a body to a URL with headers; the status and text of the answer."""


class NotProven(ValueError):
    """It is not known who sent a request; the message is one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A signature for STS. Usable for this one request, in this account and Region, for 5 minutes."""

    authorization: str
    date: str
    token: str = ""

    def __repr__(self) -> str:
        return "Proof()"  # the signature belongs in no log

    def as_object(self) -> dict[str, str]:
        """As it is sent."""
        return asdict(self)


def sts_url(partition: str, region: str) -> str:
    """STS of the Region; whoever proves and whoever checks must use the same URL."""
    return f"https://sts.{region}.amazonaws.com{'.cn' if partition == 'aws-cn' else ''}/"


def prove(request: str, credentials: Any, *, account_id: str, region: str, url: str) -> Proof:
    """The caller's proof over `request`, from frozen credentials; nothing is sent."""
    headers = {"Content-Type": FORM, HEADER: _digest(request, account_id, region)}
    signed = AWSRequest("POST", url, headers=headers, data=BODY)
    SigV4Auth(credentials, "sts", region).add_auth(signed)
    return Proof(
        authorization=signed.headers["Authorization"], date=signed.headers["X-Amz-Date"],
        token=credentials.token or "",
    )  # fmt: skip


def caller_of(
    request: str, proof: object, *, account_id: str, region: str, url: str, send: Send, now: datetime,
    hubs: Collection[str] = (),
) -> str:  # fmt: skip
    """ARN of who signed `request`, as STS says; raises NotProven.

    Callers are of the account itself or of one of `hubs`. `now` is real time, as that of a signature.
    """
    parsed = _proof(proof, region, now)
    headers = {
        "Content-Type": FORM, HEADER: _digest(request, account_id, region),
        "X-Amz-Date": parsed.date, "Authorization": parsed.authorization,
    }  # fmt: skip
    if parsed.token:
        headers["X-Amz-Security-Token"] = parsed.token
    status, answer = send(url, headers, BODY)
    if status != 200:
        code = re.search(r"<Code>(\w{1,64})</Code>", answer)
        why = f"{code[1]}, HTTP {status}" if code else f"HTTP {status}"
        raise NotProven(f"STS does not confirm who signed this request ({why}).")
    arn, account = (re.search(p, answer) for p in (r"<Arn>([^<]{1,2048})<", r"<Account>(\d{12})<"))
    if arn is None or account is None:
        raise NotProven("STS's answer names no caller.")
    if account[1] not in (account_id, *hubs):
        raise NotProven(
            f"The request is signed by {arn[1]}, which is not of account {account_id}: "
            "take on a role of that account."
        )
    return arn[1]


def _digest(request: str, account_id: str, region: str) -> str:
    return hashlib.sha256(f"{account_id}\n{region}\n{request}".encode()).hexdigest()


def _proof(given: object, region: str, now: datetime) -> Proof:
    """The proof in a request, only if it signs the header that binds it to the request."""
    names = ("authorization", "date", "token")
    if not isinstance(given, Mapping) or set(given) != set(names):
        raise NotProven("The request carries no proof of who sends it.")
    authorization, date, token = (given[name] for name in names)
    if not all(isinstance(one, str) for one in (authorization, date, token)):
        raise NotProven("The proof of who sends the request is no text.")
    signed = SIGNED.format(token="x-amz-security-token;" if token else "")
    expected = (
        rf"AWS4-HMAC-SHA256 Credential=\w{{3,128}}/\d{{8}}/{re.escape(region)}/sts/aws4_request, "
        rf"SignedHeaders={signed}, Signature=[0-9a-f]{{64}}"
    )
    if not re.fullmatch(expected, authorization, re.ASCII):
        raise NotProven("The proof does not sign this request for STS in this Region.")
    try:
        if not re.fullmatch(r"\d{8}T\d{6}Z", date, re.ASCII):
            raise ValueError(date)
        signed_at = datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise NotProven("The proof has no date.") from None
    # STS takes signatures of up to 15 minutes before and after its own time.
    if abs(now - signed_at) > GOOD_FOR:
        raise NotProven(
            "The proof was signed more than 5 minutes before or after now: send the request again, and "
            "check the clock of the machine."
        )
    if not re.fullmatch(rf"[\x21-\x7e]{{0,{LONGEST_TOKEN}}}", token):
        raise NotProven("The proof's session token is none.")
    return Proof(authorization=authorization, date=date, token=token)
