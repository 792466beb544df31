"""Somebody's own CDK app: no clone, two deployments of Headroom, deployed to the local endpoint."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headroom.cdk.asset import runtime_python, stage_function_code
from headroom.localaws.daemon import LocalAws
from tests import ROOT
from tests.localaws.endtoend.test_cdk_deploy import CDK, ENVIRONMENT, Deployment, headroom
from tests.packaging.conftest import Installed, environment

APP = """
from pathlib import Path

import aws_cdk as cdk

from headroom.cdk import Headroom

app = cdk.App(outdir="cdk.out")
stack = cdk.Stack(app, "Storage")
Headroom(stack, "Databases", prefix="databases", kinds=["ebs", "rds"], policy=Path("databases.yaml"))
Headroom(stack, "Batch", prefix="batch", detection="sweep", kinds="ebs",
         policy={"defaults": {"max_iops": 8000}})
app.synth()
"""
ISOLATED = "import headroom, sys; print(headroom.__file__); print(*sys.path, sep='\\n')"


@pytest.fixture(scope="session")
def with_cdk(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """What `pip install headroom-storage[cdk]` gives."""
    return environment(tmp_path_factory.mktemp("with-cdk"), built, "cdk")


@pytest.fixture(scope="module")
def project(with_cdk: Installed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the app, synthesised."""
    folder = tmp_path_factory.mktemp("app")
    (folder / "app.py").write_text(APP)
    (folder / "databases.yaml").write_text("defaults: {tags_may: narrow}\n")
    done = with_cdk.run("python", "app.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def _template(project: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project / "cdk.out/Storage.template.json").read_text())
    return found


def test_the_app_sees_nothing_of_the_clone(with_cdk: Installed, tmp_path: Path) -> None:
    done = with_cdk.run("python", "-c", ISOLATED, cwd=tmp_path)
    file, *path = done.stdout.splitlines()
    assert Path(file).is_relative_to(with_cdk.packages)
    assert str(ROOT) not in path


def test_both_deployments_have_the_package_that_the_clone_makes(project: Path) -> None:
    assets = [p for p in (project / "cdk.out").glob("asset.*") if p.is_dir()]
    assert len(assets) == 1, "both deployments share one package"
    ours = stage_function_code(python=runtime_python())
    assert _content(assets[0]) == _content(ours)
    handlers = {
        body["Properties"]["Handler"]
        for body in _template(project)["Resources"].values()
        if body["Type"] == "AWS::Lambda::Function"
    }
    assert {f"{h.rpartition('.')[0].replace('.', '/')}.py" for h in handlers} <= {
        str(path.relative_to(assets[0])) for path in assets[0].rglob("*.py")
    }


def _content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_without_the_extra_the_construct_says_what_to_install(
    core: Installed, tmp_path: Path
) -> None:
    done = core.run("python", "-c", "import headroom.cdk", cwd=tmp_path)
    assert done.stderr.strip().splitlines()[-1] == (
        "ImportError: headroom.cdk needs the AWS CDK: run pip install 'headroom-storage[cdk]'."
    )


@dataclass(frozen=True, kw_only=True)
class Lifecycle:
    """What the endpoint had after both deployments ran two minutes."""

    outputs: dict[str, str]
    sweeps: dict[str, int]
    """Completed sweeps by the service that the metric names."""
    status: dict[str, str]
    doctor: str
    left: list[Any]


@pytest.fixture(scope="module")
def lifecycle(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Lifecycle:
    if not CDK.exists():
        pytest.skip("needs the CDK command line: run `make setup`")
    with LocalAws(clock="lockstep") as aws:
        deployment = Deployment(aws, tmp_path_factory.mktemp("cdk"), project / "cdk.out")
        client, assembly = deployment.program.client, str(deployment.assembly)
        deployment.cdk("bootstrap", ENVIRONMENT, "--app", assembly)
        deployment.deploy()
        (stack,) = client("cloudformation").describe_stacks(StackName="Storage")["Stacks"]
        aws.control("clock", {"set": "2026-01-05T00:00:00Z", "seed": 1})
        deployment.program.tick(2)
        names = [f["FunctionName"] for f in client("lambda").list_functions()["Functions"]]
        logs = [(aws.state_dir / "logs" / f"{n}.log").read_text() for n in names if "Sweep" in n]
        headroom(aws, "pause", "--reason", "migration", "--stack", "Storage/databases")
        status = {
            prefix: headroom(aws, "status", "--stack", f"Storage/{prefix}")
            for prefix in ("batch", "databases")
        }
        doctor = headroom(aws, "doctor", "--stack", "Storage/batch", expected=(0, 2))
        deployment.cdk("destroy", "--app", assembly, "--all", "--force")
        return Lifecycle(
            outputs={o["OutputKey"]: o["OutputValue"] for o in stack["Outputs"]},
            sweeps={
                service: sum(
                    log.count('"SweepCompleted":[1.0]') for log in logs if f'"{service}"' in log
                )
                for service in ("batch", "databases")
            },
            status=status,
            doctor=doctor,
            left=client("lambda").list_functions()["Functions"],
        )


def test_both_deployments_sweep_every_minute(lifecycle: Lifecycle) -> None:
    assert lifecycle.sweeps == {"batch": 2, "databases": 2}


def test_each_deployment_has_its_own_tables(lifecycle: Lifecycle) -> None:
    tables = {
        key: lifecycle.outputs[key]
        for key in ("BatchRecordsTable", "BatchStateTable", "DatabasesRecordsTable",
                    "DatabasesStateTable")
    }  # fmt: skip
    assert len(set(tables.values())) == 4


def test_a_pause_stops_the_deployment_that_it_names(lifecycle: Lifecycle) -> None:
    assert "migration" in lifecycle.status["databases"]
    assert "migration" not in lifecycle.status["batch"]
    assert os.linesep.join(lifecycle.status.values()).count("Policy: version") == 2


def test_the_doctor_finds_the_functions_in_the_same_stack(lifecycle: Lifecycle) -> None:
    assert "functions" in lifecycle.doctor
    assert "there is no stack" not in lifecycle.doctor
    assert "no stack has the output" not in lifecycle.doctor


def test_destroying_the_stack_takes_both_loops(lifecycle: Lifecycle) -> None:
    assert lifecycle.left == []
