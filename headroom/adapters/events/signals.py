"""Reads EventBridge events, as they arrive in a queue message, into Signals.

An event is a hint what to observe. `parse` never raises: an unknown event is a RejectedSignal.
Shapes: CloudWatch User Guide "Alarm events and EventBridge", EBS User Guide "EventBridge events
for EBS", CloudTrail records of EC2 (2026-10); of databases see `rds.py`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from headroom.adapters.events import rds as events_rds
from headroom.domain.resources import Claim, Kind, RejectedSignal, ResourceRef, Signal

YEARS = range(2000, 9000)
"""Of an event's time: hours before and after it are instants too."""
EXCERPT = 1_000
"""Characters of a rejected event that are kept."""
_DETAIL = 300
_EVENT_ID = re.compile(r"[!-~]{1,128}")
_VOLUME_ID = re.compile(r"vol-[0-9A-Za-z]{1,64}")
_VOLUME_ARN = re.compile(r"arn:[a-z-]+:ec2:([a-z0-9-]+):([0-9]{12}):volume/(vol-[0-9A-Za-z]{1,64})")


class _UnknownShape(Exception):
    """Why an event is rejected; never leaves this module."""


def parse(
    event: object,
    *,
    account_id: str | None = None,
    region: str | None = None,
    kinds: Collection[Kind] = (Kind.EBS,),
) -> tuple[Signal, ...] | RejectedSignal:
    """The signals in one event: at least one, or why there is none.

    With `account_id` or `region` given, an event from elsewhere is rejected; of storage that is
    not of `kinds` nothing is understood. Never raises.
    """
    try:
        return _parse(event, account_id, region, kinds)
    except _UnknownShape as unknown:
        return rejected(event, str(unknown))
    except RecursionError:
        return rejected(None, "is nested too deeply")


def rejected(event: object, reason: str) -> RejectedSignal:
    """The rejection of `event`; its id is the event's own, or a hash of the text without one."""
    text = event if isinstance(event, str) else _dumped(event)
    own = event.get("id") if isinstance(event, Mapping) else None
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return RejectedSignal(
        event_id=own
        if isinstance(own, str) and _EVENT_ID.fullmatch(own)
        else f"sha256-{digest[:32]}",
        reason=reason,
        excerpt=text[:EXCERPT],
    )


def _dumped(event: object) -> str:
    try:
        return json.dumps(event, sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):
        return repr(type(event))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Envelope:
    """What every EventBridge event carries."""

    event_id: str
    account_id: str
    region: str
    claimed_at: datetime
    resources: tuple[str, ...]
    detail: Mapping[str, object]
    kinds: Collection[Kind]

    def ref(self, resource_id: str, kind: Kind = Kind.EBS) -> ResourceRef:
        return ResourceRef(
            kind=kind, account_id=self.account_id, region=self.region, resource_id=resource_id
        )

    def signal(
        self, claim: Claim, said: str, *, ref: ResourceRef | None = None, alarm: str | None = None
    ) -> Signal:
        return Signal(
            event_id=self.event_id,
            claim=claim,
            ref=ref,
            alarm_name=alarm,
            claimed_at=self.claimed_at,
            muted=bool(self.detail.get("muteDetail")),
            detail=said[:_DETAIL],
        )


