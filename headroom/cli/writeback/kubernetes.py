"""The VolumeAttributesClass of a claim: as a patch of manifests, or set in the cluster through kubectl.

Only a change that AWS has accepted is handed to a cluster: the driver would make any other one
itself, past every guardrail. A class that the claim's owner chose is never replaced.

Sources: Kubernetes "Volume Attributes Classes" (stable in 1.34, v1beta1 from 1.31); Amazon EBS CSI driver
docs/modify-volume.md and pkg/cloud/cloud.go (a volume that is as the class wants it is not modified
again, since 2024); EKS Auto Mode, driver ebs.csi.eks.amazonaws.com (2026-11).
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from headroom.cli.terminal.problems import Problem
from headroom.cli.writeback.edits import CannotPatch, Edit, Patched, files, line_of, read
from headroom.cli.writeback.handoff import Handoff
from headroom.cli.writeback.nodes import get, is_literal, text_of
from headroom.domain.decision import class_manifest, class_name, class_text
from headroom.domain.resources import AUTO_MODE_CSI, EBS_CSI

FIELD = "volumeAttributesClassName"
CLASSES = "volumeattributesclasses"
DRIVERS = (EBS_CSI, AUTO_MODE_CSI)
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_TIMEOUT_S = 60


def _named_driver(handoff: Handoff) -> str:
    """The volume's driver, which the manifest names: one of `DRIVERS`, whatever an event says."""
    driver = handoff.owner.driver if handoff.owner else ""
    if not driver:
        raise CannotPatch(
            "the volume's tags name no EBS CSI driver, so a VolumeAttributesClass does not apply"
        )
    if driver not in DRIVERS:
        raise CannotPatch(f"the volume's driver is none of {', '.join(DRIVERS)}")
    return driver


def patched(folder: Path, handoff: Handoff) -> Patched:
    """The patch of the claim's manifest, with the class behind it; raises CannotPatch."""
    claim, namespace = _claim(handoff)
    driver = _named_driver(handoff)
    name, documents = class_name(handoff.target), list(_documents(folder))
    found = [
        (path, text, root)
        for path, text, root in documents
        if text_of(root, "kind") == "PersistentVolumeClaim"
        and text_of(root, "metadata", "name") == claim
        and text_of(root, "metadata", "namespace") in ("", namespace)
    ]
    if len(found) != 1:
        places = ", ".join(f"{path}:{root.start_mark.line + 1}" for path, _, root in found)
        raise CannotPatch(
            f"{folder} has {len(found)} manifests of the claim {namespace}/{claim} {places}. A claim of a "
            "StatefulSet or a Helm chart has no manifest of its own: use --apply, or apply the class and the patch by hand"
        )
    path, text, root = found[0]
    edits = list(_named(path, text, root, name))
    known = {
        text_of(each, "metadata", "name")
        for _, _, each in documents
        if text_of(each, "kind") == "VolumeAttributesClass"
    }
    if name not in known:
        begin = "---\n" if text.endswith("\n") else "\n---\n"
        addition = begin + class_text(handoff.target, driver)
        addition = addition.replace("\n", "\r\n") if "\r\n" in text else addition
        edits.append(Edit(path=path, start=len(text), end=len(text), text=addition))
    place = f"{path}:{root.start_mark.line + 1} claim {namespace}/{claim}, found by its tags"
    return Patched(place=place, edits=tuple(edits))


def _documents(folder: Path) -> Iterator[tuple[Path, str, yaml.MappingNode]]:
    """Every document of YAML in a folder; files that are none, as templates of charts, are left out."""
    for path in files(folder, ".yaml", ".yml"):
        try:
            text = read(path)
            roots = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
        except (CannotPatch, yaml.YAMLError):
            continue
        yield from ((path, text, root) for root in roots if isinstance(root, yaml.MappingNode))


def _named(path: Path, text: str, root: yaml.MappingNode, name: str) -> Iterator[Edit]:
    spec = get(root, "spec")
    if not isinstance(spec, yaml.MappingNode) or spec.flow_style or not spec.value:
        raise CannotPatch(f"{path}:{root.start_mark.line + 1}: add {FIELD}: {name} to its spec")
    current = get(spec, FIELD)
    if current is None:
        at = spec.value[0][0].start_mark.index
        first = text.rfind("\n", 0, at) + 1
        end = "\r\n" if "\r\n" in text else "\n"
        yield Edit(path=path, start=first, end=first, text=f"{text[first:at]}{FIELD}: {name}{end}")
        return
    place = f"{path}:{line_of(text, current.start_mark.index)}"
    if not is_literal(text, current):
        raise CannotPatch(f"{place}: {FIELD} is not a literal: change it by hand")
    _refuse_owners_class(place, current.value)
    if current.value != name:
        start, end = current.start_mark.index, current.end_mark.index
        yield Edit(path=path, start=start, end=end, text=name)


def _refuse_owners_class(place: str, current: str) -> None:
    if current and not current.startswith("headroom-"):
        raise CannotPatch(
            f"{place} names the class {current}, which its owner chose: change it there"
        )


