"""IAM in front of the endpoint: requests of deployed roles are evaluated, and what was used is kept."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from wsgiref.types import WSGIEnvironment

from headroom.localaws.iam.conditions import PolicyNotUnderstood
from headroom.localaws.iam.cross_account import ORGANIZATION
from headroom.localaws.iam.evaluation import Ruling, evaluate
from headroom.localaws.iam.incoming import call_of
from headroom.localaws.iam.policies import Access, Grant, statements_of
from headroom.localaws.iam.reference import known_actions
from headroom.localaws.iam.requests import Call, UnknownRequest, accesses_of
from headroom.localaws.iam.resources import key_of_topic, tag_values
from headroom.localaws.iam.roles import (
    Session,
    deployed_roles,
    identity_of,
    policies_for,
    service_session,
    session_of,
)
from headroom.localaws.state import AccountRegion, Cloud

NEEDS_NOTHING = ("sts", "GetCallerIdentity")
"""Always allowed, whatever policies say. Source: STS API Reference (2026-11)."""
_TAGGED = ("ec2:Modify", "rds:Modify")
"""Actions whose condition keys hold the tags of the resource."""
MOST_DENIALS = 1_000


class AccessDenied(Exception):
    """A request that is not allowed; the message is AWS's."""

    def __init__(self, message: str, *, service: str, action: str) -> None:
        super().__init__(message)
        self.service = service
        self.action = action


@dataclass(slots=True)
class AccessLog:
    """What was evaluated since the endpoint began or was emptied."""

    evaluated: int = 0
    denials: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    """How often: session, action, resource, why."""
    used: set[tuple[str, Grant]] = field(default_factory=set)
    """Roles and those of their grants that allowed something."""
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Requests by ARN of a deployed role and operation (`ec2:DescribeVolumes`), repeated ones included."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, session: Session, access: Access, ruling: Ruling) -> None:
        """Keep the ruling on one access."""
        with self.lock:
            self.evaluated += 1
            if ruling.by is not None:
                self.used.add((session.role, ruling.by))
            elif len(self.denials) < MOST_DENIALS:
                self.denials[session.arn, access.action, access.resource, ruling.why] += 1


def authorize(cloud: Cloud, environ: WSGIEnvironment, access_key: str) -> None:
    """Raise AccessDenied unless the signer of the request may make it."""
    if not cloud.options.evaluate_iam or access_key == cloud.options.access_key:
        return
    session = session_of(access_key)
    if session is None:
        return
    try:
        call = call_of(environ, session.account)
        _count(cloud, session, call)
        accesses = [] if (call.service, call.operation) == NEEDS_NOTHING else _all_accesses(call)
    except (UnknownRequest, ValueError, KeyError, TypeError, AttributeError) as error:
        unknown = Access(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}", "*")
        ruling = Ruling(False, f"because the request is not understood: {error}")
        _log(cloud).add(session, unknown, ruling)
        raise AccessDenied(_message(session, unknown, ruling), service="", action="") from error
    for access in accesses:
        ruling = _rule(cloud, session, access, call.region)
        if not ruling.allowed:
            raise AccessDenied(
                _message(session, access, ruling), service=call.service, action=access.action
            )


def service_may(cloud: Cloud, role: str, service: str, action: str, resource: str) -> bool:
    """Whether a service that acts with a role, such as Lambda for a function, may do so."""
    if not cloud.options.evaluate_iam:
        return True
    session = service_session(role, service)
    if session is None:
        return True
    region = resource.split(":")[3] if resource != "*" else AccountRegion().region
    return _rule(cloud, session, Access(action, resource), region).allowed


def report(cloud: Cloud) -> dict[str, Any]:
    """What was evaluated and denied, and which grants of deployed roles allowed something."""
    log = _log(cloud)
    with log.lock:
        denials, used, evaluated = dict(log.denials), set(log.used), log.evaluated
        calls = dict(log.calls)
    names = ("session", "action", "resource", "why")
    return {
        "evaluates": cloud.options.evaluate_iam,
        "evaluated": evaluated,
        "calls": [
            {"role": role, "call": call, "times": times} for (role, call), times in calls.items()
        ],
        "denials": [
            {**dict(zip(names, denial, strict=True)), "times": times}
            for denial, times in denials.items()
        ],
        "grants": [
            {
                "role": role.name, "sid": grant.sid, "action": grant.action,
                "resource": grant.resource, "used": (role.arn, grant) in used,
            }
            for role in deployed_roles()
            for document in identity_of(role)
            for statement in statements_of(document)
            if statement.allows
            for grant in statement.grants()
        ],
    }  # fmt: skip


def _all_accesses(call: Call) -> list[Access]:
    """What the request needs, with what its service does in the caller's name."""
    found = accesses_of(call)
    if (call.service, call.operation) == ("sns", "Publish"):
        key = key_of_topic(call.one("TopicArn"))
        via = (("kms:viaservice", (f"sns.{call.region}.amazonaws.com",)),)
        names = () if key is None else ("kms:GenerateDataKey", "kms:Decrypt")
        # Source: SNS Developer Guide, "Key management", permissions of publishers (2026-11).
        found += [Access(name, key or "*", via) for name in names]
    return found


def _rule(cloud: Cloud, session: Session, access: Access, region: str) -> Ruling:
    """The ruling on one access, which is kept."""
    try:
        if access.action not in known_actions():
            raise PolicyNotUnderstood(f"IAM knows no action {access.action}.")
        full = Access(access.action, access.resource, _context(cloud, session, access, region))
        ruling = evaluate(policies_for(session, access.resource), full)
    except PolicyNotUnderstood as error:
        ruling = Ruling(False, f"because a policy is not understood: {error}")
    _log(cloud).add(session, access, ruling)
    return ruling


def _context(
    cloud: Cloud, session: Session, access: Access, region: str
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    values = {
        "aws:principalaccount": (session.account,),
        "aws:principalarn": (session.role,),
        "aws:principalorgid": (ORGANIZATION,),
        "aws:principaltype": ("AssumedRole",),
        "aws:requestedregion": (region,),
        "aws:securetransport": ("true",),  # the endpoint stands for AWS's, which are HTTPS
        "aws:viaawsservice": ("true" if "kms:viaservice" in dict(access.context) else "false",),
        **dict(access.context),
    }
    if access.action.startswith(_TAGGED):
        values |= tag_values(cloud, access.resource)
    return tuple(sorted(values.items()))


def _message(session: Session, access: Access, ruling: Ruling) -> str:
    return (
        f"User: {session.arn} is not authorized to perform: {access.action} "
        f"on resource: {access.resource} {ruling.why}"
    )


def _count(cloud: Cloud, session: Session, call: Call) -> None:
    log = _log(cloud)
    with log.lock:
        log.calls[session.role, f"{call.service}:{call.operation}"] += 1


def _log(cloud: Cloud) -> AccessLog:
    return cloud.part(AccessLog, AccountRegion(), AccessLog)
