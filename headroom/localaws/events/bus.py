"""Events of AWS's own services, and their delivery to the targets of rules."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from headroom.localaws.events.targets import (
    Undeliverable,
    invoke_function,
    publish_to_topic,
    put_on_stream,
    send_dead_letter,
    send_message,
    write_log,
)
from headroom.localaws.iam import lets_account, service_may
from headroom.localaws.state import AccountRegion, Cloud

_FEATURES = re.compile(r" m/\S+")
"""botocore lists the features in use in an order of chance."""
_DELIVERS = {
    "events": "events:PutEvents", "firehose": "firehose:PutRecord", "lambda": "lambda:InvokeFunction", "sns": "sns:Publish",
    "sqs": "sqs:SendMessage",
}  # fmt: skip
"""What a target's role must allow, by the target's service."""
_PLACEHOLDER = re.compile(r"<([^<>\s]+)>")


def event_of(
    cloud: Cloud,
    account_region: AccountRegion,
    *,
    source: str,
    detail_type: str,
    resources: Sequence[str],
    detail: Mapping[str, Any],
    at: datetime | None = None,
) -> dict[str, Any]:
    """One event of an AWS service, by default of now."""
    return {
        "version": "0",
        "id": cloud.ids.uuid("event"),
        "detail-type": detail_type,
        "source": source,
        "account": account_region.account,
        "time": (at or cloud.clock.now()).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": account_region.region,
        "resources": list(resources),
        "detail": dict(detail),
    }


def put_event(cloud: Cloud, account_region: AccountRegion, **fields: Any) -> None:
    """Put one event of an AWS service on the default bus; `fields` are those of `event_of`."""
    dispatch_event(cloud, account_region, event_of(cloud, account_region, **fields))


def dispatch_event(
    cloud: Cloud, account_region: AccountRegion, event: Mapping[str, Any], bus: str = "default"
) -> None:
    """Deliver an event by every enabled rule of the bus that matches it."""
    from moto.events.models import events_backends

    backend = account_region.backend(events_backends)
    for rule in list(backend.event_buses[bus].rules.values()):
        if rule.event_pattern.get_pattern() and rule.state.startswith("ENABLED"):
            send_if_matching(cloud, account_region, rule, event)


def send_if_matching(
    cloud: Cloud, account_region: AccountRegion, rule: Any, event: Mapping[str, Any]
) -> None:
    """Deliver to the rule's targets if its pattern matches."""
    if rule.event_pattern.matches_event(event):
        for target in rule.targets:
            deliver_event(cloud, account_region, target, event)


def deliver_event(
    cloud: Cloud, account_region: AccountRegion, target: Mapping[str, Any], event: Mapping[str, Any]
) -> None:
    """One event to one target."""
    deliver(cloud, account_region, target, target_input(target, event), service="events")


def deliver(
    cloud: Cloud,
    account_region: AccountRegion,
    target: Mapping[str, Any],
    body: str,
    *,
    service: str = "scheduler",
) -> None:
    """Send to a target; what cannot be delivered goes to the target's dead-letter queue.

    A target with a role needs the role's permission; Scheduler uses the role for the queue too.
    """
    arn, role = str(target["Arn"]), target.get("RoleArn")

    def may(action: str, resource: str) -> bool:
        return not role or service_may(cloud, str(role), service, action, resource)

    try:
        action = _DELIVERS.get(arn.split(":")[2])
        if action is not None and not may(action, arn):
            raise Undeliverable(f"{role} may not {action} on {arn}")
        send_to_target(cloud, account_region, arn, body, target)
    except Undeliverable as error:
        dead = (target.get("DeadLetterConfig") or {}).get("Arn")
        if dead and (service == "events" or may("sqs:SendMessage", dead)):
            send_dead_letter(dead, body, str(error))


def send_to_target(
    cloud: Cloud, account_region: AccountRegion, arn: str, body: str, target: Mapping[str, Any]
) -> None:
    """Send `body` to the target with this ARN; raises Undeliverable."""
    service = arn.split(":")[2]
    if service == "sqs":
        group = (target.get("SqsParameters") or {}).get("MessageGroupId")
        send_message(account_region, arn, body, group)
    elif service == "sns":
        publish_to_topic(arn, body, None)
    elif service == "lambda":
        invoke_function(cloud, arn, body)
    elif service == "logs":
        write_log(cloud, account_region, arn, body)
    elif service == "firehose":
        put_on_stream(cloud, arn, body)
    elif service == "events":
        _forward(cloud, arn, body)
    else:
        raise Undeliverable(f"Targets of service {service} are not known to this endpoint: {arn}")


