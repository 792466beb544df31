"""Seals: a MAC of KMS over a record's hash. Who cannot use the key can check one and make none.

Source: KMS Developer Guide, "HMAC keys in AWS KMS" (2026-11).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from headroom.adapters.errors import code_of, reading, writing
from headroom.domain.state import Record

ALGORITHM = "HMAC_SHA_256"
INVALID = "KMSInvalidMacException"
SEAL = "seal"
"""The attribute beside a record: the MAC in base64. The record's hash does not cover it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealCheck:
    """Sequences of a chain's records by what their seals say."""

    verified: tuple[int, ...]
    missing: tuple[int, ...]
    """Without any seal: written before seals were turned on, or by somebody else."""
    broken: tuple[int, ...]


class Sealer:
    """Makes and checks seals with one key."""

    def __init__(self, client: Any, key: str) -> None:
        self._client = client
        self._given = {"KeyId": key, "MacAlgorithm": ALGORITHM}

    def seal(self, record: Record) -> str:
        """The seal of a record; raises WriteFailed, and then nothing is written."""
        with writing("GenerateMac"):
            answer = self._client.generate_mac(Message=_message(record), **self._given)
            return base64.b64encode(answer["Mac"]).decode()

    def check(self, chain: Sequence[Record], seals: Mapping[int, str]) -> SealCheck:
        """What the seals of a chain say; raises ReadFailed where they cannot be checked."""
        found = {
            record.sequence: self._holds(record, seals.get(record.sequence)) for record in chain
        }
        verified, missing, broken = (
            tuple(n for n, holds in found.items() if holds is which)
            for which in (True, None, False)
        )
        return SealCheck(verified=verified, missing=missing, broken=broken)

    def _holds(self, record: Record, seal: str | None) -> bool | None:
        if seal is None:
            return None
        try:
            mac = base64.b64decode(seal, validate=True)
        except binascii.Error:
            return False
        if not 1 <= len(mac) <= 6_144:  # what VerifyMac takes
            return False
        with reading("VerifyMac"):
            try:
                answer = self._client.verify_mac(Message=_message(record), Mac=mac, **self._given)
            except ClientError as error:
                if code_of(error) == INVALID:
                    return False
                raise
            return bool(answer["MacValid"])


def _message(record: Record) -> bytes:
    return f"headroom record {record.hash}".encode()
