"""A claim names its VolumeAttributesClass: in its manifest, or in the cluster through kubectl."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml

from headroom.cli.main import run
from tests.builders import ACCOUNT, REGION
from tests.cli.writeback.api_server import CLASSES, STORAGE, Cluster, kubeconfig, serving
from tests.cli.writeback.repository import (
    NOBODY,
    TERRAFORM,
    changed_lines,
    event,
    repository,
    settings,
    volume_arn,
    written_back,
)

CLAIM = {
    **NOBODY,
    "tool": "Kubernetes",
    "namespace": "db",
    "claim": "pg-0",
    "driver": "ebs.csi.aws.com",
}
AUTO = {**CLAIM, "driver": "ebs.csi.eks.amazonaws.com", "cluster": "prod"}
NAME = "headroom-gp3-6000-400"
PVC = "/api/v1/namespaces/db/persistentvolumeclaims/pg-0"
PV = "/api/v1/persistentvolumes/pvc-1"
MANIFEST = """apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: pg-0, namespace: db}
spec:
  # the database
  accessModes: [ReadWriteOnce]
  storageClassName: gp3
---
kind: PersistentVolumeClaim
metadata: {name: pg-0, namespace: other}
spec:
  storageClassName: gp3
"""
CLASS = {"type": "gp3", "iops": "6000", "throughput": "400"}
needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "code"
    made.mkdir()
    return made


@pytest.mark.parametrize("owner", [CLAIM, AUTO], ids=["add-on", "EKS Auto Mode"])
def test_the_manifest_names_the_class_and_brings_it(
    folder: Path, capsys: Any, owner: dict[str, Any]
) -> None:
    repository(folder, {"pg/claim.yaml": MANIFEST, "chart/claim.yaml": "name: {{ .Values.x }}: {"})
    code, patch, said = written_back(folder, event(owner=owner), capsys=capsys)
    assert code == 0, said
    lines = changed_lines(folder, patch)
    assert lines[0] == f"+  volumeAttributesClassName: {NAME}"
    assert all(line.startswith("+") for line in lines)
    first, other, made = yaml.safe_load_all((folder / "pg/claim.yaml").read_text())
    assert first["spec"]["volumeAttributesClassName"] == NAME
    assert "volumeAttributesClassName" not in other["spec"]
    assert (made["kind"], made["metadata"]["name"]) == ("VolumeAttributesClass", NAME)
    assert (made["driverName"], made["parameters"]) == (owner["driver"], CLASS)
    again = written_back(folder, event(owner=owner), capsys=capsys)
    assert again[:2] == (0, "")


def test_a_class_that_headroom_named_before_is_replaced(folder: Path, capsys: Any) -> None:
    before = MANIFEST.replace(
        "  storageClassName",
        "  volumeAttributesClassName: headroom-gp3-4000-125 # 1\n  storageClassName",
        1,
    )
    repository(folder, {"claim.yaml": before})
    code, patch, _ = written_back(folder, event(owner=CLAIM), capsys=capsys)
    assert code == 0
    assert changed_lines(folder, patch)[:2] == [
        "-  volumeAttributesClassName: headroom-gp3-4000-125 # 1",
        f"+  volumeAttributesClassName: {NAME} # 1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "owner", "said"),
    [
        (MANIFEST.replace("  storageClassName", "  volumeAttributesClassName: gold\n  storageClassName"),
         CLAIM, "names the class gold, which its owner chose"),
        (MANIFEST + "---\n" + MANIFEST, CLAIM, "has 2 manifests of the claim db/pg-0"),
        (MANIFEST.replace("name: pg-0", "name: pg"), CLAIM, "A claim of a StatefulSet"),
        (MANIFEST, {**CLAIM, "driver": None}, "tags name no EBS CSI driver"),
        (MANIFEST, {**CLAIM, "claim": None}, "no claim uses the volume"),
        (MANIFEST, {**CLAIM, "driver": "x\n---\nkind: ClusterRoleBinding"}, "driver is none of ebs.csi"),
    ],
    ids=["owner's class", "two manifests", "no manifest", "in-tree volume", "node's volume", "forged driver"],
)  # fmt: skip
def test_what_would_be_a_guess_is_refused(
    folder: Path, capsys: Any, text: str, owner: dict[str, Any], said: str
) -> None:
    repository(folder, {"claim.yaml": text})
    code, patch, message = written_back(folder, event(owner=owner), capsys=capsys)
    assert (code, patch) == (1, "")
    assert said in message


def test_without_a_patch_the_class_and_the_command_are_printed(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "event.json"
    path.write_text(json.dumps(event(owner=AUTO)))
    assert run(["writeback", "--event", str(path)]) == 0
    made, command = capsys.readouterr().out.split("---\n")
    assert yaml.safe_load(made)["driverName"] == "ebs.csi.eks.amazonaws.com"
    assert command.startswith("# kubectl patch pvc pg-0 --namespace db --patch ")


@pytest.fixture
def cluster(made_volume: str) -> Iterator[Cluster]:
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "pg-0", "resourceVersion": "7"},
             "spec": {"volumeName": "pvc-1", "storageClassName": "gp3"}}  # fmt: skip
    volume = {"spec": {"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": made_volume}}}
    with serving(Cluster(objects={PVC: claim, PV: volume})) as there:
        yield there


def apply(folder: Path, there: Cluster, capsys: Any, **changes: Any) -> tuple[int, str]:
    path = folder / "event.json"
    volume = boto3.client("ec2", region_name=REGION).describe_volumes()["Volumes"][0]["VolumeId"]
    path.write_text(json.dumps(event(**{"owner": CLAIM, "arn": volume_arn(volume), **changes})))
    code = run(["writeback", "--event", str(path), "--apply", "--context", "there",
                "--kubeconfig", kubeconfig(folder, there)])  # fmt: skip
    said = capsys.readouterr()
    return code, said.out + said.err


@needs_kubectl
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_the_claim_in_the_cluster_names_a_class_that_is_created(
    tmp_path: Path, cluster: Cluster, capsys: Any, version: str
) -> None:
    cluster.versions = (version,)
    code, said = apply(tmp_path, cluster, capsys)
    assert code == 0, said
    assert f"Claim db/pg-0 now names the class {NAME} for ebs.csi.aws.com." in said
    made = cluster.objects[f"{STORAGE}/{version}/{CLASSES}/{NAME}"]
    assert (made["apiVersion"], made["driverName"]) == (
        f"storage.k8s.io/{version}",
        "ebs.csi.aws.com",
    )
    assert made["parameters"] == CLASS
    assert cluster.objects[PVC]["spec"] == {
        "volumeName": "pvc-1", "storageClassName": "gp3", "volumeAttributesClassName": NAME,
    }  # fmt: skip
    cluster.calls.clear()
    assert apply(tmp_path, cluster, capsys)[0] == 0
    assert all(call.startswith("GET") for call in cluster.calls)


def gone(there: Cluster) -> None:
    del there.objects[PVC]


def another_volume(there: Cluster) -> None:
    there.objects[PV]["spec"]["csi"]["volumeHandle"] = "vol-1"


def another_driver(there: Cluster) -> None:
    there.objects[PV]["spec"]["csi"]["driver"] = "efs.csi.aws.com"


def owners_class(there: Cluster) -> None:
    there.objects[PVC]["spec"]["volumeAttributesClassName"] = "gold"


def other_content(there: Cluster) -> None:
    there.objects[f"{STORAGE}/v1/{CLASSES}/{NAME}"] = {
        "driverName": "ebs.csi.aws.com",
        "parameters": {},
    }


def no_classes(there: Cluster) -> None:
    there.versions = ()


def may_not_write(there: Cluster) -> None:
    there.denied = frozenset({"PUT"})


def changed_meanwhile(there: Cluster) -> None:
    answer = there.answer

    def raced(method: str, path: str, body: Any) -> tuple[int, Any]:
        if method == "PUT":
            there.objects[PVC]["metadata"]["resourceVersion"] = "8"
        return answer(method, path, body)

    there.answer = raced  # type: ignore[method-assign]


@needs_kubectl
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (gone, "the cluster has no claim db/pg-0"), (another_volume, "the claim's volume is vol-1, not vol-"),
        (another_driver, "the volume's driver is efs.csi.aws.com"),
        (owners_class, "names the class gold, which its owner chose"),
        (other_content, f"the class {NAME} exists with different content"),
        (no_classes, "the cluster does not support VolumeAttributesClass"), (may_not_write, "(Forbidden)"),
        (changed_meanwhile, "(Conflict)"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)  # fmt: skip
def test_a_claim_that_is_not_certain_keeps_its_class(
    tmp_path: Path, cluster: Cluster, capsys: Any, damage: Any, said: str
) -> None:
    damage(cluster)
    before = json.dumps(cluster.objects.get(PVC, {}).get("spec"))
    code, message = apply(tmp_path, cluster, capsys)
    assert code == 1
    assert said in message
    assert json.dumps(cluster.objects.get(PVC, {}).get("spec")) == before


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"step": "decided"}, "AWS has not accepted the change"),
        ({"after": settings("gp3", 100, 5000, 400)}, "the volume is gp3 100 GiB 6000 IOPS 400 MiB/s, not gp3 100 GiB 5000"),
        ({"arn": f"arn:aws:ec2:{REGION}:{ACCOUNT}:volume/vol-0dead"}, "the volume cannot be read"),
        ({"owner": {**CLAIM, "claim": "../../secrets"}}, "no claim uses the volume"),
        ({"owner": TERRAFORM}, "--apply is only for Kubernetes claims"),
    ],
    ids=["not made", "an event of before", "deleted", "a name that is none", "another owner"],
)  # fmt: skip
def test_what_the_driver_would_change_never_reaches_the_cluster(
    tmp_path: Path, cluster: Cluster, capsys: Any, changes: dict[str, Any], said: str
) -> None:
    code, message = apply(tmp_path, cluster, capsys, **changes)
    assert code
    assert said in message
    assert cluster.calls == []
