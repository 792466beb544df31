"""A stub of EC2 and CloudWatch at the size of a fleet: threaded HTTP, in memory, with latency and quotas.

Speaks EC2's Query protocol and CloudWatch's JSON one. It knows nothing of AWS's rules for a change; for
these there is the local endpoint. `python -m tools.fleet_aws --volumes 10000 --pressed 0.02` serves one.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

NAMESPACE = 'xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"'
A_VOLUME_IN = 2
"""Volumes of one instance."""
QUOTAS = {"ec2": (100.0, 20.0), "cloudwatch": (500.0, 500.0)}
"""Bucket and refill a second of each service's calls. Source: EC2 API reference, "Request throttling"
(non-mutating calls), and CloudWatch quotas, GetMetricData (2026-09)."""
CREATED = "2025-01-01T00:00:00.000Z"


@dataclass(slots=True)
class Bucket:
    """A token bucket."""

    most: float
    refill: float
    tokens: float = 0.0
    at: float = field(default_factory=time.monotonic)

    def take(self) -> bool:
        """Whether there is a token for one call."""
        now = time.monotonic()
        self.tokens = min(self.most, self.tokens + (now - self.at) * self.refill)
        self.at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class Fleet:
    """Volumes `vol-0...` of which a share is at its IOPS limit, two to an instance, all enrolled."""

    def __init__(self, volumes: int, pressed: float, *, latency_s: float, quotas: bool) -> None:
        self.volumes = volumes
        self.latency_s = latency_s
        self._every = 0 if not pressed else max(1, round(1 / pressed))
        self._quotas = quotas
        self._lock = threading.Lock()
        self._buckets = {name: Bucket(*size, tokens=size[0]) for name, size in QUOTAS.items()}
        self._changed: dict[int, tuple[datetime, Mapping[str, str]]] = {}
        self.calls: Counter[str] = Counter()

    def pressed(self, number: int) -> bool:
        """Whether a volume is under pressure."""
        return bool(self._every) and number % self._every == 0 and number not in self._changed

    def throttled(self, service: str, call: str) -> bool:
        """Count a call; whether it is over the quota."""
        with self._lock:
            over = self._quotas and not self._buckets[service].take()
            self.calls[f"{call} throttled" if over else call] += 1
        return over

    def ec2(self, asked: Mapping[str, str]) -> str:
        """The response to one call of EC2."""
        call = asked["Action"]
        body = getattr(self, f"_{call}")(asked)
        return f"<{call}Response {NAMESPACE}><requestId>r</requestId>{body}</{call}Response>"

    def _DescribeVolumes(self, asked: Mapping[str, str]) -> str:
        wanted = _ids(asked, "VolumeId", "volume-id")
        more = ""
        if wanted is not None:
            numbers = self._numbers(wanted)
        elif (machines := _ids(asked, "", "attachment.instance-id")) is not None:
            numbers = [n for one in machines for n in self._of_instance(_number(one))]
        else:
            first = int(asked.get("NextToken", "0"))
            most = int(asked.get("MaxResults", str(self.volumes)))
            numbers = list(range(first, min(self.volumes, first + most)))
            if first + most < self.volumes:
                more = f"<nextToken>{first + most}</nextToken>"
        return f"<volumeSet>{''.join(map(self._volume, numbers))}</volumeSet>{more}"

    def _DescribeVolumesModifications(self, asked: Mapping[str, str]) -> str:
        numbers = self._numbers(_ids(asked, "VolumeId", "volume-id") or ())
        found = "".join(self._modification(n) for n in numbers if n in self._changed)
        return f"<volumeModificationSet>{found}</volumeModificationSet>"

    def _DescribeInstances(self, asked: Mapping[str, str]) -> str:
        wanted = _ids(asked, "InstanceId", "instance-id") or ()
        items = "".join(self._instance(_number(one)) for one in wanted)
        held = (
            f"<item><reservationId>r-1</reservationId><instancesSet>{items}</instancesSet></item>"
        )
        return f"<reservationSet>{held}</reservationSet>"

    def _DescribeInstanceTypes(self, asked: Mapping[str, str]) -> str:
        limits = "".join(
            f"<{edge}Iops>40000</{edge}Iops><{edge}BandwidthInMbps>9500</{edge}BandwidthInMbps>"
            f"<{edge}ThroughputInMBps>1187.5</{edge}ThroughputInMBps>"
            for edge in ("baseline", "maximum")
        )
        about = f"<ebsOptimizedSupport>default</ebsOptimizedSupport><ebsOptimizedInfo>{limits}</ebsOptimizedInfo>"
        kind = f"<instanceType>{asked['InstanceType.1']}</instanceType><ebsInfo>{about}</ebsInfo>"
        return (
            f"<instanceTypeSet><item>{kind}<hypervisor>nitro</hypervisor></item></instanceTypeSet>"
        )

    def _ModifyVolume(self, asked: Mapping[str, str]) -> str:
        number = _number(asked["VolumeId"])
        with self._lock:
            self._changed[number] = datetime.now(UTC), dict(asked)
        inner = self._modification(number).removeprefix("<item>").removesuffix("</item>")
        return f"<volumeModification>{inner}</volumeModification>"

    def _numbers(self, names: Iterable[str]) -> list[int]:
        return [n for n in map(_number, names) if n < self.volumes]

    def _of_instance(self, number: int) -> range:
        return range(number * A_VOLUME_IN, min(self.volumes, (number + 1) * A_VOLUME_IN))

    def _volume(self, number: int) -> str:
        asked = self._changed.get(number, (None, {}))[1]
        iops, throughput = asked.get("Iops", "3000"), asked.get("Throughput", "125")
        held = (
            f"<item><volumeId>{name_of('vol', number)}</volumeId>"
            f"<instanceId>{name_of('i', number // A_VOLUME_IN)}</instanceId>"
            "<device>/dev/sdf</device><status>attached</status></item>"
        )
        tags = "<item><key>headroom</key><value>auto</value></item>"
        return (
            f"<item><volumeId>{name_of('vol', number)}</volumeId><size>100</size>"
            f"<availabilityZone>us-east-1{'abc'[number % 3]}</availabilityZone>"
            f"<status>in-use</status><createTime>{CREATED}</createTime>"
            f"<attachmentSet>{held}</attachmentSet><tagSet>{tags}</tagSet>"
            f"<volumeType>gp3</volumeType><iops>{iops}</iops><throughput>{throughput}</throughput>"
            "<multiAttachEnabled>false</multiAttachEnabled></item>"
        )

    def _modification(self, number: int) -> str:
        started, asked = self._changed[number]
        end_time = "".join(
            f"<{edge}VolumeType>gp3</{edge}VolumeType><{edge}Size>100</{edge}Size>"
            f"<{edge}Iops>{iops}</{edge}Iops><{edge}Throughput>{mibps}</{edge}Throughput>"
            for edge, iops, mibps in (
                ("original", "3000", "125"),
                ("target", asked.get("Iops", "3000"), asked.get("Throughput", "125")),
            )
        )
        return (
            f"<item><volumeId>{name_of('vol', number)}</volumeId>"
            f"<modificationState>optimizing</modificationState>{end_time}<progress>10</progress>"
            f"<startTime>{started.isoformat(timespec='milliseconds')}</startTime></item>"
        )

    def _instance(self, number: int) -> str:
        mapped = "".join(
            f"<item><deviceName>/dev/sdf</deviceName><ebs><volumeId>{name_of('vol', n)}</volumeId>"
            "<status>attached</status></ebs></item>"
            for n in self._of_instance(number)
        )
        return (
            f"<item><instanceId>{name_of('i', number)}</instanceId>"
            "<instanceType>m5.4xlarge</instanceType><ebsOptimized>true</ebsOptimized>"
            f"<blockDeviceMapping>{mapped}</blockDeviceMapping></item>"
        )

    def metric_data(self, asked: Mapping[str, Any]) -> str:
        """The response of GetMetricData: full minutes of the last quarter where there is pressure."""
        start, end = int(asked["StartTime"]), int(asked["EndTime"])
        queries = asked["MetricDataQueries"]
        with self._lock:
            self.calls["metrics read"] += len(queries)
        results = ",".join(self._series(query, start, end) for query in queries)
        return f'{{"MetricDataResults":[{results}]}}'

    def metric_statistics(self, asked: Mapping[str, Any]) -> str:
        """The response of GetMetricStatistics: the mean of the whole time, in one datapoint."""
        named = {d["Name"]: d["Value"] for d in asked["Dimensions"]}
        start, end = int(asked["StartTime"]), int(asked["EndTime"])
        pressed = "VolumeId" in named and self.pressed(_number(named["VolumeId"]))
        values = json.loads(levels(asked["MetricName"], 60, max(1, (end - start) // 60), pressed))
        with self._lock:
            self.calls["metrics read"] += 1
        point = {"Timestamp": start, "Average": sum(values) / len(values), "Unit": "Count"}
        return json.dumps({"Label": asked["MetricName"], "Datapoints": [point]})

    def _series(self, query: Mapping[str, Any], start: int, end: int) -> str:
        stat = query["MetricStat"]
        metric, period = stat["Metric"]["MetricName"], int(stat["Period"])
        named = {d["Name"]: d["Value"] for d in stat["Metric"]["Dimensions"]}
        pressed = "VolumeId" in named and self.pressed(_number(named["VolumeId"]))
        count = max(0, (end - start) // period)
        times, values = stamps(start, period, count), levels(metric, period, count, pressed)
        return f'{{"Id":"{query["Id"]}","Label":"x","StatusCode":"Complete","Timestamps":{times},"Values":{values}}}'


@lru_cache(maxsize=64)
def stamps(start: int, period_s: int, count: int) -> str:
    """Timestamps as JSON."""
    return json.dumps([start + period_s * n for n in range(count)])


@lru_cache(maxsize=512)
def levels(metric: str, period_s: int, count: int, pressed: bool) -> str:
    """Values as JSON: a third of the limit, and in the last quarter of an hour all of it where pressed."""
    full = min(count, 900 // period_s) if pressed and period_s == 60 else 0
    low, high = {
        "VolumeReadOps": (600.0, 1_800.0), "VolumeWriteOps": (400.0, 1_200.0),
        "VolumeReadBytes": (600.0 * 16_384, 1_800.0 * 16_384),
        "VolumeWriteBytes": (400.0 * 16_384, 1_200.0 * 16_384),
    }.get(metric, (0.0, 0.0))  # fmt: skip
    low, high = low * period_s, high * period_s
    if metric == "VolumeQueueLength":
        low, high = 1.0, 900.0
    if metric == "VolumeIOPSExceededCheck":
        low, high = 0.0, 1.0
    if metric.startswith("VolumeAvg") and metric.endswith("Latency"):
        low, high = 1.0, 200.0
    return json.dumps([low] * (count - full) + [high] * full)


def name_of(kind: str, number: int) -> str:
    """The id of a volume or instance."""
    return f"{kind}-{number:017x}"


def _number(name: str) -> int:
    return int(name.split("-")[1], 16)


def _ids(asked: Mapping[str, str], listed: str, filtered: str) -> list[str] | None:
    """Ids in a list or in a filter of a call; None where neither is there."""
    if listed and f"{listed}.1" in asked:
        return [value for key, value in asked.items() if key.startswith(f"{listed}.")]
    for key, value in asked.items():
        if key.endswith(".Name") and value == filtered:
            values = key.replace(".Name", ".Value.")
            return [each for name, each in asked.items() if name.startswith(values)]
    return None


class Handler(BaseHTTPRequestHandler):
    """One connection; the server holds the fleet."""

    protocol_version = "HTTP/1.1"
    server: FleetServer

    def do_GET(self) -> None:
        """What was called so far."""
        self._answer(200, json.dumps(self.server.fleet.calls), "application/json")

    def do_POST(self) -> None:
        """One call of AWS."""
        fleet = self.server.fleet
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        target = self.headers.get("X-Amz-Target", "")
        time.sleep(fleet.latency_s)
        if target:
            if fleet.throttled("cloudwatch", target.rsplit(".", 1)[-1]):
                refused = {"__type": "ThrottlingException", "message": "Rate exceeded"}
                self._answer(400, json.dumps(refused), "application/x-amz-json-1.0")
                return
            many = target.endswith(".GetMetricData")
            read = fleet.metric_data if many else fleet.metric_statistics
            self._answer(200, read(json.loads(body)), "application/x-amz-json-1.0")
            return
        asked = dict(parse_qsl(body))
        if asked["Action"] == "GetCallerIdentity":
            who = "<Account>123456789012</Account><Arn>arn:aws:iam::123456789012:user/x</Arn><UserId>x</UserId>"
            body = f"<GetCallerIdentityResult>{who}</GetCallerIdentityResult>"
            self._answer(
                200, f"<GetCallerIdentityResponse>{body}</GetCallerIdentityResponse>", "text/xml"
            )
            return
        if fleet.throttled("ec2", asked["Action"]):
            self._answer(
                503, "<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>Request limit "
                "exceeded.</Message></Error></Errors><RequestID>r</RequestID></Response>", "text/xml",
            )  # fmt: skip
            return
        self._answer(200, fleet.ec2(asked), "text/xml")

    def _answer(self, status: int, text: str, kind: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class FleetServer(ThreadingHTTPServer):
    """The stub on a free port of this machine."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, fleet: Fleet, port: int = 0) -> None:
        self.fleet = fleet
        super().__init__(("127.0.0.1", port), Handler)


def main(ready: Callable[[str], None] = lambda line: print(line, flush=True)) -> None:
    """Serve until killed; the first line printed is the URL."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--volumes", type=int, default=1_000)
    parser.add_argument("--pressed", type=float, default=0.02, help="share under pressure")
    parser.add_argument("--latency-ms", type=float, default=50.0)
    parser.add_argument("--quotas", action="store_true", help="throttle as AWS does")
    parser.add_argument("--port", type=int, default=0)
    said = parser.parse_args()
    fleet = Fleet(said.volumes, said.pressed, latency_s=said.latency_ms / 1_000, quotas=said.quotas)
    with FleetServer(fleet, said.port) as server:
        ready(f"http://127.0.0.1:{server.server_address[1]}")
        server.serve_forever()


if __name__ == "__main__":
    main()
