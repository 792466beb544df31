"""What a configuration delivers depends on nothing that was asked before."""

from __future__ import annotations

from headroom.domain.catalog.ebs import capability
from headroom.domain.resources import Configuration, VolumeType


def test_an_equal_number_of_another_type_asked_before_changes_no_answer() -> None:
    def asked(iops: int) -> float:
        return capability(
            Configuration(volume_type=VolumeType.GP3, size_gib=100, iops=iops, throughput_mibps=125)
        ).sustained_iops

    asked(3_000.0)  # type: ignore[arg-type]
    assert type(asked(3_000)) is int, "a record would say 3000.0, and its hash would differ"
