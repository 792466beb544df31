"""The Runtime API serves its function's process and no web page, which may find the port."""

from __future__ import annotations

import http.client
from collections.abc import Iterator

import pytest

from headroom.localaws.functions.runtime_api import Answer, Invocation, RuntimeApi

NEXT = "/2018-06-01/runtime/invocation/next"
PAGES = [
    {"Origin": "https://example.com"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Mode": "no-cors"},
    {"Host": "attacker.example"},
]


@pytest.fixture
def runtime() -> Iterator[RuntimeApi]:
    api = RuntimeApi("arn:aws:lambda:us-east-1:123456789012:function:f")
    yield api
    api.close()


def send(api: RuntimeApi, method: str, path: str, headers: dict[str, str], body: str = "") -> int:
    connection = http.client.HTTPConnection(api.address, timeout=30)
    connection.request(method, path, body=body, headers=headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


@pytest.mark.parametrize("headers", PAGES, ids=str)
def test_a_page_takes_no_invocation_answers_none_and_fails_no_function(
    runtime: RuntimeApi, headers: dict[str, str]
) -> None:
    waiting = runtime.ask(Invocation(request_id="r1", payload=b"{}", deadline_ms=0))
    assert send(runtime, "GET", NEXT, headers) == 403
    assert send(runtime, "POST", "/2018-06-01/runtime/invocation/r1/response", headers, "1") == 403
    assert send(runtime, "POST", "/2018-06-01/runtime/init/error", headers, "{}") == 403
    assert runtime.init_error is None
    assert waiting.empty()
    assert send(runtime, "GET", NEXT, {}) == 200
    assert send(runtime, "POST", "/2018-06-01/runtime/invocation/r1/response", {}, "2") == 202
    assert waiting.get(timeout=5) == Answer(True, b"2")
