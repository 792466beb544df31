"""The table of commands: it says what the commands say, starts fast, and completes in a shell."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from inspect import getdoc
from pathlib import Path

import pytest
import typer

from headroom.cli.loading import LateCommand, imported
from headroom.cli.main import app, run
from headroom.cli.verbs import COMMANDS, Group, Verb
from tests.cli.sources.chains import acted, written

ROOT = Path(__file__).parents[2]
HEAVY = ("boto3", "botocore", "moto", "numpy", "jinja2", "jsonschema", "aws_cdk")
FROM_BELOW = (
    "headroom.domain", "headroom.ports", "headroom.application", "headroom.adapters",
    "headroom.proving", "headroom.localaws", "headroom.wiring", "headroom.account",
    "headroom.requests", "headroom.serialization.canonical",
)  # fmt: skip
IMPORTED = """
import sys
from headroom.cli.main import run
code = run(sys.argv[1:])
sys.stderr.write("\\nIMPORTED " + " ".join(sys.modules))
sys.exit(code)
"""


def verbs(entries: Iterable[Verb | Group] = COMMANDS, path: str = "") -> Iterator[object]:
    for each in entries:
        name = f"{path} {each.name}".strip()
        if isinstance(each, Group):
            yield from verbs(each.verbs, name)
        else:
            yield pytest.param(name, each, id=name)


@pytest.mark.parametrize(("path", "verb"), verbs())
def test_a_summary_is_the_first_sentence_of_the_function(path: str, verb: Verb) -> None:
    assert (getdoc(imported(verb.target)) or "").splitlines()[0] == verb.summary


@pytest.mark.parametrize(("path", "verb"), verbs())
def test_help_of_a_command_is_whole(
    path: str, verb: Verb, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*path.split(), "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"Usage: headroom {path} [OPTIONS]" in said
    assert verb.summary in said


@pytest.mark.parametrize(("path", "verb"), verbs())
def test_the_example_in_the_help_is_one_that_the_command_accepts(
    path: str, verb: Verb, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*path.split(), "--help"]) == 0
    assert f"\nExample:\n  {verb.example}\n" in capsys.readouterr().out
    command, _, _ = verb.example.partition(" > ")
    words = shlex.split(command)
    assert words[: len(path.split()) + 1] == ["headroom", *path.split()]
    LateCommand(verb).make_context(path, words[len(path.split()) + 1 :])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("replay --days 0", "'--days': it must be greater than or equal to 1."),
        ("replay --days soon", "'--days': it must be a valid integer."),
        ("simulate x --controller foo", "'--controller': 'foo' is not one of 'headroom', 'none'."),
        ("simulate", "Missing argument 'SCENARIO'."),
        (
            "audit --limit 99999999999999999999",
            "'--limit': it must be less than or equal to 10000000.",
        ),
        ("cost --databases 5", "--databases goes with --volumes"),
        (
            "hub pause --spokes /dev/null",
            "/dev/null names no deployment: write ACCOUNT/REGION in it",
        ),
    ],
)
def test_a_wrong_value_is_refused_in_plain_words(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words.split()) == 2
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("words", ["cost --volumes 5", "cost --volumes 5 --json"])
@pytest.mark.parametrize(
    ("stdout", "said"),
    [
        ("> /dev/full", "headroom: The output could not be written: No space left on device.\n"),
        (">&-", "headroom: There is no standard output to write to.\n"),
    ],
)
def test_output_that_nobody_can_take_is_one_sentence(words: str, stdout: str, said: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m headroom.cli.main {words} {stdout}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, said)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("plan --all --kind floppy", 1),
        ("plan --all vol-0123456789abcdef0", 1),
        ("plan --kind floppy", 2),
        ("doctor --unknown", 1),
        ("budget --unknown", 2),
    ],
)
def test_invalid_input_is_1_where_2_is_a_result(
    words: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words.split()) == code
    assert capsys.readouterr().err.startswith("headroom: ")


@pytest.mark.parametrize("words", ["", "policy"])
def test_without_a_command_the_help_is_printed_as_it_is(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words.split()) == 2
    said = capsys.readouterr().err
    assert said.startswith("Usage: headroom")
    assert "..." not in said.partition("Commands:")[2]


def test_help_names_values_as_manual_pages_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--help"]) == 0
    said = capsys.readouterr().out
    for line in ("[OPTIONS] [RESOURCE]", "--iops N ", "--policy PATH ", "--region TEXT ",
                 "--kind ebs|rds|aurora ", "  RESOURCE  vol-ID"):  # fmt: skip
        assert line in said
    assert "<" not in said.replace("<=", "")


def test_commands_are_listed_in_the_order_of_the_table() -> None:
    root = typer.main.get_command(app)
    assert [*root.commands] == [each.name for each in COMMANDS]  # type: ignore[attr-defined]


def headroom(*words: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    everything = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        [sys.executable, *words], cwd=cwd, env=everything, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def modules(*words: str) -> set[str]:
    """Every module that a command imports in a process of its own."""
    done = headroom("-c", IMPORTED, *words)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.rpartition("IMPORTED ")[2].split())


def within(found: set[str], packages: Iterable[str]) -> set[str]:
    return {name for name in found for top in packages if name == top or name.startswith(f"{top}.")}


@pytest.mark.parametrize("words", ["--help", "policy --help", "breaker --help", "local --help"])
def test_help_imports_nothing_that_only_a_command_needs(words: str) -> None:
    assert within(modules(*words.split()), (*HEAVY, "rich", *FROM_BELOW)) == set()


def test_the_list_of_commands_does_without_pydantic() -> None:
    """Typer imports it as soon as it reads a parameter's value."""
    assert within(modules("--help"), ["pydantic"]) == set()