def _parse(
    event: object, account_id: str | None, region: str | None, kinds: Collection[Kind]
) -> tuple[Signal, ...]:
    body = _mapping(event, "the event")
    envelope = _Envelope(
        event_id=_text(body, "id"),
        account_id=_text(body, "account"),
        region=_text(body, "region"),
        claimed_at=_instant(_text(body, "time")),
        resources=tuple(r for r in _list(body.get("resources")) if isinstance(r, str)),
        detail=_mapping(body.get("detail"), "detail"),
        kinds=kinds,
    )
    for name, found, ours in (
        ("account", envelope.account_id, account_id), ("region", envelope.region, region),
    ):  # fmt: skip
        if ours is not None and found != ours:
            raise _UnknownShape(f"{name} is {found[:40]!r}, not ours ({ours})")
    match (_text(body, "source"), _text(body, "detail-type")):
        case ("aws.cloudwatch", "CloudWatch Alarm State Change"):
            return _alarm(envelope)
        case ("aws.cloudwatch", "CloudWatch Alarm Contributor State Change"):
            return (_contributor(envelope),)
        case ("aws.ec2", "EBS Volume Notification"):
            return _notification(envelope)
        case ("aws.rds", kind) if kind in events_rds.DETAIL_TYPES and Kind.RDS in kinds:
            return (_rds_event(envelope),)
        case (_, "AWS API Call via CloudTrail"):
            return (_api_call(envelope),)
        case (source, detail_type):
            raise _UnknownShape(f"{source[:60]!r} {detail_type[:80]!r} is no event of ours")


def _alarm(envelope: _Envelope) -> tuple[Signal, ...]:
    """Alarm level: OK is never relief (a vanished series turns OK too)."""
    name = _text(envelope.detail, "alarmName")
    state = _mapping(envelope.detail.get("state"), "detail.state")
    value, reason = _state(state), str(state.get("reason", ""))
    if state.get("evaluationState") == "PARTIAL_DATA":
        said = f"partial data; {reason}"
        return (envelope.signal(Claim.CHECK_CONTRIBUTORS, said, alarm=name),)
    if value != "ALARM":
        return (envelope.signal(Claim.NOTHING, f"{value}: {reason}", alarm=name),)
    configuration = _mapping(envelope.detail.get("configuration"), "detail.configuration")
    metrics = [m for m in _list(configuration.get("metrics")) if isinstance(m, Mapping)]
    refs = tuple(dict.fromkeys(r for m in metrics if (r := _of_metric(envelope, m)) is not None))
    if refs:
        return tuple(envelope.signal(Claim.PRESSURE, reason, ref=ref, alarm=name) for ref in refs)
    if any(str(m.get("expression", "")).lstrip().upper().startswith("SELECT") for m in metrics):
        return (envelope.signal(Claim.CHECK_CONTRIBUTORS, reason, alarm=name),)
    return (envelope.signal(Claim.NOTHING, "an alarm about no volume", alarm=name),)


def _of_metric(envelope: _Envelope, metric: Mapping[object, object]) -> ResourceRef | None:
    stat = metric.get("metricStat")
    inner = stat.get("metric") if isinstance(stat, Mapping) else None
    dimensions = inner.get("dimensions") if isinstance(inner, Mapping) else None
    return _of_labels(envelope, dimensions) if isinstance(dimensions, Mapping) else None


def _of_labels(envelope: _Envelope, labels: Mapping[str, object]) -> ResourceRef | None:
    """Whose metric it is, by its dimensions or by the labels it was grouped by."""
    volume = labels.get("VolumeId")
    if isinstance(volume, str) and _VOLUME_ID.fullmatch(volume):
        return envelope.ref(volume)
    database = events_rds.of_dimensions(labels) if Kind.RDS in envelope.kinds else None
    return None if database is None else envelope.ref(database, Kind.RDS)


def _rds_event(envelope: _Envelope) -> Signal:
    """RDS's own: whatever it reports, the thing to do is to go and ask."""
    try:
        claim, database, said = events_rds.claim_of(
            envelope.detail, account_id=envelope.account_id, region=envelope.region
        )
    except ValueError as problem:
        raise _UnknownShape(str(problem)) from None
    ref = None if claim is Claim.NOTHING else envelope.ref(database, Kind.RDS)
    return envelope.signal(claim, said, ref=ref)


