"""Plays a dispatcher and workers over the stub fleet and counts: time, calls, metrics, writes.

The deployed application and adapters run against `tools.fleet_aws` and the ledger in memory, which
waits as long as AWS. Workers are threads of this process, so processor time is that of all together.
`python -m tools.fleet_bench --volumes 1000 --pressed 0.02` prints one run.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from headroom.account import PACED, session_in
from headroom.adapters.cloudwatch import CloudWatchMetrics
from headroom.adapters.ebs import EbsFleet
from headroom.adapters.fleet import AwsFleet
from headroom.application import dispatch, read_page, work
from headroom.domain.catalog import catalogue_prices
from headroom.domain.policy import Policy
from headroom.domain.state import ScanProgress
from headroom.policy import default_policy
from headroom.ports import Answered, Claim, Ports, ScanPage, WorkItem
from headroom.proving.memory import InMemoryLedger, ports_in_memory
from tools.custodian import CustodianRun, run_custodian

ACCOUNT, REGION = "123456789012", "us-east-1"
THREADS = 16
A_MESSAGE, A_BATCH = 10, 10
SOON = 240
DISPATCH_EVERY_S = 10.0
"""Six times as often as deployed, so that runs overlap."""


class CountedTables:
    """A client of the tables in memory that waits, and counts calls and capacity units."""

    def __init__(self, client: Any, latency_s: float) -> None:
        self._client, self._latency_s = client, latency_s
        self.calls: Counter[str] = Counter()
        self.units: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._client, name)

        def called(**asked: Any) -> Any:
            time.sleep(self._latency_s)
            self.calls[name] += 1
            answer = real(**asked)
            self._count(name, asked, answer)
            return answer

        return called

    def _count(self, name: str, asked: Any, answer: Any) -> None:
        """Units of the tables themselves; an index adds to writes what it holds of an item."""
        if name == "query":
            found = len(json.dumps(answer["Items"], default=repr))
            self.units["read"] += max(1, math.ceil(found / 8_192))
        elif name == "batch_get_item":
            items = [item for each in answer["Responses"].values() for item in each]
            sizes = [math.ceil(len(json.dumps(item, default=repr)) / 4_096) for item in items]
            self.units["read"] += max(1, sum(sizes))
        elif name == "transact_write_items":
            for part in asked["TransactItems"]:
                for action in part.values():
                    size = len(json.dumps(action.get("Item", {}), default=repr))
                    self.units["write"] += 2 * max(1, math.ceil(size / 1_024))
        else:
            size = len(json.dumps(asked.get("Item", {}), default=repr))
            self.units["write"] += max(1, math.ceil(size / 1_024))


@dataclass(slots=True)
class MemoryQueue:
    """The work queue in memory: messages of ten items, later ones when their time comes."""

    workers: int
    messages: deque[tuple[float, Sequence[WorkItem] | ScanPage]] = field(default_factory=deque)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, items: Sequence[WorkItem], *, delay_s: int = 0) -> None:
        """Queue items, ten to a message."""
        with self.lock:
            for first in range(0, len(items), A_MESSAGE):
                self.messages.append((time.monotonic() + delay_s, items[first : first + A_MESSAGE]))

    def put_pages(self, pages: Sequence[ScanPage]) -> None:
        """Queue pages."""
        with self.lock:
            self.messages += [(time.monotonic(), page) for page in pages]

    def room(self) -> int:
        """As deployed."""
        return max(0, self.workers * SOON - len(self.messages) * A_MESSAGE)

    def take(self) -> list[Sequence[WorkItem] | ScanPage]:
        """Up to ten messages whose time has come."""
        now, found = time.monotonic(), []
        with self.lock:
            for _ in range(len(self.messages)):
                at, message = self.messages.popleft()
                if at <= now and len(found) < A_BATCH:
                    found.append(message)
                else:
                    self.messages.append((at, message))
        return found


class WatchedClaims:
    """Claims that remember when each reconciliation began."""

    def __init__(self, ledger: InMemoryLedger) -> None:
        self._ledger = ledger
        self.began: dict[str, list[datetime]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def claim_work(self, item: WorkItem, *, now: datetime, **how: Any) -> Claim | Answered:
        """As deployed."""
        claim = self._ledger.claim_work(item, now=now, **how)
        if claim is Claim.TAKEN:
            self.began.setdefault(item.ref.arn, []).append(now)
        return claim

    def twice_within_a_minute(self) -> int:
        """Resources whose reconciliation began twice within a minute."""
        minute = timedelta(minutes=1)
        return sum(
            any(later - sooner < minute for sooner, later in pairwise(at))
            for at in map(sorted, self.began.values())
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run took."""

    volumes: int
    pressed: int
    wall_s: float
    """From the first dispatch until every suspect was reconciled once."""
    scan_s: float
    cpu_s: float
    reconciled: int
    twice: int
    calls: dict[str, int]
    metrics_read: int
    read_units: int
    write_units: int
    failed: int
    custodian: CustodianRun | None = None

    @property
    def ec2_calls(self) -> int:
        """Calls of EC2, throttled ones included."""
        return sum(n for name, n in self.calls.items() if name.startswith(("Describe", "Modify")))

    def __str__(self) -> str:
        calls = ", ".join(f"{name} {count:,}" for name, count in sorted(self.calls.items()))
        other = "" if self.custodian is None else f"{self.custodian}\n"
        return other + (
            f"{self.volumes:,} volumes, {self.pressed:,} pressed: scan {self.scan_s:.1f} s, all "
            f"reconciled after {self.wall_s:.1f} s, {self.cpu_s:.1f} CPU s, "
            f"{self.reconciled:,} reconciled, {self.twice} twice within a minute, {self.failed} failed; "
            f"{self.metrics_read:,} metrics, {self.read_units:,} RCU, {self.write_units:,} WCU; {calls}"
        )


