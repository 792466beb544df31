"""How one volume serves a load: limits, burst credits, queue, instance limits, free space. Exact.

May import `awsrules`, `workloads`, `inputs`.
Offers: VolumePhysics, Attachment, MinuteFacts, Disk, instance limits."""

from headroom.proving.physics.attachment import Attachment
from headroom.proving.physics.disk import (
    CONTENTS_KEYS,
    Contents,
    Disk,
    SpaceResult,
    free_space_history,
    parse_contents,
)
from headroom.proving.physics.filling import Filling
from headroom.proving.physics.instances import BOUNDLESS, instance_limits, mb_to_mib_per_s
from headroom.proving.physics.latency import LatencyHistogram
from headroom.proving.physics.minute_facts import ENOUGH_S, NONE_MISSED, STARVED_SHARE, MinuteFacts
from headroom.proving.physics.other_load import OtherLoad
from headroom.proving.physics.queue import (
    ABOVE,
    NEAR,
    VOLUME_BYTES,
    VOLUME_IOPS,
    VolumeLimits,
    volume_limits,
)
from headroom.proving.physics.sharing import share_instance
from headroom.proving.physics.volume import QUEUE_LIMIT, SERVICE_S, VolumePhysics