def _forward(cloud: Cloud, arn: str, body: str) -> None:
    """To a bus that exists and lets the account of the event in; AWS retries neither case."""
    from moto.events.models import events_backends

    event, there, name = json.loads(body), AccountRegion.of_arn(arn), arn.rsplit("/", 1)[-1]
    bus = there.backend(events_backends).event_buses.get(name)
    if bus is None:
        raise Undeliverable(f"No event bus {arn}")
    account, policy = str(event["account"]), json.loads(bus.policy or '{"Statement": []}')
    if account != there.account and not lets_account(
        policy["Statement"], account, "events:PutEvents", arn
    ):
        raise Undeliverable(f"The policy of {arn} does not let account {account} in")
    dispatch_event(cloud, there, event, name)


def target_input(target: Mapping[str, Any], event: Mapping[str, Any]) -> str:
    """The input of a target: Input, InputPath, InputTransformer or the event itself."""
    if target.get("Input") is not None:
        return str(target["Input"])
    if target.get("InputPath") is not None:
        return json.dumps(json_path_value(event, target["InputPath"]))
    transformer = target.get("InputTransformer")
    if transformer:
        return apply_input_transformer(transformer, event)
    return json.dumps(event)


def json_path_value(event: Any, path: str) -> Any:
    """The value at a simple JSON path such as `$.detail.items[0]`; None when absent."""
    found = event
    for name, index in re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", path.removeprefix("$")):
        try:
            found = found[int(index)] if index else found[name]
        except (KeyError, IndexError, TypeError):
            return None
    return found


def apply_input_transformer(transformer: Mapping[str, Any], event: Mapping[str, Any]) -> str:
    """A template with `<name>` replaced; inside quotes text is put in bare, elsewhere as JSON."""
    template = str(transformer["InputTemplate"])
    values = {
        name: json_path_value(event, path)
        for name, path in (transformer.get("InputPathsMap") or {}).items()
    }
    values |= {
        "aws.events.event.json": dict(event),
        "aws.events.event.ingestion-time": event.get("time"),
    }
    is_json = template.lstrip()[:1] in ("{", '"', "[")

    def fill(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in values:
            return match.group()
        value = values[name]
        quoted = template[: match.start()].count('"') % 2 == 1
        if isinstance(value, str):
            return json.dumps(value)[1:-1] if quoted or not is_json else json.dumps(value)
        text = json.dumps(value)
        return json.dumps(text)[1:-1] if quoted else text

    return _PLACEHOLDER.sub(fill, template)


def put_api_call(
    cloud: Cloud,
    account_region: AccountRegion,
    service: str,
    operation: str,
    request: Any,
    request_id: str,
    *,
    response: Any,
    agent: str,
    error: tuple[str, str] | None,
    more: Mapping[str, Any] | None = None,
) -> None:
    """A call as CloudTrail reports it to EventBridge; `error` is a code and a message."""
    now = cloud.clock.now()
    detail: dict[str, Any] = {
        "eventVersion": "1.11",
        "userIdentity": {
            "type": "IAMUser",
            "accountId": account_region.account,
            "userName": "local",
        },
        "eventTime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "eventSource": f"{service}.amazonaws.com",
        "eventName": operation,
        "awsRegion": account_region.region,
        "sourceIPAddress": "127.0.0.1",
        "userAgent": _FEATURES.sub("", agent),
        "requestParameters": request,
        "responseElements": response,
        "requestID": request_id,
        "eventID": cloud.ids.uuid("trail"),
        "readOnly": False,
        "eventType": "AwsApiCall",
        "managementEvent": True,
        "recipientAccountId": account_region.account,
        **(more or {}),
    }
    if error is not None:
        detail |= {"errorCode": error[0], "errorMessage": error[1]}
    put_event(
        cloud, account_region, source=f"aws.{service}", detail_type="AWS API Call via CloudTrail",
        resources=[], detail=detail, at=now,
    )  # fmt: skip


def trail_shape(value: Any) -> Any:
    """A value as CloudTrail records it: names begin in lower case, instants are text."""
    if isinstance(value, Mapping):
        return {key[0].lower() + key[1:]: trail_shape(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [trail_shape(each) for each in value]
    return iso(value) if isinstance(value, datetime) else value


def iso(at: datetime) -> str:
    """An instant as AWS writes it in events, to the second."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
