"""The stacks, synthesised once for all workers, and what tests read out of them."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.dynamodb_local.server import QUICK_START

ROOT = Path(__file__).resolve().parents[2]
NOTES = "notes.json"
UNCOPIED = "aws:cdk:disable-asset-staging"
JARS = ROOT / "build" / "event-ruler"
POM = Path(__file__).parent / "event_ruler" / "pom.xml"

Template = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesised:
    """What a synth wrote."""

    directory: Path
    state: Template
    loop: Template
    notes: tuple[str, ...]
    """Info, warning and error annotations of both stacks."""

    @property
    def templates(self) -> tuple[Template, ...]:
        return (self.state, self.loop)

    def asset(self) -> Path:
        """The folder of the functions' code that the template names."""
        manifest = json.loads((self.directory / "HeadroomLoop.assets.json").read_text())
        sources = [
            entry["source"]["path"]
            for entry in manifest["files"].values()
            if entry["source"]["packaging"] == "zip"
        ]
        assert len(sources) == 1, "both functions share one asset"
        return self.directory / sources[0]


def resources(template: Template, of_type: str) -> dict[str, dict[str, Any]]:
    """Resources of one type by logical id."""
    found = template["Resources"].items()
    return {name: body for name, body in found if body["Type"] == of_type}


def properties(template: Template, of_type: str) -> list[dict[str, Any]]:
    """Properties of every resource of one type."""
    return [body.get("Properties", {}) for body in resources(template, of_type).values()]


def synthesise(outdir: Path, **context: object) -> Synthesised:
    """Both stacks with the context of cdk.json and `context` over it.

    The functions' code stays where it is staged: a copy of it is half of the time of a synth.
    """
    import aws_cdk as cdk

    import app as entry

    shipped = json.loads((ROOT / "cdk.json").read_text())["context"]
    app = cdk.App(outdir=str(outdir), context={**shipped, UNCOPIED: True, **context})
    entry.build(app)
    assembly = app.synth()
    messages = (message for stack in assembly.stacks for message in stack.messages)
    return read(outdir, tuple(str(message.entry.data) for message in messages))


def read(outdir: Path, notes: tuple[str, ...]) -> Synthesised:
    """What a synth wrote to `outdir`."""
    return Synthesised(
        directory=outdir,
        state=json.loads((outdir / "HeadroomState.template.json").read_text()),
        loop=json.loads((outdir / "HeadroomLoop.template.json").read_text()),
        notes=notes,
    )


Synth = Callable[..., Synthesised]


@pytest.fixture(scope="session")
def synth(tmp_path_factory: pytest.TempPathFactory) -> Synth:
    return shared_synth(tmp_path_factory)


def shared_synth(tmp_path_factory: pytest.TempPathFactory) -> Synth:
    """Synthesise with some context; the same context is synthesised once for all workers."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "synths"
    shared.mkdir(exist_ok=True)
    done: dict[str, Synthesised] = {}

    def once(**context: object) -> Synthesised:
        key = sha256(json.dumps(context, sort_keys=True).encode()).hexdigest()[:16]
        if key not in done:
            with (shared / f"{key}.lock").open("w") as lock:  # one worker writes, others wait
                fcntl.flock(lock, fcntl.LOCK_EX)
                done[key] = kept(shared / key) or keep(shared / key, context)
        return done[key]

    return once


def keep(outdir: Path, context: Mapping[str, object]) -> Synthesised:
    """Synthesise, and leave beside the templates what a reader of them cannot know."""
    made = synthesise(outdir, **context)
    (outdir / NOTES).write_text(json.dumps(made.notes), encoding="utf-8")
    return made


def kept(outdir: Path) -> Synthesised | None:
    """What another worker synthesised; None if none did to its end."""
    if not (outdir / NOTES).is_file():
        return None
    return read(outdir, tuple(json.loads((outdir / NOTES).read_text(encoding="utf-8"))))


@pytest.fixture(scope="session")
def shipped(synth: Synth) -> Synthesised:
    """The app as it is shipped."""
    return synth()


@pytest.fixture(scope="session")
def volumes_only(synth: Synth) -> Synthesised:
    """The app where the owner leaves databases and clusters out."""
    return synth(kinds="ebs")


def _brought() -> str | None:
    """Why the matcher cannot be had, None when its jars are in build/event-ruler."""
    if any(JARS.glob("event-ruler-*.jar")):
        return None if shutil.which("java") else "Java is not installed"
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    fresh = JARS.with_name(f"event-ruler-{os.getpid()}")
    command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies"]
    done = subprocess.run(
        [*command, f"-DoutputDirectory={fresh}"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return f"Maven could not bring event-ruler: {(done.stdout + done.stderr).strip()[-300:]}"
    if not JARS.exists():
        fresh.rename(JARS)
    return None


@pytest.fixture(scope="session")
def ruler() -> Any:
    """AWS's matcher in this process; skipped without Java, but not in CI."""
    missing = _brought()
    if missing is not None:
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    import jpype

    if not jpype.isJVMStarted():
        jpype.startJVM(*QUICK_START, classpath=[str(jar) for jar in JARS.glob("*.jar")])
    return jpype


Matching = Callable[[dict[str, Any]], list[str]]


@pytest.fixture(scope="session")
def matching(ruler: Any, shipped: Synthesised) -> Matching:
    """Ids of the rules that an event matches."""
    matcher = ruler.JClass("software.amazon.event.ruler.Ruler")
    patterns = {
        name.removeprefix("SignalsQueue")[:-8]: json.dumps(body["Properties"]["EventPattern"])
        for name, body in resources(shipped.loop, "AWS::Events::Rule").items()
    }
    return lambda event: [
        rule
        for rule, pattern in patterns.items()
        if matcher.matchesRule(json.dumps(event), pattern)
    ]


def text_of(value: Any) -> str:
    """A resource with its references written out: <Name>."""
    if isinstance(value, str):
        return value
    if "Fn::Join" in value:
        return "".join(text_of(part) for part in value["Fn::Join"][1])
    return f"<{next(iter(value.values()))}>"
