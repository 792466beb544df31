"""A storm of alarm events through the deployed queue and functions on the local endpoint, and what it took.

The templates' own queue settings count: batch size, delays, time-outs, tries, and the most workers at once.
`python -m tools.storm --events 10000 --volumes 500 --workers 8` prints one storm.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import boto3

from headroom.adapters.ledger import DynamoLedger
from headroom.localaws.daemon import LocalAws
from tools.zips import zip_folder

ROOT = Path(__file__).resolve().parents[1]
ACCOUNT, REGION = "123456789012", "us-east-1"
START = datetime(2026, 1, 5, 12, tzinfo=UTC)
BEFORE_MIN = 40
"""How long the volumes are loaded before the storm."""
IMAGE = "ami-12c6146b"
"""Any will do; an endpoint that was emptied lists none."""
PARTS = 6
"""The minute of the storm in parts, after each of which the workers take what has come."""
AFTER_MIN = 18
"""Minutes until the changes that the storm started are verified, and those that wait have their turn."""
AT_ONCE_MIN = 5
"""What starts later had waited for a place."""
A_VOLUME_IN = 2
STACKS = ("HeadroomState", "HeadroomLoop")


@dataclass(frozen=True, slots=True, kw_only=True)
class Storm:
    """What one storm took."""

    events: int
    volumes: int
    recorded: int
    """Events that have a record."""
    led_to: Mapping[str, int]
    calls: Mapping[str, int]
    """Calls of the worker, by service and operation, until every event has its record."""
    parked: int
    waiting: int
    """Messages left at the end."""
    worker_mib: float
    """The most memory that a worker's process used; 0 where the system does not say."""
    workers: int
    """Workers that ran."""
    at_once: Sequence[int]
    """Minutes of starvation before the storm, of the volumes that events had changed."""
    in_turn: Sequence[int]
    """The same of those that waited for a place and got one."""
    queued: Sequence[int]
    """The same of those that wait still, in the order of the queue."""
    denials: int
    seconds: float
    """From the first event until every message was done with."""

    @property
    def calls_per_event(self) -> float:
        """AWS calls per event."""
        return sum(self.calls.values()) / self.events


def synthesised(folder: Path) -> Path:
    """The shipped templates of volumes alone in `folder`, with the functions' code beside them."""
    command = [
        sys.executable, "-c",
        "import sys; from pathlib import Path; from tests.stacks.conftest import synthesise; "
        "synthesise(Path(sys.argv[1]), kinds='ebs')", str(folder),
    ]  # fmt: skip
    subprocess.run(command, cwd=ROOT, check=True)
    return folder


