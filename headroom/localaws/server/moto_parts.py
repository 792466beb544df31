"""Replaces parts of moto: response classes, backends, the clock, the source of ids.

All replacements are process-wide; `install` lists them.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from types import SimpleNamespace
from typing import Any

import moto.cloudformation.responses as cloudformation_responses
import moto.cloudformation.urls
import moto.cloudwatch.urls
import moto.ec2.urls
import moto.events.urls
import moto.firehose.urls
import moto.rds.urls
from moto.awslambda import models as lambda_models
from moto.awslambda import urls as lambda_urls
from moto.core.responses import ActionResult
from moto.dynamodb.models import dynamodb_backends
from moto.events import models as events_models
from moto.iam import models as iam_models
from moto.iam import urls as iam_urls
from moto.scheduler.models import scheduler_backends
from moto.sqs import models as sqs_models
from moto.sqs import responses as sqs_responses
from moto.sqs import urls as sqs_urls

from headroom.localaws.cloudformation import (
    CloudFormationApi,
    LocalCloudFormation,
    parse_quickly,
    register_all,
)
from headroom.localaws.cloudwatch import CloudWatchApi
from headroom.localaws.ebs import Ec2Api
from headroom.localaws.events import (
    EventsApi,
    FirehoseApi,
    LocalEvents,
    LocalScheduler,
    send_if_matching,
)
from headroom.localaws.functions import fleet_of
from headroom.localaws.iam import lets_account
from headroom.localaws.rds import RdsApi
from headroom.localaws.server import quick_answers
from headroom.localaws.server.transactions import LocalDynamoDb
from headroom.localaws.state import AccountRegion, AwsError, Cloud, current_cloud

_CLOCKED = {
    "moto.ec2.models.elastic_block_store": ("utcnow",),
    "moto.ec2.models.instances": ("utcnow",),
    "moto.sqs.models": ("unix_time", "unix_time_millis"),
    "moto.events.models": ("unix_time", "unix_time_millis"),
    "moto.sns.models": ("unix_time", "iso_8601_datetime_with_milliseconds"),
    "moto.scheduler.models": ("unix_time", "utcnow"),
}
"""Modules of moto that stamp things with the endpoint's clock. Never sts, iam or request signing."""
_EC2_IDS = {
    "moto.ec2.models.elastic_block_store": {
        "random_volume_id": "vol",
        "random_snapshot_id": "snap",
    },
    "moto.ec2.models.instances": {"random_instance_id": "i"},
}


class LocalSqs(sqs_models.SQSBackend):  # type: ignore[misc]
    """Long polls end by real time, whatever the endpoint's clock does."""

    _url_module = sqs_urls

    def receive_message(
        self,
        queue_name: str,
        count: int,
        wait_seconds_timeout: int,
        visibility_timeout: int,
        message_attribute_names: list[str] | None = None,
    ) -> list[Any]:
        """Messages visible now, waiting in real time for the first."""
        until = time.monotonic() + (wait_seconds_timeout or 0)
        while True:
            found: list[Any] = super().receive_message(
                queue_name, count, 0, visibility_timeout, message_attribute_names
            )
            left = until - time.monotonic()
            if found or left <= 0:
                return found
            time.sleep(min(0.05, left))

    def change_message_visibility(
        self, queue_name: str, receipt_handle: str, visibility_timeout: int
    ) -> None:
        """Hide a message from now on; moto refuses it 12 hours after sending, AWS after receiving."""
        queue = self.get_queue(queue_name)
        held = [m for m in queue._messages if m.had_receipt_handle(receipt_handle)]
        if not held:
            raise sqs_models.ReceiptHandleIsInvalid
        held[0].change_visibility(int(visibility_timeout))
        if held[0].visible:
            queue.pending_messages.discard(held[0])

    def move_messages(self, source: str, destination: str | None) -> None:
        """Send all messages of a dead-letter queue to `destination`, else to the queue they failed in."""
        dead = self.get_queue(source)
        sources = self.list_dead_letter_source_queues(source)
        if not sources:
            raise AwsError(
                "InvalidParameterValue", "Source queue must be configured as a Dead Letter Queue."
            )
        for message in list(dead._messages):
            self.send_message(destination or sources[0].name, message.body)
        dead._messages = []
        dead.pending_messages.clear()


