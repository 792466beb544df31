"""What is packed beside the functions is pinned by hash and listed."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

import pytest

from tools import audit
from tools.audit import Mismatch, pins, sbom, vulnerabilities
from tools.pack_wheels import prune
from tools.service_models import operations

ROOT = Path(__file__).parents[2]
PINS = """# a comment
one==1.0 \\
    --hash=sha256:{a} \\
    --hash=sha256:{b}
two_parts==2.0 \\
    --hash=sha256:{c}
bare==3
""".format(a="a" * 64, b="b" * 64, c="c" * 64)
MODEL = {
    "metadata": {"endpointPrefix": "ec2"},
    "operations": {name: {"name": name} for name in ("CopyImage", *operations("ec2"))},
    "shapes": {},
}
META = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nLicense: MIT\n\n"


def packed(folder: Path, **versions: str) -> Path:
    for name, version in versions.items():
        about = folder / f"{name}-{version}.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(META.format(name=name, version=version))
    return folder


def test_every_package_that_is_packed_has_a_hash() -> None:
    text = (ROOT / "requirements-lambda.txt").read_text(encoding="utf-8")
    named = [line for line in text.splitlines() if "==" in line]
    found = pins(text)
    assert len(found) == len(named) > 10
    assert all(hashes for _, hashes in found.values())


def test_hashes_belong_to_the_pin_above_them() -> None:
    assert pins(PINS) == {"one": ("1.0", ["a" * 64, "b" * 64]), "two-parts": ("2.0", ["c" * 64])}


def test_the_list_names_each_package_with_version_hash_and_licence(tmp_path: Path) -> None:
    made = sbom(packed(tmp_path, one="1.0", two_parts="2.0"), pins(PINS))
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    assert [c["purl"] for c in made["components"]] == ["pkg:pypi/one@1.0", "pkg:pypi/two-parts@2.0"]
    assert [len(c["hashes"]) for c in made["components"]] == [2, 1]
    assert made["components"][0]["licenses"] == [{"license": {"name": "MIT"}}]


@pytest.mark.parametrize(
    ("versions", "problem"),
    [
        ({"one": "1.1", "two_parts": "2.0"}, "one 1.1 is packed"),
        ({"one": "1.0", "two_parts": "2.0", "three": "1"}, "three 1 is packed"),
        ({"one": "1.0"}, "pinned and not packed: two-parts"),
    ],
)
def test_what_is_packed_and_not_pinned_or_the_reverse_is_refused(
    tmp_path: Path, versions: dict[str, str], problem: str
) -> None:
    with pytest.raises(Mismatch, match=problem):
        sbom(packed(tmp_path, **versions), pins(PINS))


def answer(*vulns: dict[str, Any]) -> str:
    return json.dumps({"dependencies": [{"name": "one", "version": "1.0", "vulns": list(vulns)}]})


@pytest.mark.parametrize(
    ("stdout", "code", "says"),
    [
        (answer(), 0, "no known vulnerability"),
        (answer({"id": "CVE-1", "fix_versions": ["1.1"]}), 1, "one 1.0: CVE-1, fixed in 1.1"),
        ("", 0, "warning: known vulnerabilities were not looked up"),
    ],
)
def test_findings_fail_and_a_database_that_cannot_be_reached_warns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stdout: str, code: int,
    says: str,
) -> None:  # fmt: skip
    def run(*_: Any, **__: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 1, stdout=stdout, stderr="")

    monkeypatch.setattr(audit.subprocess, "run", run)
    assert vulnerabilities(Path("r.txt"), "pip-audit") == code
    assert says in capsys.readouterr().out


def test_without_pip_audit_there_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    assert vulnerabilities(Path("r.txt"), "/nowhere/pip-audit") == 0
    assert "FileNotFoundError" in capsys.readouterr().out


def test_a_pruned_package_keeps_a_true_record_of_what_is_left(tmp_path: Path) -> None:
    data, model = "botocore/data", gzip.compress(json.dumps(MODEL).encode())
    files = {
        f"{data}/ec2/2016/service-2.json.gz": model,
        f"{data}/ec2/2014/service-2.json.gz": model,
        f"{data}/s3/2006/service-2.json.gz": model,
        f"{data}/endpoints.json": b'{"partitions": [{"services": {"ec2": {}, "s3": {}}}]}',
        "botocore/a.py": b"",
        "bin/x": b"",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    folder = packed(tmp_path, botocore="1.0") / "botocore-1.0.dist-info"
    (folder / "INSTALLER").write_text("pip\n")
    (folder / "RECORD").write_text("".join(f"{name},sha256=x,2\n" for name in files))
    prune(tmp_path, frozenset({"ec2"}))
    rows = [row.split(",") for row in (folder / "RECORD").read_text().splitlines()]
    cut = f"{data}/ec2/2016/service-2.json"
    assert {name for name, _, _ in rows} == {cut, f"{data}/endpoints.json", "botocore/a.py"}
    for name, digest, size in rows:
        content = (tmp_path / name).read_bytes()
        found = urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        unchanged = name == "botocore/a.py"
        assert (digest, size) == (
            ("sha256=x", "2") if unchanged else (f"sha256={found}", str(len(content)))
        )
    assert json.loads((tmp_path / data / "endpoints.json").read_text()) == {
        "partitions": [{"services": {"ec2": {}}}]
    }
    assert not (folder / "INSTALLER").exists()
