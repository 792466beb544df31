"""Who else manages a resource's settings, by its tags: infrastructure as code, or a cluster.

Sources: CloudFormation "Resource tags" (stack-level tags are put on every AWS::EC2::Volume and on
no volume that comes of an instance's block device mappings), Amazon EBS CSI driver docs/tagging.md,
EKS User Guide "Amazon EKS cluster tags" (2026-10); AWS managed policy AmazonEKSBlockStoragePolicy,
which lets EKS Auto Mode change only volumes with the tag `eks:eks-cluster-name` (2026-11). Terraform and Pulumi have no tag of their own:
the policy lists those that mean them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from headroom.domain.resources.later_names import LATER

STACK, STACK_ID, LOGICAL_ID = (
    f"aws:cloudformation:{name}" for name in ("stack-name", "stack-id", "logical-id")
)
CSI_CLUSTER, CSI_NAME = "ebs.csi.aws.com/cluster", "CSIVolumeName"
AUTO_MODE_CLUSTER = "eks:eks-cluster-name"
EBS_CSI, AUTO_MODE_CSI = "ebs.csi.aws.com", "ebs.csi.eks.amazonaws.com"
"""Names of the CSI drivers: the add-on or self-managed one, and the one built into EKS Auto Mode."""
CLAIM, NAMESPACE, PERSISTENT_VOLUME = (
    f"kubernetes.io/created-for/{name}" for name in ("pvc/name", "pvc/namespace", "pv/name")
)
CLUSTER = "kubernetes.io/cluster/"
DEFAULT_CODE_TAGS = (
    ("created-by", "terraform"), ("iac", "terraform"), ("managed-by", "opentofu"),
    ("managed-by", "pulumi"), ("managed-by", "terraform"), ("opentofu", "true"),
    ("provisioner", "terraform"), ("pulumi", "true"), ("terraform", "true"),
)  # fmt: skip
"""Tags that say that code owns a volume, if the policy names none."""


class Tool(StrEnum):
    """What manages the settings elsewhere."""

    CLOUDFORMATION = "CloudFormation"
    KUBERNETES = "Kubernetes"
    TERRAFORM = "Terraform"
    OPENTOFU = "OpenTofu"
    PULUMI = "Pulumi"
    CODE = "code"
    """Any other tool that the policy names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeOwner:
    """Another owner, with the names of the volume in its files; empty where unknown."""

    tool: Tool
    detected_from: str
    """The tag that says so, as written on the volume."""
    stack: str = ""
    logical_id: str = ""
    cluster: str = ""
    namespace: str = ""
    claim: str = ""
    driver: str = field(default="", metadata=LATER)
    """The CSI driver that made the volume; empty for one that no driver of these made."""

    def __str__(self) -> str:
        match self.tool:
            case Tool.CLOUDFORMATION:
                return f"{self.tool} (stack {self.stack or 'unknown'})"
            case Tool.KUBERNETES if self.claim:
                tool = "EKS Auto Mode" if self.driver == AUTO_MODE_CSI else self.tool
                return f"{tool} (claim {self.namespace or 'default'}/{self.claim})"
            case Tool.KUBERNETES:
                return f"{self.tool} (cluster {self.cluster or 'unknown'})"
            case Tool.CODE:
                return f"code (tag {self.detected_from})"
            case _:
                return self.tool.value


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingNames:
    """What the tools call a kind of storage, and its type, size, IOPS and throughput, in that order."""

    cloudformation: str
    terraform: str
    pulumi: str
    properties: tuple[str, str, str, str]
    """In CloudFormation and in AWS's own API."""
    arguments: tuple[str, str, str, str]
    """In Terraform and OpenTofu."""
    pulumi_properties: tuple[str, str, str, str]
    size_is_text: bool = False
    """Whether CloudFormation takes the size as text."""


def code_owner(
    tags: Iterable[tuple[str, str]], code_tags: Sequence[tuple[str, str]]
) -> CodeOwner | None:
    """Who else manages the settings, None for nobody.

    A cluster goes before a stack, and both before the policy's `code_tags`, because they name the
    volume.
    """
    found = dict(tags)
    return _cluster(found) or _stack(found) or _code(found, code_tags)


def _cluster(tags: Mapping[str, str]) -> CodeOwner | None:
    of_cluster = next((key for key in sorted(tags) if key.startswith(CLUSTER)), "")
    named = (CLAIM, PERSISTENT_VOLUME, CSI_CLUSTER, AUTO_MODE_CLUSTER)
    detected_from = next((key for key in named if key in tags), "")
    if not detected_from and not of_cluster:
        return None
    return CodeOwner(
        tool=Tool.KUBERNETES, detected_from=detected_from or of_cluster,
        cluster=tags.get(AUTO_MODE_CLUSTER) or of_cluster.removeprefix(CLUSTER),
        namespace=tags.get(NAMESPACE, ""), claim=tags.get(CLAIM, ""), driver=_driver(tags),
    )  # fmt: skip


def _driver(tags: Mapping[str, str]) -> str:
    if AUTO_MODE_CLUSTER in tags:
        return AUTO_MODE_CSI
    return EBS_CSI if CSI_CLUSTER in tags or CSI_NAME in tags else ""


def _stack(tags: Mapping[str, str]) -> CodeOwner | None:
    detected_from = next((key for key in (STACK, STACK_ID, LOGICAL_ID) if key in tags), None)
    if detected_from is None:
        return None
    return CodeOwner(
        tool=Tool.CLOUDFORMATION, detected_from=detected_from, logical_id=tags.get(LOGICAL_ID, ""),
        stack=tags.get(STACK) or tags.get(STACK_ID, "").partition("stack/")[2].partition("/")[0],
    )  # fmt: skip


def _code(tags: Mapping[str, str], code_tags: Sequence[tuple[str, str]]) -> CodeOwner | None:
    """Keys are compared by letters and digits, without case: ManagedBy is managed-by."""
    wanted = {(_plain(key), value.strip().casefold()) for key, value in code_tags}
    for key, value in sorted(tags.items()):
        if (_plain(key), value.strip().casefold()) in wanted:
            return CodeOwner(tool=_tool(key, value), detected_from=f"{key}={value}")
    return None


def _tool(key: str, value: str) -> Tool:
    text = f"{_plain(value)} {_plain(key)}"
    for tool in (Tool.TERRAFORM, Tool.OPENTOFU, Tool.PULUMI):
        if tool.value.casefold() in text:
            return tool
    return Tool.CODE


def _plain(key: str) -> str:
    return "".join(c for c in key.casefold() if c.isalnum())
