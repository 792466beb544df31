"""What a modification led from and to is reported as it was, whatever the type leaves out."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from headroom.domain.resources import Configuration, VolumeType
from headroom.domain.state import KnownModification
from tests.builders import NOW, gp2, gp3, io, ref

VOL = ref("vol-1")
ST1 = Configuration(volume_type=VolumeType.ST1, size_gib=500, iops=None, throughput_mibps=None)


@pytest.mark.parametrize(
    ("origin", "target"),
    [*product((gp2(400), io(VolumeType.IO1, 400, 3_000), ST1), (gp3(500), None)), (None, gp3())],
    ids=str,
)
def test_a_modification_is_reported_as_it_was(
    ledger: Any, origin: Configuration | None, target: Configuration | None
) -> None:
    """gp2 has no IOPS to set, and io1 no throughput: what is not set stays not set."""
    modification = KnownModification(
        started_at=NOW - timedelta(hours=1), by="headroom", origin=origin, target=target
    )
    ledger.save_modifications(VOL, [modification], now=NOW)
    assert ledger.resource_state(VOL, NOW).modifications == (modification,)
    later = KnownModification(
        started_at=NOW, by="other", origin=target or gp3(), target=origin or gp3()
    )
    ledger.save_modifications(VOL, [later], now=NOW)
    assert ledger.resource_state(VOL, NOW).modifications == (modification, later)
