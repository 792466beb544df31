"""Transactions on DynamoDB whose result is always known: written, cancelled, or an error raised."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from headroom.adapters.errors import code_of, message_of
from headroom.adapters.ledger.items import Item
from headroom.ports import WriteFailed

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

ATTEMPTS = 10
LONGEST_WAIT_S = 0.8
CONDITION = "ConditionalCheckFailed"
BUSY = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})
"""Reasons of a cancellation that pass: nothing was written, and it may be tried again."""
PASSING = frozenset(
    {
        "InternalServerError", "ServiceUnavailable", "ThrottlingException", "Throttling",
        "ProvisionedThroughputExceededException", "RequestLimitExceeded",
        "TransactionInProgressException", "TransactionConflictException",
    }
)  # fmt: skip
"""Error codes that pass; all but the throttles leave open whether something was written."""


class LedgerOutcomeUnknown(WriteFailed):
    """DynamoDB did not write, or did not say; nothing may be built on it, it is tried again later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """A transaction that wrote nothing: the places whose condition failed, and what was there."""

    failed: Mapping[int, Item]


class Transactions:
    """Sends transactions; `sleep` waits between attempts, in seconds."""

    def __init__(self, client: DynamoDBClient, sleep: Callable[[float], None] = time.sleep) -> None:
        self._client: Any = client
        self._sleep = sleep

    def write(
        self, actions: Sequence[Mapping[str, Any]], *, token: str, landed: Callable[[], bool]
    ) -> Cancelled | None:
        """Write all `actions` or none; None when they are written.

        `token` makes a repeated attempt the same one. `landed` reads whether the write is there:
        called when an answer got lost, because a time-out says nothing. Raises LedgerOutcomeUnknown.
        """
        doubt, trouble = False, ""
        for attempt in range(ATTEMPTS):
            if attempt:
                self.wait(attempt)
            try:
                self._client.transact_write_items(
                    TransactItems=list(actions), ClientRequestToken=token
                )
            except ClientError as error:
                code = code_of(error)
                trouble = f"{code}: {message_of(error)}"
                if code == "TransactionCanceledException":
                    failed = _failed(error)
                    if failed:
                        return None if doubt and landed() else Cancelled(failed=failed)
                elif code in PASSING:
                    doubt = True
                else:
                    raise LedgerOutcomeUnknown(f"TransactWriteItems: {trouble}") from error
            except BotoCoreError as error:
                doubt, trouble = True, f"{type(error).__name__}: {error}"
            else:
                return None
        if doubt and landed():
            return None
        raise LedgerOutcomeUnknown(f"TransactWriteItems, {ATTEMPTS} attempts: {trouble}")

    def retries(self, what: str) -> Iterator[None]:
        """Waits before another attempt to read and write; LedgerOutcomeUnknown when none is left."""
        for attempt in range(1, ATTEMPTS):
            self.wait(attempt)
            yield
        raise LedgerOutcomeUnknown(f"{what} changed during each of {ATTEMPTS} attempts")

    def wait(self, attempt: int) -> None:
        """Wait a random time that doubles with every attempt, at most LONGEST_WAIT_S."""
        most = min(LONGEST_WAIT_S, 0.025 * 2**attempt)
        self._sleep(most * secrets.randbelow(1000) / 1000)


def _failed(error: ClientError) -> dict[int, Item]:
    """Places whose condition failed; empty when it was only busy. Raises for anything else."""
    response: Any = error.response
    reasons = response.get("CancellationReasons", [])
    codes = [str(reason.get("Code", "None")) for reason in reasons]
    failed = {i: reasons[i].get("Item", {}) for i, code in enumerate(codes) if code == CONDITION}
    if not failed and not set(codes) & BUSY:
        raise LedgerOutcomeUnknown(f"TransactWriteItems: {message_of(error)}") from error
    return failed
