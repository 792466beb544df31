"""Web pages and strangers get nothing from the endpoint, whatever they send."""

from __future__ import annotations

import http.client
import stat
from urllib.parse import urlsplit

import pytest

from tests.localaws.conftest import Program

CREATE = (
    "Action=CreateStack&Version=2010-05-15&StackName=theirs&TemplateBody="
    "%7B%22Resources%22%3A%7B%22Q%22%3A%7B%22Type%22%3A%22AWS%3A%3ASQS%3A%3AQueue%22%7D%7D%7D"
)
FORM = "application/x-www-form-urlencoded"


def send(
    program: Program,
    headers: dict[str, str],
    *,
    path: str = "/",
    method: str = "POST",
    body: str = CREATE,
) -> http.client.HTTPResponse:
    place = urlsplit(program.aws.url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=30)
    connection.request(method, path, body=body, headers={"Content-Type": FORM, **headers})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer


def signed(
    program: Program, service: str = "cloudformation", key: str | None = None
) -> dict[str, str]:
    key = key or program.aws.endpoint.access_key
    scope = f"{key}/20260105/us-east-1/{service}/aws4_request"
    return {
        "Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"
    }


def stacks(program: Program) -> list[str]:
    listed = program.client("cloudformation").list_stacks()["StackSummaries"]
    return [stack["StackName"] for stack in listed]


def test_a_program_with_the_key_creates_a_stack(program: Program) -> None:
    assert send(program, signed(program)).status == 200
    assert stacks(program) == ["theirs"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://example.com"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:8080"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Mode": "no-cors"},
        {"Host": "attacker.example"},
        {"Host": "127.0.0.1"},
        {"Host": "cloudformation.us-east-1.amazonaws.com"},
    ],
    ids=str,
)
def test_what_a_page_sends_is_refused_even_with_the_key(
    program: Program, headers: dict[str, str]
) -> None:
    answer = send(program, {**signed(program), **headers})
    assert answer.status == 403
    assert not [
        name for name, _ in answer.getheaders() if name.lower().startswith("access-control")
    ]
    assert stacks(program) == []


@pytest.mark.parametrize("key", ["test", "AKIAIOSFODNN7EXAMPLE", ""])
def test_a_request_with_another_key_is_refused(program: Program, key: str) -> None:
    headers = signed(program, key=key) if key else {}
    assert send(program, headers).status == 403
    assert stacks(program) == []


def test_a_role_of_the_endpoint_may_ask_until_it_is_gone(program: Program) -> None:
    role = program.client("sts").assume_role(
        RoleArn="arn:aws:iam::123456789012:role/any", RoleSessionName="deploy"
    )["Credentials"]["AccessKeyId"]
    assert send(program, signed(program, key=role)).status == 200
    program.aws.control("reset", {})
    assert send(program, signed(program, key=role)).status == 403


@pytest.mark.parametrize("name", ["state", "clock", "reset", "tick"])
def test_the_control_api_wants_the_key_too(program: Program, name: str) -> None:
    volume = program.volume()
    for method in ("GET", "POST"):
        assert send(program, {}, path=f"/_headroom/{name}", method=method, body="{}").status == 403
        headers = {
            "X-Headroom-Key": program.aws.endpoint.access_key,
            "Origin": "https://example.com",
        }
        assert (
            send(program, headers, path=f"/_headroom/{name}", method=method, body="{}").status
            == 403
        )
    assert program.client("ec2").describe_volumes(VolumeIds=[volume])["Volumes"]


def test_a_preflight_is_refused(program: Program) -> None:
    asked = {
        "Origin": "https://example.com",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    answer = send(program, asked, method="OPTIONS", body="")
    assert answer.status == 403
    assert answer.getheader("Access-Control-Allow-Origin") is None


def test_only_the_owner_can_read_the_key(program: Program) -> None:
    file = program.aws.state_dir / "endpoint.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert program.aws.endpoint.access_key in file.read_text()