def _start_message_move_task(response: Any) -> ActionResult:
    """StartMessageMoveTask, done when it answers."""
    source, destination = response._get_param("SourceArn"), response._get_param("DestinationArn")
    response.sqs_backend.move_messages(
        source.rsplit(":", 1)[-1], destination and destination.rsplit(":", 1)[-1]
    )
    return ActionResult({"TaskHandle": source})


@cache
def _aws_policies() -> list[Any]:
    """AWS's 1,600 managed policies: a tenth of a second to read."""
    nobody = SimpleNamespace(account_id="", region_name="aws")
    return list(iam_models.IAMBackend._init_aws_policies(nobody))


def _in_account(policy: Any, account_id: str) -> Any:
    """A managed policy of AWS as one account sees it: it counts its own attachments."""
    own = object.__new__(type(policy))
    own.__dict__.update(
        policy.__dict__, account_id=account_id, tags={}, versions=list(policy.versions)
    )
    return own


class LocalIam(iam_models.IAMBackend):  # type: ignore[misc]
    """AWS's managed policies are there for the standard partition only, and read once."""

    _url_module = iam_urls

    def _init_aws_policies(self) -> list[Any]:
        if self.region_name != "aws":
            return []
        return [_in_account(policy, self.account_id) for policy in _aws_policies()]


class LocalLambda(lambda_models.LambdaBackend):  # type: ignore[misc]
    """Functions run under AWS's runtime client; queues are polled, never pushed from SendMessage."""

    _url_module = lambda_urls

    def create_event_source_mapping(self, spec: dict[str, Any]) -> Any:
        """A mapping that only this endpoint's poller serves; one for each queue and function."""
        self._refuse_second(str(spec.get("EventSourceArn")), str(spec.get("FunctionName")))
        mapping = super().create_event_source_mapping(spec)
        for account_backends in sqs_models.sqs_backends.values():
            for backend in account_backends.values():
                for queue in backend.queues.values():
                    queue.lambda_event_source_mappings.clear()
        return mapping

    def _refuse_second(self, source: str, function: str) -> None:
        found = self._lambdas.get_function_by_name_or_arn_with_qualifier(function)
        for mapping in self._event_source_mappings.values():
            if (mapping.event_source_arn, mapping.function_arn) == (source, found.function_arn):
                raise AwsError(
                    "ResourceConflictException",
                    f'An event source mapping with SQS arn (" {source} ") and function '
                    f'(" {found.function_name} ") already exists. Please update or delete the '
                    f"existing mapping with UUID {mapping.uuid}",
                )

    def delete_event_source_mapping(self, uuid: str) -> Any:
        """The mapping goes at once."""
        return self._event_source_mappings.pop(uuid, None)

    def invoke(
        self,
        function_name: str,
        qualifier: str | None,
        body: Any,
        headers: Any,
        response_headers: Any,
    ) -> bytes | None:
        """RequestResponse waits for the answer, Event returns at once and is retried by Lambda."""
        model = self._invoked(function_name, qualifier)
        fleet = fleet_of(current_cloud())
        payload = body.encode() if isinstance(body, str) else bytes(body or b"")
        kind = headers.get("X-Amz-Invocation-Type", "RequestResponse")
        if kind == "DryRun":
            return b""
        if kind == "Event":
            fleet.invoke_later(model.function_arn, payload or b"{}")
            return b""
        answer = fleet.invoke(model.function_arn, payload or b"{}")
        if not answer.ok:
            response_headers["x-amz-function-error"] = "Unhandled"
        return answer.body

    def _invoked(self, name: str, qualifier: str | None) -> Any:
        """The function; one of another account only if its policy lets this account in."""
        if not name.startswith("arn:") or name.split(":")[4] == self.account_id:
            return self.get_function(name, qualifier)
        there = AccountRegion.of_arn(name).backend(lambda_models.lambda_backends)
        model = there.get_function(name, qualifier)
        if not lets_account(
            model.policy.statements, self.account_id, "lambda:InvokeFunction", model.function_arn
        ):
            raise AwsError(
                "AccessDeniedException",
                f"Account {self.account_id} is not authorized to perform: lambda:InvokeFunction on "
                f"resource: {name} because no resource-based policy allows the action",
            )
        return model


