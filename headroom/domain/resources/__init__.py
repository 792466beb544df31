"""What exists: volumes, databases, clusters, instances, who else owns them, what was observed of them.

May import: nothing of Headroom.
The door offers the types every other room speaks in: `ResourceRef`, `Configuration`, `Volume`, `Observation`, `Signal`.
"""

from headroom.domain.resources.clusters import (
    GATE,
    NVME_FAMILIES,
    SERVERLESS,
    AuroraActivity,
    AuroraCluster,
    AuroraObservation,
    Goal,
    Member,
    SeenMembers,
    StorageMode,
    configuration_of,
    family,
    has_nvme,
    mode_of,
    units,
)
from headroom.domain.resources.databases import (
    COPIES,
    PRIMARY_VOLUME,
    STRIPED_FROM_GIB,
    STRIPES,
    AdditionalVolume,
    Database,
    DatabaseFacts,
    Deployment,
    Engine,
)
from headroom.domain.resources.deferred import Deferring, defer
from headroom.domain.resources.digest import big_endian, digest
from headroom.domain.resources.external_owners import (
    AUTO_MODE_CSI,
    DEFAULT_CODE_TAGS,
    EBS_CSI,
    CodeOwner,
    SettingNames,
    Tool,
    code_owner,
)
from headroom.domain.resources.later_names import LATER, kept_as_text
from headroom.domain.resources.observation import (
    InstanceActivity,
    Observation,
    Series,
    VolumeActivity,
)
from headroom.domain.resources.signals import Claim, RejectedSignal, Signal, SourceEvent
from headroom.domain.resources.volumes import (
    EBS_TYPES,
    GOVERNED,
    STORAGE_MODES,
    Configuration,
    Instance,
    InstanceLimits,
    Kind,
    Modification,
    ModificationState,
    PriceUnknown,
    ResourceRef,
    Span,
    Spans,
    ValidStorage,
    Volume,
    VolumeType,
    spoken,
)
