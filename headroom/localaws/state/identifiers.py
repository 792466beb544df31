"""Identifiers that are the same for the same seed, whatever was requested before."""

from __future__ import annotations

import random
import secrets
import threading
from uuid import UUID


class Identifiers:
    """One stream per kind of thing, so that an extra request of one kind shifts no other."""

    def __init__(self, seed: int | None = None) -> None:
        self._streams: dict[str, random.Random] = {}
        self._lock = threading.Lock()
        self.seed(seed)

    def seed(self, seed: int | None) -> None:
        """Restart every stream; None takes the seed from the system."""
        with self._lock:
            self._seed = seed if seed is not None else random.SystemRandom().getrandbits(64)
            self._streams.clear()

    def hexadecimal(self, kind: str, digits: int = 17) -> str:
        """Lower-case hexadecimal digits, as EC2 puts behind `vol-` and `i-`."""
        return f"{self._bits(kind, 4 * digits):0{digits}x}"

    def uuid(self, kind: str) -> str:
        """A version 4 UUID."""
        return str(UUID(int=self._bits(kind, 128), version=4))

    def _bits(self, kind: str, count: int) -> int:
        with self._lock:
            stream = self._streams.get(kind)
            if stream is None:
                stream = self._streams[kind] = random.Random(f"{self._seed}/{kind}")
            return stream.getrandbits(count)


def new_access_key() -> str:
    """A random access key id in the form of AWS's."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
    return "AKIA" + "".join(secrets.choice(alphabet) for _ in range(16))