def _claim(handoff: Handoff) -> tuple[str, str]:
    """Name and namespace of the claim; raises CannotPatch for names that Kubernetes does not have."""
    owner = handoff.owner
    claim, namespace = (owner.claim, owner.namespace or "default") if owner else ("", "")
    if not _NAME.fullmatch(claim) or not _NAME.fullmatch(namespace):
        raise CannotPatch("no claim uses the volume: change the launch template of its node")
    return claim, namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubectl:
    """A cluster through `kubectl`, which knows how to sign in to it."""

    kubeconfig: Path | None = None
    context: str = ""

    def get(self, path: str) -> Any:
        """What the API has at a path; None for nothing. Raises Problem."""
        return self._call(["get", "--raw", path])

    def create(self, path: str, value: object) -> None:
        """Create an object; raises Problem."""
        self._call(["create", "--raw", path, "-f", "-"], value)

    def replace(self, path: str, value: object) -> None:
        """Replace an object unless it has changed since it was read; raises Problem."""
        self._call(["replace", "--raw", path, "-f", "-"], value)

    def _call(self, words: Sequence[str], value: object = None) -> Any:
        place = [] if self.kubeconfig is None else [f"--kubeconfig={self.kubeconfig}"]
        place += [f"--context={self.context}"] if self.context else []
        try:
            made = subprocess.run(  # noqa: S603 - no shell; paths are checked names
                ["kubectl", *place, *words],  # noqa: S607 - the kubectl of the person's PATH
                input=None if value is None else json.dumps(value), capture_output=True,
                text=True, timeout=_TIMEOUT_S, check=False,
            )  # fmt: skip
        except FileNotFoundError:
            raise Problem("--apply needs kubectl on the PATH.") from None
        except subprocess.TimeoutExpired:
            raise Problem(f"The cluster did not answer within {_TIMEOUT_S} seconds.") from None
        if made.returncode and "(NotFound)" in made.stderr and value is None:
            return None
        if made.returncode:
            raise Problem(f"kubectl {words[0]} {words[2]} failed: {made.stderr.strip()}")
        try:
            return json.loads(made.stdout)
        except ValueError:
            raise Problem(f"kubectl {words[0]} {words[2]} did not return JSON.") from None


def applied(handoff: Handoff, cluster: Kubectl) -> str:
    """Name the class in the claim; what was done in a sentence. Raises CannotPatch, Problem."""
    if not handoff.made:
        raise CannotPatch(
            "AWS has not accepted the change: with the class, the driver would make it without any guardrail"
        )
    claim, namespace = _claim(handoff)
    path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{claim}"
    found = cluster.get(path)
    if found is None:
        raise CannotPatch(f"the cluster has no claim {namespace}/{claim}")
    driver = _driver(cluster, found, handoff)
    name, current = class_name(handoff.target), found["spec"].get(FIELD) or ""
    _refuse_owners_class(f"claim {namespace}/{claim}", current)
    if current == name:
        return f"Claim {namespace}/{claim} already names the class {name}"
    _ensure_class(cluster, class_manifest(handoff.target, driver), name)
    found["spec"][FIELD] = name
    cluster.replace(path, found)  # with its resourceVersion: a claim that changed since is refused
    return f"Claim {namespace}/{claim} now names the class {name} for {driver}"


def _driver(cluster: Kubectl, claim: Any, handoff: Handoff) -> str:
    """The driver of the claim's volume, which must be the one of the decision."""
    volume = str(claim["spec"].get("volumeName") or "")
    found = cluster.get(f"/api/v1/persistentvolumes/{volume}") if _NAME.fullmatch(volume) else None
    source = {} if found is None else found["spec"].get("csi") or {}
    if source.get("volumeHandle") != handoff.identifier:
        raise CannotPatch(
            f"the claim's volume is {source.get('volumeHandle') or 'unknown'}, not {handoff.identifier}: "
            "this is another cluster, or another claim of that name"
        )
    driver = str(source.get("driver"))
    if driver not in DRIVERS:
        raise CannotPatch(f"the volume's driver is {driver}, not one of {', '.join(DRIVERS)}")
    return driver


def _ensure_class(cluster: Kubectl, wanted: dict[str, Any], name: str) -> None:
    """Create the class in the newest version that the cluster has, unless it is there as it must be."""
    for version in ("v1", "v1beta1"):
        group = f"/apis/storage.k8s.io/{version}"
        served = cluster.get(group) or {}
        if any(each.get("name") == CLASSES for each in served.get("resources", ())):
            break
    else:
        raise CannotPatch(
            "the cluster does not support VolumeAttributesClass (Kubernetes 1.34, or 1.31 if enabled)"
        )
    there = cluster.get(f"{group}/{CLASSES}/{name}")
    if there is None:
        cluster.create(f"{group}/{CLASSES}", {**wanted, "apiVersion": f"storage.k8s.io/{version}"})
    elif any(there.get(key) != wanted[key] for key in ("driverName", "parameters")):
        raise CannotPatch(f"the class {name} exists with different content")
