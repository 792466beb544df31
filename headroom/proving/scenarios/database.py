"""`kind: rds` in a scenario: the storage of a DB instance, in RDS's own words."""

from __future__ import annotations

from dataclasses import replace

from headroom.domain.catalog.rds import band_of, why_invalid
from headroom.domain.resources import (
    STRIPED_FROM_GIB,
    Configuration,
    Database,
    Deployment,
    Engine,
    VolumeType,
)
from headroom.proving.inputs import BadInput, Block, as_quoted
from headroom.proving.physics import CONTENTS_KEYS
from headroom.proving.scenarios.load_blocks import AttachmentSettings, parse_attachment

DATABASE = (
    "kind", "engine", "instance_class", "multi_az", "allocated_storage_gib", "storage_type",
    "iops", "storage_throughput_mibps", "burst_balance_percent", "tags", *CONTENTS_KEYS,
)  # fmt: skip
ENGINES = tuple(engine.value for engine in Engine)
TYPES = ("gp3", "gp2", "io1", "io2")


def storage_of(block: Block) -> Configuration:
    """The storage that the block describes; raises BadInput for what RDS would not have."""
    multi_az = block.flag("multi_az", False)
    database = Database(
        engine=Engine(block.choice("engine", ENGINES)),
        deployment=Deployment.MULTI_AZ if multi_az else Deployment.SINGLE_AZ,
    )
    plain = Configuration(
        volume_type=VolumeType(block.choice("storage_type", TYPES)),
        size_gib=block.whole("allocated_storage_gib", low=1, high=65_536),
        iops=None, throughput_mibps=None, database=database,
    )  # fmt: skip
    band = band_of(plain)
    gp3 = plain.volume_type is VolumeType.GP3
    threshold = STRIPED_FROM_GIB.get(database.engine)
    for key in ("iops", "storage_throughput_mibps"):
        if band is not None and not band.iops and block.has(key):
            why = f"below {threshold} GiB" if gp3 else f"with {plain.volume_type}"
            raise block.wrong(
                key, f"is {as_quoted(block.raw(key))}; {database.engine} takes none {why}"
            )
    least = band if band is not None and gp3 and band.iops else None
    found = replace(
        plain,
        iops=block.setting("iops", least.iops[0].low if least else None),
        throughput_mibps=block.setting(
            "storage_throughput_mibps", least.mibps[0].low if least else None
        ),
    )
    problem = why_invalid(found)
    if problem is not None:
        raise block.wrong("", f"is no storage RDS would make: {problem}")
    return found


def database_attachment(block: Block, attachment: object) -> AttachmentSettings:
    """What the instance class can take; without one it is never the limit."""
    if attachment is not None:
        raise block.wrong(
            "", "is of kind rds, which has no attachment block; give its instance_class instead"
        )
    if not block.has("instance_class"):
        return parse_attachment(None, source=block.source)
    name = block.text("instance_class")
    if not name.startswith("db."):
        raise block.wrong("instance_class", f"is {name!r}; it must be one like db.r6g.4xlarge")
    try:
        return parse_attachment({"instance_type": name.removeprefix("db.")}, source=block.source)
    except BadInput:
        raise block.wrong(
            "instance_class",
            f"is {name!r}, an instance whose EBS limits are not known; leave it out for one that is "
            "never the limit",
        ) from None
