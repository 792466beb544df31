"""Runs Cloud Custodian against the stub fleet, to compare what finding pressed volumes takes.

Cloud Custodian is not a requirement of this project: install it in an environment of its own
(`pip install c7n`) and give the path of its command. It runs a policy that selects the volumes whose mean
queue of the last half hour is at least 32, and changes nothing.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

POLICY = {
    "policies": [
        {
            "name": "pressed",
            "resource": "aws.ebs",
            "filters": [
                {
                    "type": "metrics", "name": "VolumeQueueLength", "statistics": "Average",
                    "days": 0.0208, "op": "ge", "value": 32,
                }
            ],
        }
    ]
}  # fmt: skip
"""Cloud Custodian reads one metric by one call; the Exceeded checks need the instance's id too, which it does not give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustodianRun:
    """What one run took, and how many volumes it found."""

    found: int
    wall_s: float
    cpu_s: float
    calls: dict[str, int]

    @property
    def requests(self) -> int:
        """Calls of AWS."""
        return sum(count for name, count in self.calls.items() if name != "metrics read")

    def __str__(self) -> str:
        calls = ", ".join(f"{name} {count:,}" for name, count in sorted(self.calls.items()))
        return (
            f"Cloud Custodian: {self.found:,} volumes found after {self.wall_s:.1f} s, "
            f"{self.cpu_s:.1f} CPU s; {calls}"
        )


def run_custodian(
    command: Path, url: str, *, account_id: str, region: str, most_s: float = 900.0
) -> CustodianRun:
    """Select pressed volumes at the stub `url`; raises CalledProcessError."""
    before = _calls(url)
    with tempfile.TemporaryDirectory() as folder:
        policy, out = Path(folder) / "policy.json", Path(folder) / "out"
        policy.write_text(json.dumps(POLICY))
        began, cpu = time.monotonic(), _children_s()
        subprocess.run(
            [str(command), "run", "--region", region, "--cache-period", "0", "--output-dir", str(out), str(policy)],
            check=True, capture_output=True, timeout=most_s,
            env={**os.environ, "AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "test",
                 "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": region,
                 "AWS_ACCOUNT_ID": account_id},
        )  # fmt: skip
        wall, cpu = time.monotonic() - began, _children_s() - cpu
        found = json.loads((out / "pressed" / "resources.json").read_text())
    return CustodianRun(found=len(found), wall_s=wall, cpu_s=cpu, calls=dict(_calls(url) - before))


def _calls(url: str) -> Counter[str]:
    with urlopen(url) as answer:
        return Counter(json.load(answer))


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
