"""All functions of the endpoint: warm processes, asynchronous calls with retries, AWS/Lambda metrics."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from headroom.localaws.events import send_to_target
from headroom.localaws.functions.embedded_metrics import metrics_in
from headroom.localaws.functions.forks import ForkServer, digest_of
from headroom.localaws.functions.process import Deployment, FunctionProcess
from headroom.localaws.functions.runtime_api import Answer
from headroom.localaws.iam import credentials_of, service_may
from headroom.localaws.metrics import MetricKey
from headroom.localaws.state import AccountRegion, Cloud

ASYNC_RETRY_AFTER = (timedelta(minutes=1), timedelta(minutes=2))
"""How long Lambda waits before it tries an asynchronous call again, and again."""
CODE_FOLDER = "_LOCAL_AWS_CODE_FOLDER"
"""Variable that names where code is unpacked; endpoints that share a folder unpack it once."""


@dataclass(order=True, slots=True)
class Pending:
    """An asynchronous call and when it is due; `attempt` counts from 0."""

    due_at: datetime
    order: int
    arn: str = field(compare=False)
    payload: bytes = field(compare=False)
    attempt: int = field(compare=False, default=0)


class FunctionFleet:
    """Runs the functions that moto only stores."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._root = cloud.options.state_dir
        self._code = Path(os.environ.get(CODE_FOLDER) or self._root / "functions")
        self._forks: dict[str, ForkServer] = {}
        self._processes: dict[str, list[FunctionProcess]] = {}
        self._idle: dict[str, list[FunctionProcess]] = {}
        self._room: dict[str, threading.Semaphore] = {}
        self._lock = threading.RLock()
        self._pending: list[Pending] = []
        self._order = 0

    def knows(self, arn: str) -> bool:
        """Whether such a function is deployed."""
        return self.model(arn) is not None

    def invoke(self, arn: str, payload: bytes) -> Answer:
        """Call a function and wait, also until fewer calls of it are running than may."""
        model = self.model(arn)
        if model is None:
            raise LookupError(f"Function not found: {arn}")
        deployment = deployment_of(model)
        with self._lock:
            room = self._room.setdefault(
                deployment.arn, threading.Semaphore(self._cloud.options.workers)
            )
        with room:
            process = self._taken(deployment)
            self._write_as_the_function(deployment)
            began = time.perf_counter()
            answer = process.invoke(payload, self._cloud.ids.uuid("invocation"))
            elapsed_ms = (time.perf_counter() - began) * 1000
            self._give_back(process)
        self._count(deployment, answer, elapsed_ms)
        return answer

    def invoke_later(self, arn: str, payload: bytes) -> None:
        """Queue an asynchronous call; `run_due` makes it."""
        self._enqueue(arn, payload, self._cloud.clock.now(), 0)

    def run_due(self) -> int:
        """Make the asynchronous calls that are due now; returns how many were made."""
        made = 0
        while True:
            now = self._cloud.clock.now()
            with self._lock:
                due = min((p for p in self._pending if p.due_at <= now), default=None)
                if due is None:
                    return made
                self._pending.remove(due)
            self._attempt(due, now)
            made += 1

    def processes(self) -> dict[str, list[int]]:
        """The ids of the processes of each function, by its name."""
        with self._lock:
            return {
                every[0].deployment.name: [process.pid for process in every]
                for every in self._processes.values()
                if every
            }

    def close(self) -> None:
        """Kill every function process."""
        with self._lock:
            for arn in list(self._processes):
                self._drop(arn)
            while self._forks:
                self._forks.popitem()[1].close()

    def _attempt(self, call: Pending, now: datetime) -> None:
        model = self.model(call.arn)
        if model is None:
            return
        answer = self.invoke(call.arn, call.payload)
        if answer.ok:
            return
        configured = model.event_invoke_config[-1].config if model.event_invoke_config else {}
        most = int(configured.get("MaximumRetryAttempts", len(ASYNC_RETRY_AFTER)))
        if call.attempt < most:
            wait = ASYNC_RETRY_AFTER[min(call.attempt, len(ASYNC_RETRY_AFTER) - 1)]
            self._enqueue(call.arn, call.payload, now + wait, call.attempt + 1)
            return
        self._give_up(model, configured, call, answer, now)

    def _give_up(
        self, model: Any, configured: dict[str, Any], call: Pending, answer: Answer, now: datetime
    ) -> None:
        account_region = AccountRegion(model.account_id, model.region)
        dead = (getattr(model, "dead_letter_config", None) or {}).get("TargetArn")
        if dead:
            send_to_target(self._cloud, account_region, dead, call.payload.decode(), {})
        destination = ((configured.get("DestinationConfig") or {}).get("OnFailure") or {}).get(
            "Destination"
        )
        if destination and service_may(
            self._cloud, model.role, "lambda", "sqs:SendMessage", destination
        ):
            body = {
                "version": "1.0",
                "timestamp": now.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
                "requestContext": {
                    "requestId": self._cloud.ids.uuid("invocation"),
                    "functionArn": f"{model.function_arn}:$LATEST",
                    "condition": "RetriesExhausted",
                    "approximateInvokeCount": call.attempt + 1,
                },
                "requestPayload": json.loads(call.payload or b"null"),
                "responseContext": {"statusCode": 200, "functionError": "Unhandled"},
                "responsePayload": json.loads(answer.body or b"null"),
            }
            send_to_target(self._cloud, account_region, destination, json.dumps(body), {})

    def _enqueue(self, arn: str, payload: bytes, due_at: datetime, attempt: int) -> None:
        with self._lock:
            self._order += 1
            self._pending.append(Pending(due_at, self._order, arn, payload, attempt))

    def _taken(self, deployment: Deployment) -> FunctionProcess:
        """A warm process that nobody uses, the one used last, or a new one."""
        arn = deployment.arn
        with self._lock:
            every, idle = self._processes.setdefault(arn, []), self._idle.setdefault(arn, [])
            if every and every[0].deployment.digest != deployment.digest:
                self._drop(arn)
                every, idle = self._processes.setdefault(arn, []), self._idle.setdefault(arn, [])
            if not idle:
                fresh = FunctionProcess(
                    deployment,
                    forks=self._forks_of(deployment.code),
                    log=self._log(deployment.name),
                    clock_file=self._root / "clock",
                    environment=self._shared_environment(deployment),
                    on_line=self._line_reader(deployment),
                )
                every.append(fresh)
                idle.append(fresh)
            return idle.pop()

    def _give_back(self, process: FunctionProcess) -> None:
        arn = process.deployment.arn
        with self._lock:
            if process not in self._processes.get(arn, ()):  # its code was replaced meanwhile
                return
            if process.alive:
                self._idle[arn].append(process)
                return
            self._processes[arn].remove(process)
        process.close()

    def _forks_of(self, code: bytes) -> ForkServer:
        digest = digest_of(code)
        if digest not in self._forks or not self._forks[digest].alive:
            self._forks[digest] = ForkServer(code, self._code / digest)
        return self._forks[digest]

    def _write_as_the_function(self, deployment: Deployment) -> None:
        """Check what Lambda does with a function's role at a call: its log and its traces."""
        place, group = AccountRegion.of_arn(deployment.arn), deployment.log_group
        stream = f"arn:aws:logs:{place.region}:{place.account}:log-group:{group}:log-stream:"
        needs = [("logs:CreateLogStream", stream), ("logs:PutLogEvents", f"{stream}local")]
        if deployment.traced:
            needs += [("xray:PutTraceSegments", "*"), ("xray:PutTelemetryRecords", "*")]
        for action, resource in needs:
            service_may(self._cloud, deployment.role, deployment.name, action, resource)

    def _drop(self, arn: str) -> None:
        self._idle.pop(arn, None)
        for process in self._processes.pop(arn, ()):
            process.close()

    def _log(self, name: str) -> Path:
        logs = self._root / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        return logs / f"{name}.log"

    def _shared_environment(self, deployment: Deployment) -> dict[str, str]:
        region = AccountRegion.of_arn(deployment.arn).region
        return {
            "AWS_REGION": region,
            "AWS_DEFAULT_REGION": region,
            **credentials_of(deployment.role, deployment.name),
            "AWS_ENDPOINT_URL": self._cloud.url,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def _line_reader(self, deployment: Deployment) -> Callable[[bytes], None]:
        store = self._cloud.store(AccountRegion.of_arn(deployment.arn))

        def read(line: bytes) -> None:
            for key, value, unit in metrics_in(line):
                store.put_value(key, self._cloud.clock.now(), value, unit=unit)

        return read

    def _count(self, deployment: Deployment, answer: Answer, elapsed_ms: float) -> None:
        store = self._cloud.store(AccountRegion.of_arn(deployment.arn))
        now = self._cloud.clock.now()
        for name, value, unit in (
            ("Invocations", 1.0, "Count"),
            ("Errors", float(not answer.ok), "Count"),
            ("Throttles", 0.0, "Count"),
            ("Duration", elapsed_ms, "Milliseconds"),
        ):
            key = MetricKey.of("AWS/Lambda", name, [("FunctionName", deployment.name)])
            store.put_value(key, now, value, unit=unit)

    def model(self, arn: str) -> Any:
        """moto's function of this ARN, None if there is none."""
        from moto.awslambda.models import lambda_backends

        backend = AccountRegion.of_arn(arn).backend(lambda_backends)
        return backend.get_function_by_arn(":".join(arn.split(":")[:7]))


def fleet_of(cloud: Cloud) -> FunctionFleet:
    """The functions of the endpoint, of all accounts and Regions."""
    return cloud.part(FunctionFleet, AccountRegion(), lambda: FunctionFleet(cloud))


def deployment_of(model: Any) -> Deployment:
    """One of moto's functions, as a process needs it."""
    environment = {str(k): str(v) for k, v in (model.environment_vars or {}).items()}
    logging_config = getattr(model, "logging_config", None) or {}
    about = json.dumps(
        [model.code_sha_256, model.handler, environment, model.timeout, logging_config, model.role],
        sort_keys=True,
    )
    return Deployment(
        arn=model.function_arn,
        role=str(model.role),
        name=model.function_name,
        handler=model.handler,
        code=bytes(model.code_bytes),
        environment=environment,
        timeout_s=int(model.timeout),
        memory_mb=int(model.memory_size),
        json_logs=logging_config.get("LogFormat") == "JSON",
        log_group=logging_config.get("LogGroup") or f"/aws/lambda/{model.function_name}",
        traced=(model.tracing_config or {}).get("Mode") == "Active",
        digest=sha256(about.encode()).hexdigest(),
    )