@contextmanager
def stub(volumes: int, pressed: float, latency_ms: float, *, quotas: bool) -> Iterator[str]:
    """The URL of a stub in a process of its own."""
    command = [
        sys.executable, "-m", "tools.fleet_aws", "--volumes", str(volumes), "--pressed",
        str(pressed), "--latency-ms", str(latency_ms), *(["--quotas"] if quotas else []),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            if child.stdout is None:
                raise RuntimeError("the stub has no output")
            yield child.stdout.readline().strip()
        finally:
            child.terminate()


def fleet_ports(url: str, ledger: InMemoryLedger, claims: WatchedClaims) -> Ports:
    """The deployed adapters against the stub, and the ledger in memory."""
    os.environ.update(AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test")
    session = session_in(REGION)
    ec2, cloudwatch = (
        session.client(name, config=PACED, endpoint_url=url)  # type: ignore[call-overload]
        for name in ("ec2", "cloudwatch")
    )
    storage = EbsFleet(ec2, account_id=ACCOUNT, region=REGION)
    metrics = CloudWatchMetrics(cloudwatch, account_id=ACCOUNT, region=REGION)
    policy = default_policy()
    if not isinstance(policy, Policy):
        raise TypeError("the default policy cannot be read")
    world: Any = storage
    ports = ports_in_memory(world, ledger, policy=policy, prices=catalogue_prices(REGION))
    return replace(ports, metrics=metrics, work=claims, fleet=AwsFleet(storage, metrics, {}))  # type: ignore[arg-type]


def run(
    volumes: int, pressed: float, *, workers: int = 8, latency_ms: float = 50.0,
    quotas: bool = False, most_s: float = 900.0, custodian: Path | None = None,
) -> Run:  # fmt: skip
    """One scan and everything that follows from it at once.

    With the command of Cloud Custodian, that runs first, on the same server.
    """
    with stub(volumes, pressed, latency_ms, quotas=quotas) as url:
        other = None
        if custodian is not None:
            other = run_custodian(custodian, url, account_id=ACCOUNT, region=REGION)
        took = _play(url, volumes, pressed, workers, latency_ms / 1_000, most_s)
        return replace(took, custodian=other)


def _play(
    url: str, volumes: int, pressed: float, workers: int, latency_s: float, most_s: float
) -> Run:
    ledger = InMemoryLedger(ACCOUNT, REGION)
    tables = CountedTables(ledger._client, latency_s)
    for holder in (ledger, ledger._reads, ledger._state, ledger._transactions):
        holder._client = tables  # the same tables behind every part of the ledger
    claims = WatchedClaims(ledger)
    # A complete scan has been done: else this first one would reconcile every volume.
    ledger.amend_scan(_completed)
    ports = fleet_ports(url, ledger, claims)
    queue, done = MemoryQueue(workers), threading.Event()
    totals: Counter[str] = Counter()
    lock, scanned_at = threading.Lock(), [0.0]

    def worker() -> None:
        while not done.is_set():
            messages = queue.take()
            if not messages:
                time.sleep(0.05)
                continue
            with lock:
                totals["busy"] += 1
            items = [i for m in messages if not isinstance(m, ScanPage) for i in m]
            for page in (m for m in messages if isinstance(m, ScanPage)):
                read_page(ports, queue, page, _now, every_s=900, threads=THREADS)
            report = work(ports, items, _now, threads=THREADS)
            queue.put(report.busy, delay_s=60)
            with lock:
                totals["busy"] -= 1
                totals["reconciled"] += report.reconciled
                totals["failed"] += report.failed
                for error in report.errors[:1]:
                    print(error, file=sys.stderr)

    earlier = _calls(url)
    began, cpu = time.monotonic(), time.process_time()
    threads = [threading.Thread(target=worker, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    dispatched = -DISPATCH_EVERY_S
    while time.monotonic() - began < most_s:
        if time.monotonic() - dispatched >= DISPATCH_EVERY_S:
            dispatch(ports, queue, datetime.now(UTC), scan_every_s=10**9, threads=THREADS)
            dispatched = time.monotonic()
        progress = ledger.scan_progress()
        scanned = bool(progress.started_at) and not progress.open
        if scanned and not scanned_at[0]:
            scanned_at[0] = time.monotonic() - began
        with lock:
            idle = not totals["busy"]
        if scanned and idle and not any(at <= time.monotonic() for at, _ in queue.messages):
            break
        time.sleep(0.2)
    wall = time.monotonic() - began
    done.set()
    for thread in threads:
        thread.join()
    calls: dict[str, int] = dict(_calls(url) - earlier)
    metrics_read = calls.pop("metrics read", 0)
    every = 0 if not pressed else max(1, round(1 / pressed))
    return Run(
        volumes=volumes, pressed=len(range(0, volumes, every)) if every else 0, wall_s=wall,
        scan_s=scanned_at[0], cpu_s=time.process_time() - cpu, reconciled=totals["reconciled"],
        twice=claims.twice_within_a_minute(), calls={**calls, **tables.calls},
        metrics_read=metrics_read, read_units=tables.units["read"],
        write_units=tables.units["write"], failed=totals["failed"],
    )  # fmt: skip


def _calls(url: str) -> Counter[str]:
    with urllib.request.urlopen(url) as answer:
        return Counter(json.load(answer))


def _now() -> datetime:
    return datetime.now(UTC)


def _completed(before: ScanProgress) -> ScanProgress:
    return replace(before, completed=datetime(2020, 1, 1, tzinfo=UTC))


def main() -> None:
    """Print one run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--volumes", type=int, default=1_000)
    parser.add_argument("--pressed", type=float, default=0.02)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--latency-ms", type=float, default=50.0)
    parser.add_argument("--quotas", action="store_true")
    parser.add_argument("--custodian", type=Path, help="Cloud Custodian's command, to run it too.")
    said = parser.parse_args()
    print(run(said.volumes, said.pressed, workers=said.workers, latency_ms=said.latency_ms,
              quotas=said.quotas, custodian=said.custodian))  # fmt: skip


if __name__ == "__main__":
    main()