def install(cloud: Cloud) -> None:
    """Replace every part; must run before the first request of the process."""
    moto.cloudwatch.urls.url_paths["{0}/$"] = CloudWatchApi.dispatch
    moto.cloudwatch.urls.url_paths["{0}/service/.*"] = CloudWatchApi.dispatch
    moto.ec2.urls.url_paths["{0}/"] = Ec2Api.dispatch
    moto.events.urls.url_paths["{0}/"] = EventsApi.dispatch
    moto.firehose.urls.url_paths["{0}/$"] = FirehoseApi.dispatch
    moto.rds.urls.url_paths["{0}/$"] = RdsApi.dispatch
    moto.cloudformation.urls.url_paths["{0}/$"] = CloudFormationApi.dispatch
    sqs_models.sqs_backends.backend = LocalSqs
    sqs_responses.SQSResponse.start_message_move_task = _start_message_move_task
    iam_models.iam_backends.backend = LocalIam
    lambda_models.lambda_backends.backend = LocalLambda
    scheduler_backends.backend = LocalScheduler
    dynamodb_backends.backend = LocalDynamoDb
    events_models.events_backends.backend = LocalEvents
    cloudformation_responses.cloudformation_backends.backend = LocalCloudFormation
    events_models.Rule.send_to_targets = _send_to_targets
    quick_answers.install()
    parse_quickly()
    sqs_models.Message.visible = property(_visible)
    _keep_time(cloud)
    _name_things(cloud)
    register_all()


def _send_to_targets(rule: Any, original_event: dict[str, Any], _transform: bool = True) -> None:
    """Like moto's, but events have their account, inputs are honoured, and a target may be missing."""
    event = {k: v for k, v in original_event.items() if k != "ingestion-time"}
    stamp = str(event["time"])
    if stamp.replace(".", "").isdigit():
        event["time"] = datetime.fromtimestamp(float(stamp), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if rule.state.startswith("ENABLED") and rule.event_pattern.get_pattern():
        send_if_matching(
            current_cloud(), AccountRegion(rule.account_id, rule.region_name), rule, event
        )


def _visible(message: Any) -> bool:
    """From the very instant on: hidden for 60 s, a message is there after a tick of a minute."""
    return bool(current_cloud().clock.now().timestamp() * 1000 >= message.visible_at)


def _keep_time(cloud: Cloud) -> None:
    def utcnow() -> datetime:
        return cloud.clock.now().replace(tzinfo=None)

    def unix_time(at: datetime | None = None) -> float:
        return (at.replace(tzinfo=UTC) if at else cloud.clock.now()).timestamp()

    def unix_time_millis(at: datetime | None = None) -> float:
        return unix_time(at) * 1000

    def iso_8601_datetime_with_milliseconds(at: datetime | None = None) -> str:
        return (at or utcnow()).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"

    functions: dict[str, Callable[..., object]] = {
        "utcnow": utcnow,
        "unix_time": unix_time,
        "unix_time_millis": unix_time_millis,
        "iso_8601_datetime_with_milliseconds": iso_8601_datetime_with_milliseconds,
    }
    for module_name, names in _CLOCKED.items():
        module = importlib.import_module(module_name)
        for name in names:
            if not hasattr(module, name):
                raise RuntimeError(f"{module_name}.{name} is gone; this endpoint needs moto 5.2.")
            setattr(module, name, functions[name])


def _name_things(cloud: Cloud) -> None:
    for module_name, makers in _EC2_IDS.items():
        module = importlib.import_module(module_name)
        for name, prefix in makers.items():
            if not hasattr(module, name):
                raise RuntimeError(f"{module_name}.{name} is gone; this endpoint needs moto 5.2.")
            setattr(module, name, _maker(cloud, prefix))
    sqs_models.random = _Uuids(cloud, "message", sqs_models.random)
    events_models.random = _Uuids(cloud, "event", events_models.random)


def _maker(cloud: Cloud, prefix: str) -> Callable[[], str]:
    return lambda: f"{prefix}-{cloud.ids.hexadecimal(prefix)}"


class _Uuids:
    """moto's source of randomness with `uuid4` taken from one of the endpoint's streams."""

    def __init__(self, cloud: Cloud, kind: str, other: Any) -> None:
        self._cloud = cloud
        self._kind = kind
        self._other = other

    def uuid4(self) -> str:
        """An identifier; moto only makes text of it."""
        return self._cloud.ids.uuid(self._kind)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._other, name)
