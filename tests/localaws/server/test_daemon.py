"""Starting, finding and stopping an endpoint."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headroom.localaws.daemon import EndpointFailed, LocalAws, down, status, up
from headroom.localaws.state import Clock, ClockMode, ClockRefused
from tests.localaws.conftest import Program


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_an_endpoint_goes_up_once_and_down_with_everything_it_started(tmp_path: Path) -> None:
    endpoint = up(state_dir=tmp_path, clock="lockstep")
    try:
        assert endpoint.url.startswith("http://127.0.0.1:")
        assert up(state_dir=tmp_path) == endpoint, "a second `up` finds the first"
        assert status(tmp_path) == endpoint
        with pytest.raises(EndpointFailed, match="follows system time"):
            endpoint.control("tick", {"minutes": 1})
    finally:
        assert down(tmp_path) is True
    assert not alive(endpoint.pid)
    assert status(tmp_path) is None
    assert down(tmp_path) is False


def test_a_stale_ready_file_is_not_taken_for_an_endpoint(tmp_path: Path) -> None:
    ready = {"url": "http://127.0.0.1:9", "pid": os.getpid(), "access_key": "AKIA"}
    (tmp_path / "endpoint.json").write_text(json.dumps(ready))
    assert status(tmp_path) is None
    assert down(tmp_path) is False


def test_a_port_in_use_is_a_clear_error(shared_program: Program, tmp_path: Path) -> None:
    port = int(shared_program.aws.url.rsplit(":", 1)[1])
    with pytest.raises(EndpointFailed, match="ended with code"):
        up(state_dir=tmp_path, port=port)


def test_an_endpoint_does_not_outlive_the_program_that_holds_it(tmp_path: Path) -> None:
    source = (
        "import os, sys; from pathlib import Path; from headroom.localaws.daemon import LocalAws\n"
        "aws = LocalAws(clock='lockstep', state_dir=Path(sys.argv[1])).__enter__()\n"
        "print(aws.endpoint.pid, flush=True); os._exit(1)\n"
    )
    command = [sys.executable, "-c", source, str(tmp_path)]
    pid = int(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    until = time.monotonic() + 120
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(pid)


def test_with_a_real_clock_queues_are_served_by_themselves() -> None:
    with LocalAws() as aws:
        program = Program(aws)
        url, arn = program.queue("q")
        out, _ = program.queue("out")
        program.function(
            "relay",
            "import boto3\ndef handle(event, context):\n"
            f"    boto3.client('sqs').send_message(QueueUrl={out!r}, MessageBody='done')\n",
        )
        program.client("lambda").create_event_source_mapping(
            EventSourceArn=arn, FunctionName="relay"
        )
        program.client("sqs").send_message(QueueUrl=url, MessageBody="x")
        for _ in range(4):
            answer = program.client("sqs").receive_message(QueueUrl=out, WaitTimeSeconds=15)
            if "Messages" in answer:
                break
        assert [message["Body"] for message in answer["Messages"]] == ["done"]
        with pytest.raises(EndpointFailed, match="clock is real"):
            aws.control("clock", {"set": "2026-01-05T00:00:00Z"})


def test_a_long_poll_ends_by_real_time_while_simulated_time_stands_still(program: Program) -> None:
    url, _ = program.queue("empty")
    began = time.monotonic()
    answer = program.client("sqs").receive_message(QueueUrl=url, WaitTimeSeconds=1)
    assert "Messages" not in answer
    assert 0.9 < time.monotonic() - began < 10


def test_a_real_clock_cannot_be_set() -> None:
    with pytest.raises(ClockRefused):
        Clock(ClockMode.REAL).set(Clock().now())