class Play:
    """One storm at an endpoint that is empty."""

    def __init__(
        self, aws: LocalAws, templates: Path, *, volumes: int, after_min: int = AFTER_MIN
    ) -> None:
        self._aws = aws
        self._after_min = after_min
        self._sent: set[str] = set()
        self._templates = templates
        self._clients: dict[str, Any] = {}
        self._random = Random(7)
        self._now = START - timedelta(minutes=BEFORE_MIN)
        self._clock(self._now)
        self._volumes = self._fleet(volumes)
        self._aws.control("tick", {"minutes": BEFORE_MIN})
        self._now = START
        self._deploy()

    def client(self, service: str) -> Any:
        """A client of the endpoint."""
        if service not in self._clients:
            make: Any = boto3.client  # typed per service, and the service is a variable here
            self._clients[service] = make(
                service, endpoint_url=self._aws.url, region_name=REGION, **self._aws.credentials
            )
        return self._clients[service]

    def _clock(self, at: datetime) -> None:
        self._aws.control("clock", {"set": at.isoformat()})

    def _fleet(self, count: int) -> dict[str, int]:
        """Volumes that are enrolled and starve, each with the minutes it will have starved for."""
        ec2 = self.client("ec2")
        instances = ec2.run_instances(
            ImageId=IMAGE, InstanceType="m6i.16xlarge", MinCount=1 + count // A_VOLUME_IN,
            MaxCount=1 + count // A_VOLUME_IN, Placement={"AvailabilityZone": f"{REGION}a"},
        )["Instances"]  # fmt: skip
        found: dict[str, int] = {}
        for number in range(count):
            zone = instances[number // A_VOLUME_IN]["Placement"]["AvailabilityZone"]
            name = ec2.create_volume(
                AvailabilityZone=zone, Size=100, VolumeType="gp3",
                TagSpecifications=[
                    {"ResourceType": "volume", "Tags": [{"Key": "headroom", "Value": "auto"}]}
                ],
            )["VolumeId"]  # fmt: skip
            ec2.attach_volume(
                VolumeId=name, InstanceId=instances[number // A_VOLUME_IN]["InstanceId"],
                Device=f"/dev/sd{'fg'[number % A_VOLUME_IN]}",
            )  # fmt: skip
            found[name] = self._random.randrange(12, BEFORE_MIN - 5)
            calm = BEFORE_MIN - found[name]
            steps = [
                {"for": f"{calm}m", "iops": 500, "io_kib": 16},
                {"for": "3h", "iops": 4_000, "io_kib": 16},
            ]
            attachment = {"instance_type": "m6i.16xlarge"}
            load = {"volume_id": name, "workload": {"steps": steps}, "attachment": attachment}
            self._aws.control("load", load)
        return found

    def _deploy(self) -> None:
        """Both stacks, and their code where the templates say."""
        self.client("ssm").put_parameter(
            Name="/cdk-bootstrap/hnb659fds/version", Value="30", Type="String"
        )
        manifest = json.loads((self._templates / "HeadroomLoop.assets.json").read_text())
        s3 = self.client("s3")
        for entry in manifest["files"].values():
            source = self._templates / entry["source"]["path"]
            if source.is_dir():
                source = zip_folder(source, self._aws.state_dir / "function.zip")
            for place in entry["destinations"].values():
                bucket = place["bucketName"].replace("${AWS::AccountId}", ACCOUNT)
                bucket = bucket.replace("${AWS::Region}", REGION)
                s3.create_bucket(Bucket=bucket)
                s3.put_object(Bucket=bucket, Key=place["objectKey"], Body=source.read_bytes())
        cloudformation = self.client("cloudformation")
        for name in STACKS:
            body = (self._templates / f"{name}.template.json").read_text()
            cloudformation.create_stack(
                StackName=name, TemplateBody=body, Capabilities=["CAPABILITY_IAM"]
            )
            (stack,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
            if stack["StackStatus"] != "CREATE_COMPLETE":
                raise RuntimeError(f"{name}: {stack.get('StackStatusReason')}")

    def outputs(self) -> dict[str, str]:
        """Outputs of both stacks."""
        stacks = self.client("cloudformation").describe_stacks()["Stacks"]
        return {o["OutputKey"]: o["OutputValue"] for s in stacks for o in s.get("Outputs", ())}

    def storm(self, events: int) -> Storm:
        """Send this many events in a minute, let the workers take them, and count."""
        began = time.monotonic()
        urls = self.outputs()
        names = sorted(self._volumes)
        which = [names[number % len(names)] for number in range(events)]
        self._random.shuffle(which)
        seconds = 0.0
        for part in range(PARTS):
            for name_batch in _tens(which[part::PARTS]):
                self._send(urls["SignalsQueueUrl"], name_batch)
            self._now += timedelta(minutes=1) / PARTS
            if part < PARTS - 1:
                self._clock(self._now)
                self._aws.control("tick", {"minutes": 0})
        self._clock(self._now - timedelta(milliseconds=1))
        calls: Mapping[str, int] | None = None
        for _ in range(self._after_min):
            self._aws.control("tick", {"minutes": 1})
            if calls is None and not self._waiting(urls["SignalsQueueUrl"]):
                calls, seconds = self._calls(), time.monotonic() - began
        return self._counted(events, urls, self._calls() if calls is None else calls, seconds)

    def _waiting(self, url: str) -> int:
        """Messages of a queue, hidden and delayed ones included."""
        name = url.rsplit("/", 1)[-1]
        return int(self._aws.control("state")["queues"][f"{REGION}/{name}"])

    def _calls(self) -> Mapping[str, int]:
        """What the worker called so far."""
        calls = self._aws.control("iam")["calls"]
        return {each["call"]: each["times"] for each in calls if "SignalsRole" in each["role"]}

    def _send(self, url: str, names: Sequence[str]) -> None:
        """As EventBridge does, one message for each event."""
        entries = [
            {"Id": str(n), "MessageBody": json.dumps(self._event(name))}
            for n, name in enumerate(names)
        ]
        self.client("sqs").send_message_batch(QueueUrl=url, Entries=entries)

    def _event(self, volume: str) -> dict[str, Any]:
        """An alarm's contributor turns to ALARM."""
        at = self._now + timedelta(seconds=self._random.randrange(int(60 / PARTS)))
        event_id = f"{self._random.getrandbits(128):032x}"
        self._sent.add(event_id)
        return {
            "version": "0", "id": event_id,
            "detail-type": "CloudWatch Alarm Contributor State Change", "source": "aws.cloudwatch",
            "account": ACCOUNT, "time": at.strftime("%Y-%m-%dT%H:%M:%SZ"), "region": REGION,
            "resources": [],
            "detail": {
                "alarmName": "headroom-detect-iops",
                "alarmContributor": {"id": "1", "attributes": {"VolumeId": volume}},
                "state": {"value": "ALARM", "reason": "Threshold Crossed"},
                "configuration": {"metrics": []},
            },
        }  # fmt: skip

    def _counted(
        self, events: int, urls: Mapping[str, str], calls: Mapping[str, int], seconds: float
    ) -> Storm:
        records = self._records(urls["RecordsTable"])
        ledger = DynamoLedger(
            self.client("dynamodb"), records_table=urls["RecordsTable"], account_id=ACCOUNT,
            state_table=urls["StateTable"], region=REGION,
        )  # fmt: skip
        by_event = [r for r in records if r.get("event_id", {}).get("S") in self._sent]
        until = (START + timedelta(minutes=AT_ONCE_MIN)).isoformat()
        started = {
            r["resource"]["S"].rsplit("/", 1)[-1]: r["at"]["S"] > until
            for r in records if r.get("step", {}).get("S") == "intended"
        }  # fmt: skip

        processes = self._aws.control("state")["processes"].items()
        pids = [pid for name, pids in processes if "Signals" in name for pid in pids]

        def starved(in_turn: bool) -> list[int]:
            return [self._volumes[name] for name, turn in started.items() if turn is in_turn]

        return Storm(
            events=events, volumes=len(self._volumes), recorded=len(by_event),
            led_to=Counter(r["led_to"]["S"] for r in by_event), calls=calls,
            parked=self._waiting(urls["SignalsDeadLettersUrl"]),
            waiting=self._waiting(urls["SignalsQueueUrl"]),
            worker_mib=max(map(_peak_mib, pids), default=0.0), workers=len(pids),
            at_once=starved(False), in_turn=starved(True),
            queued=[self._volumes[one.ref.resource_id] for one in ledger.queue(1_000)],
            denials=len(self._aws.control("iam")["denials"]), seconds=seconds,
        )  # fmt: skip

    def _records(self, table: str) -> list[dict[str, Any]]:
        pages = self.client("dynamodb").get_paginator("scan").paginate(TableName=table)
        return [item for page in pages for item in page["Items"]]


def _tens(names: Sequence[str]) -> Iterator[Sequence[str]]:
    return (names[first : first + 10] for first in range(0, len(names), 10))


def _peak_mib(pid: int) -> float:
    """The most memory that a process used; 0 where /proc does not say."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    of = dict(line.split(":", 1) for line in status.splitlines())
    return int(of["VmHWM"].split()[0]) / 1024


def storm(events: int, volumes: int, templates: Path | None = None, *, workers: int) -> Storm:
    """One storm at an endpoint of its own."""
    with tempfile.TemporaryDirectory() as folder:
        made = templates or synthesised(Path(folder) / "cdk.out")
        options = {"effect_minutes": 1, "completed_minutes": 3, "workers": workers}
        with LocalAws(clock="lockstep", seed=7, **options) as aws:
            return Play(aws, made, volumes=volumes).storm(events)


def main() -> None:
    """Print one storm."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--volumes", type=int, default=500)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--templates", type=Path, help="folder of a synth made before")
    said = parser.parse_args()
    took = storm(said.events, said.volumes, said.templates, workers=said.workers)
    print(took)
    print(f"{took.calls_per_event:.2f} calls per event")


if __name__ == "__main__":
    main()
