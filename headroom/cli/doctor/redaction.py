"""Redaction for the bundle of `headroom doctor --contact`: what is kept is listed, all else is replaced.

Kept are the names of members in AWS's models, enumerations, numbers, booleans and instants (moved so that
the run is at EPOCH). Every other text becomes a pseudonym in the order of first appearance: the same text
has the same one, and no hash could be turned back into a twelve-digit account number.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from headroom.settings import FunctionSettings

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
LONGEST_LIST = 3
"""Elements of a list that are kept; further ones say nothing new about its shape."""
KNOWN_KEYS = frozenset(
    {"Name", "headroom", "aws:cloudformation:stack-name", "aws:cloudformation:stack-id",
     "aws:cloudformation:logical-id", "CSIVolumeName", "ebs.csi.aws.com/cluster", "eks:eks-cluster-name",
     "kubernetes.io/created-for/pvc/name", "kubernetes.io/created-for/pvc/namespace",
     "kubernetes.io/created-for/pv/name"}
)  # fmt: skip
"""Keys of tags that say which tool made a resource; their values are replaced like all others."""
STATES = frozenset(
    {"DISABLED", "ENABLED", "ALARM", "INSUFFICIENT_DATA", "CREATE_FAILED", "ROLLBACK_COMPLETE",
     "ROLLBACK_FAILED", "UPDATE_FAILED", "UPDATE_IN_PROGRESS", "UPDATE_ROLLBACK_COMPLETE",
     "UPDATE_ROLLBACK_FAILED", "DELETE_FAILED", "NotEnabled", "Stopped", "implicitDeny", "explicitDeny"}
)  # fmt: skip
"""Words of AWS that findings quote."""
ID_PREFIXES = frozenset({"vol", "i", "snap", "eni", "vpc", "subnet", "sg", "ami"})
_KINDS = (
    ("account", re.compile(r"\d{12}")),
    ("arn", re.compile(r"arn:.*", re.DOTALL)),
    ("url", re.compile(r"https?://.*", re.DOTALL)),
)
_AWS_ID = re.compile(r"([a-z]{1,12})-[0-9a-f]{8,17}")
_PLAIN_NUMBER = re.compile(r"[-+$]?\d{1,3}(?:,\d{3})*(?:\.\d+)?%?|\d{1,4}")
_CORE = re.compile(r"^(\W*)(.*?)(\W*)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Redactor:
    """Pseudonyms for one bundle; `now` is the instant of the run."""

    now: datetime
    _names: dict[str, str] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def pseudonym(self, text: str) -> str:
        """`account-1`, `vol-2`, `text-3`: the same for the same text."""
        if text not in self._names:
            aws_id = _AWS_ID.fullmatch(text)
            kind = aws_id[1] if aws_id is not None and aws_id[1] in ID_PREFIXES else next(
                (name for name, form in _KINDS if form.fullmatch(text)), "text"
            )  # fmt: skip
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._names[text] = f"{kind}-{self._counts[kind]}"
        return self._names[text]

    def prose(self, text: str) -> str:
        """A sentence of Headroom's own with every word that its source does not have replaced."""
        return " ".join(self._word(word) for word in text.split())

    def _word(self, word: str) -> str:
        if word in vocabulary() or _PLAIN_NUMBER.fullmatch(word):
            return word
        before, core, after = _CORE.fullmatch(word).groups()  # type: ignore[union-attr]
        if not core:
            return self.pseudonym(word)  # nothing but punctuation, and in no source
        if core in vocabulary() or _PLAIN_NUMBER.fullmatch(core):
            return word
        return f"{before}{self.pseudonym(core)}{after}"

    def answer(self, value: Any, shape: Any) -> Any:
        """An answer of AWS by the model of its operation (a shape of botocore)."""
        kind = None if shape is None else shape.type_name
        if (
            kind == "long" and shape.name == "Timestamp"
        ):  # of CloudWatch Logs: milliseconds since 1970
            return value - round((self.now - EPOCH).total_seconds() * 1_000)
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, datetime):
            moved = EPOCH + (value.astimezone(UTC) - self.now.astimezone(UTC))
            return moved.isoformat(timespec="seconds")
        if kind == "structure" and isinstance(value, Mapping):
            return {
                name: self._member(name, each, shape.members[name])
                for name, each in value.items()
                if name in shape.members
            }
        if kind == "map" and isinstance(value, Mapping):
            return {
                self._key(str(name)): self.answer(each, shape.value) for name, each in value.items()
            }
        if kind == "list" and isinstance(value, list):
            return [self.answer(each, shape.member) for each in value[:LONGEST_LIST]]
        if isinstance(value, str):
            enumeration = getattr(shape, "enum", None) or ()
            return value if not value or value in enumeration else self.pseudonym(value)
        return f"<{kind or 'unknown'}>"

    def _member(self, name: str, value: Any, shape: Any) -> Any:
        if name in ("Key", "TagKey") and value in KNOWN_KEYS:
            return value
        return self.answer(value, shape)

    def _key(self, name: str) -> str:
        return name if name in KNOWN_KEYS or name in variables() else self.pseudonym(name)


@cache
def vocabulary() -> frozenset[str]:
    """Every word of the texts in the source of the checks: what a finding says beside its values."""
    found = set(STATES)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for word in node.value.split():
                    found |= {word, _CORE.fullmatch(word).group(2)}  # type: ignore[union-attr]
    return frozenset(found - {""})


@cache
def variables() -> frozenset[str]:
    """The environment variables of a deployed function."""
    settings = FunctionSettings(
        records_table="x", state_table="x", policy_parameter="x", topic_arn="x", queue_url="x"
    )
    return frozenset(settings.to_environment())
