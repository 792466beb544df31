"""Random exploration: `python -m tests.fuzz MINUTES [SEED]`, or `make fuzz MINUTES=n SEED=n`.

Plays, in rounds until the time is over, every property with examples that `make test` does not
draw, random trials of the law (tests/laws) and random histories of the deployed handlers
(tests/laws/deployed). At the end it breaks each guardrail and takes away each condition, lease and
re-check in turn, to see that the law notices. What is found is written to build/fuzz as a test that pytest collects:
`python -m pytest build/fuzz` plays it again. The same seed draws the same examples. Ends with 1 if
anything was found.
"""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import __version__
from hypothesis.internal.conjecture import engine

ROOT = Path(__file__).resolve().parent.parent
FOUND = ROOT / "build" / "fuzz"
UNTIL, SEED, AGAIN = "HEADROOM_FUZZ", "HEADROOM_FUZZ_SEED", "HEADROOM_FUZZ_AGAIN"
"""Environment: until when (seconds since the epoch), the round's seed, the example to play again."""
TRIALS = 200
"""Trials of the law in a round."""
FOR_MUTANTS = 0.2
"""Share of the time that is kept for breaking guardrails."""
SHRINK_S = 60
BLOB = re.compile(r"@reproduce_failure\('[^']*', (b'[^']*')\)")
TRIAL = re.compile(r"(trial|history) (\d+): ")
EXPLORING = ("test_law.py", "test_deployed.py")
"""Files with random trials of their own."""
NOTHING_COLLECTED = 5
EXAMPLE = '''"""Found by `make fuzz` (seed {seed}) in {node}.

Hypothesis {version} can read this example as long as the strategies stay as they are. Before the
code or the model is mended, write it down beside its property with `@example` or as a plain test.

{output}
"""

from tests.fuzz import again


def test_{name}() -> None:
    again({node!r}, {blob})
'''
LAW = '''"""Found by `make fuzz`: the law was broken in trial {seed}.

{output}
"""

from tests.laws.script import play, script


def test_{name}() -> None:
    play(script({seed}))
'''


HISTORY = '''"""Found by `make fuzz`: the law was broken in history {seed} of the deployed handlers.

{output}
"""

from tests.laws.deployed.histories import random_history


def test_{name}() -> None:
    random_history({seed}).play()
'''


def main(arguments: list[str]) -> int:
    """Explore for some minutes; 1 if anything was found."""
    minutes = float(arguments[0]) if arguments and arguments[0] else 10.0
    seed = int(arguments[1]) if len(arguments) > 1 and arguments[1] else secrets.randbelow(10**6)
    end = time.time() + minutes * 60
    print(f"Exploring for {minutes:g} minutes with SEED={seed}", flush=True)
    before, codes = set(FOUND.glob("test_found_*.py")), []
    properties_end = end - FOR_MUTANTS * minutes * 60
    for number in range(10**6):
        if time.time() >= properties_end:
            break
        codes.append(_round(seed * 1_000 + number, properties_end))
    codes.append(_mutants(seed, end))
    found = sorted(set(FOUND.glob("test_found_*.py")) - before)
    for file in found:
        print(f"A counterexample: {file.relative_to(ROOT)}")
    print(
        f"Explored {len(codes) - 1} rounds with SEED={seed}; {len(found)} new files in build/fuzz"
    )
    return 1 if any(codes) else 0


def _round(seed: int, until: float) -> int:
    """One round in processes of its own: every property and some trials, in an order of its own."""
    files = [
        str(file.relative_to(ROOT))
        for file in sorted((ROOT / "tests").rglob("test_*.py"))
        if "from hypothesis" in file.read_text(encoding="utf-8") or file.name in EXPLORING
    ]
    environment = os.environ | {
        UNTIL: str(until), SEED: str(seed),
        "LAW_FROM": str(seed * TRIALS), "LAW_RUNS": str(TRIALS),
    }  # fmt: skip
    command = [
        sys.executable, "-m", "pytest", "-n", "auto", "--maxprocesses=4", "--dist", "load",
        "-p", "no:cacheprovider", f"--hypothesis-seed={seed}",
        "-m", "hypothesis or explores", *files,
    ]  # fmt: skip
    code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    return 0 if code == NOTHING_COLLECTED else code


def _mutants(seed: int, end: float) -> int:
    """Break each guardrail in trials drawn from the seed, then each mutant of the deployed handlers."""
    from tests.laws.deployed import mutants
    from tests.laws.mutants import broken_in_turn

    middle = time.time() + (end - time.time()) / 2
    missed = broken_in_turn(range(seed * TRIALS, 10**12), middle)
    return mutants.main([], end) or missed


def again(node: str, blob: bytes) -> None:
    """Play one example of one test again, in a process of its own; it must be kept by now."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", node]
    environment = os.environ | {UNTIL: "inf", AGAIN: blob.decode("ascii")}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if "DidNotReproduce" not in done.stdout:  # the example is none any more: it is kept
        assert done.returncode == 0, done.stdout


# What follows is loaded by pytest, in each process of a round.


def pytest_configure() -> None:
    """A counterexample is not made smaller for five minutes where the whole run has ten."""
    engine.MAX_SHRINKING_SECONDS = SHRINK_S


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """An order of the round's own, so that short runs come to other properties each time."""
    if SEED in os.environ:
        Random(int(os.environ[SEED])).shuffle(items)
    blob = os.environ.get(AGAIN)
    for item in items if blob else ():
        test: Any = getattr(item, "obj", None)
        machine = getattr(test, "_hypothesis_state_machine_class", None)
        wanted = machine if machine is not None else getattr(test, "__func__", test)
        wanted._hypothesis_internal_use_reproduce_failure = (__version__, blob.encode("ascii"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Nothing begins once the time is over."""
    if time.time() >= float(os.environ[UNTIL]):
        pytest.skip("the time is over")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Keep what was found as a test."""
    report: Any = yield
    if report.failed and AGAIN not in os.environ:
        keep(item.nodeid, report.longreprtext)
    return report


def keep(node: str, output: str) -> Path | None:
    """Write a failure down as a test, and return the file; None if it cannot be repeated."""
    name = sha256(f"{node}{output}".encode()).hexdigest()[:10]
    blobs, trials = BLOB.findall(output), TRIAL.findall(output)
    lines = output.replace("\\", "\\\\").replace('"""', "'''").splitlines()[-60:]
    said = "\n".join(line.rstrip() for line in lines)
    if blobs:
        text = EXAMPLE.format(
            seed=os.environ.get(SEED, ""), node=node, version=__version__, output=said,
            name=f"found_{name}", blob=blobs[-1],
        )  # fmt: skip
    elif trials:
        sort, number = trials[0]
        law = LAW if sort == "trial" else HISTORY
        text = law.format(seed=number, output=said, name=f"{sort}_{number}")
    else:
        return None
    FOUND.mkdir(parents=True, exist_ok=True)
    file = FOUND / f"test_found_{name}.py"
    file.write_text(text, encoding="utf-8")
    return file


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
