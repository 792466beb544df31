"""An error of AWS's API."""

from __future__ import annotations

from moto.core.exceptions import ServiceException


class AwsError(ServiceException):  # type: ignore[misc]
    """A code and a message on the wire; moto's serialisers know the shape by its base."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