def test_a_policy_is_checked_without_aws_and_the_proving_ground() -> None:
    below = [name for name in FROM_BELOW if name != "headroom.domain"]
    assert within(modules("policy", "check"), (*HEAVY, *below)) == set()


@pytest.mark.parametrize("verb", ["audit", "explain"])
def test_a_file_of_records_is_read_without_aws_and_the_proving_ground(
    verb: str, tmp_path: Path
) -> None:
    chain = acted()
    name = [chain[0].decision_id] if verb == "explain" else []
    records = written(tmp_path / "records.jsonl", chain)
    below = [
        n for n in FROM_BELOW if n not in ("headroom.domain", "headroom.serialization.canonical")
    ]
    found = modules(verb, *name, "--file", str(records))
    assert within(found, (*HEAVY, *below)) == set()


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("headroom po", ["policy"]),
        ("headroom re", ["replay", "resume", "reject", "release", "report"]),
        ("headroom policy ch", ["check"]),
        ("headroom explain --rec", ["--records-table"]),
        ("headroom local up --clock l", ["lockstep"]),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_options_and_values(
    shell: str, typed: str, offered: list[str]
) -> None:
    variables = {
        "bash": {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": typed},
        "fish": {"_TYPER_COMPLETE_ARGS": typed, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    done = headroom("-m", "headroom.cli.main", _HEADROOM_COMPLETE=f"complete_{shell}", **variables)
    assert done.returncode == 0, done.stderr
    if shell == "zsh":
        assert all(f'"{each}"' in done.stdout for each in offered)
    else:
        assert [line.split("\t")[0] for line in done.stdout.splitlines()] == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("option", ["--show-completion", "--install-completion"])
def test_completion_is_printed_and_installed(shell: str, option: str, tmp_path: Path) -> None:
    named = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1", "HOME": str(tmp_path)}
    done = headroom("-m", "headroom.cli.main", option, shell, **named)
    assert done.returncode == 0, done.stderr
    files = [each.read_text() for each in tmp_path.rglob("*") if each.is_file()]
    scripts = [done.stdout] if option == "--show-completion" else files
    assert any(f"complete_{shell}" in text for text in scripts)
    assert bool(files) == (option == "--install-completion")