def _contributor(envelope: _Envelope) -> Signal:
    """One series of a query alarm; `attributes` are the labels it was grouped by."""
    name = _text(envelope.detail, "alarmName")
    state = _mapping(envelope.detail.get("state"), "detail.state")
    value, reason = _state(state), str(state.get("reason", ""))
    contributor = _mapping(envelope.detail.get("alarmContributor"), "detail.alarmContributor")
    attributes = _mapping(contributor.get("attributes"), "detail.alarmContributor.attributes")
    ref = _of_labels(envelope, attributes)
    if ref is None:
        raise _UnknownShape("the contributor names no volume")
    claim = Claim.PRESSURE if value == "ALARM" else Claim.NOTHING
    return envelope.signal(claim, f"{value}: {reason}", ref=ref, alarm=name)


def _notification(envelope: _Envelope) -> tuple[Signal, ...]:
    """EBS's own: whatever result a modification reports, the thing to do is to go and ask."""
    event = _text(envelope.detail, "event").strip()
    result = str(envelope.detail.get("result", "")) or "no result"
    if event != "modifyVolume":
        return (envelope.signal(Claim.NOTHING, f"{event}: {result}"),)
    named = [found for r in envelope.resources if (found := _VOLUME_ARN.fullmatch(r))]
    volumes = [
        arn[3] for arn in named if (arn[1], arn[2]) == (envelope.region, envelope.account_id)
    ]
    if named and not volumes:
        raise _UnknownShape("modifyVolume names a volume of another place than the event")
    if not volumes:
        raise _UnknownShape("modifyVolume names no volume among its resources")
    return tuple(
        envelope.signal(Claim.MODIFICATION, f"{event}: {result}", ref=envelope.ref(volume))
        for volume in dict.fromkeys(volumes)
    )


def _api_call(envelope: _Envelope) -> Signal:
    """CloudTrail: ModifyVolume nests its parameters in PascalCase, where other calls do not."""
    detail = envelope.detail
    source, call = _text(detail, "eventSource"), _text(detail, "eventName")
    rds = source == "rds.amazonaws.com" and call in events_rds.CALLS and Kind.RDS in envelope.kinds
    if not rds and (source, call) != ("ec2.amazonaws.com", "ModifyVolume"):
        return envelope.signal(Claim.NOTHING, f"{source} {call}")
    if detail.get("errorCode"):
        return envelope.signal(Claim.NOTHING, f"{call} failed: {detail['errorCode']}")
    parameters = _mapping(detail.get("requestParameters"), "detail.requestParameters")
    if rds:
        return _rds_call(envelope, call, parameters)
    nested = parameters.get("ModifyVolumeRequest")
    places = [nested, parameters] if isinstance(nested, Mapping) else [parameters]
    for place in places:
        for key in ("VolumeId", "volumeId"):
            volume = place.get(key)
            if isinstance(volume, str) and _VOLUME_ID.fullmatch(volume):
                ref = envelope.ref(volume)
                return envelope.signal(Claim.MODIFICATION, f"{call} called", ref=ref)
    raise _UnknownShape("the ModifyVolume call names no volume")


def _rds_call(envelope: _Envelope, call: str, parameters: Mapping[str, object]) -> Signal:
    try:
        ref = envelope.ref(events_rds.of_call(call, parameters), Kind.RDS)
    except ValueError as problem:
        raise _UnknownShape(str(problem)) from None
    return envelope.signal(Claim.MODIFICATION, f"{call} called", ref=ref)


def _state(state: Mapping[str, object]) -> str:
    value = state.get("value")
    if value in ("ALARM", "OK", "INSUFFICIENT_DATA"):
        return str(value)
    raise _UnknownShape(f"detail.state.value is {str(value)[:40]!r}")


def _mapping(value: object, name: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise _UnknownShape(f"{name} is not an object")
    return value


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _text(place: Mapping[str, object], key: str) -> str:
    value = place.get(key)
    if not isinstance(value, str) or not value.strip():
        raise _UnknownShape(f"{key} is missing or no text")
    return value


def _instant(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
        instant = instant.replace(tzinfo=instant.tzinfo or UTC).astimezone(UTC)
        if instant.year in YEARS:
            return instant
    except (ValueError, OverflowError):
        pass
    raise _UnknownShape(f"time is {text[:40]!r}, which is no instant of an event")
