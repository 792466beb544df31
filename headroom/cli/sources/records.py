"""Where `audit` and `explain` read: an account's tables, or the records file of a demo."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from headroom.cli.loading import imported
from headroom.cli.sources.options import RecordsOptions
from headroom.cli.sources.records_file import DEMO_RECORDS, RecordsFile
from headroom.cli.terminal.names import named, short
from headroom.cli.terminal.output import err
from headroom.cli.terminal.problems import BadRequest
from headroom.domain.state import EventRecord, Record, RecordSummary, StopState

if TYPE_CHECKING:
    from headroom.adapters.ledger import SealCheck


class Records(Protocol):
    """What can be asked of records, wherever they are."""

    def record_summaries(
        self, *, since: datetime, until: datetime, outcome: str | None = None,
        resource: str | None = None, oldest_first: bool = False, page: int | None = None,
    ) -> Iterable[RecordSummary]:  # fmt: skip
        """Records in [since, until] without their bodies, of one outcome or resource if given."""

    def records(self, keys: Sequence[tuple[str, int]]) -> tuple[Record, ...]:
        """The whole records of these ids and sequences."""

    def chain(self, decision_id: str) -> tuple[Record, ...]:
        """All records of one decision, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Records, where they are in words, and how a volume's id becomes its ARN there."""

    records: Records
    name: str
    account_id: str | None
    region: str | None
    now: datetime
    """The instant it is there: a local endpoint has a clock of its own."""
    events: Callable[..., Iterable[EventRecord]] | None = None
    """Records of events as `Archive.event_records` reads them; None of a file, which has none."""
    stop_state: Callable[[], StopState | None] = lambda: None
    """What is paused or broken there; None where that is not known or cannot be read."""
    check_seals: Callable[[Sequence[Record]], SealCheck] | None = None
    """Checks the seals of a chain, raises ReadFailed; None where nothing is sealed."""

    def arn(self, resource: str) -> str:
        """The ARN of `resource`, or what people call it where no account is known.

        It is an ARN already, or a name that `named` understands; raises BadRequest for others.
        """
        if resource.startswith("arn:"):
            return resource
        if self.account_id is None or self.region is None:
            return short(named(resource, account_id="", region="").arn)
        return named(resource, account_id=self.account_id, region=self.region).arn


def source(where: RecordsOptions) -> Source:
    """Open the records that `where` points to and say on stderr which they are.

    Without any option: the file of the last demo if there is one, else the account that the
    AWS environment names. Raises BadRequest, Problem.
    """
    if where.file is not None and where.names_an_account:
        raise BadRequest("Give either --file or options that select tables, not both.")
    path = where.file
    if path is None and not where.names_an_account and DEMO_RECORDS.is_file():
        path = DEMO_RECORDS
        err().print(
            f"Reading {path} from the last demo; --region or --endpoint-url reads an "
            "account's tables.", style="dim",
        )  # fmt: skip
    if path is not None:
        return Source(
            records=RecordsFile(path),
            name=str(path),
            account_id=None,
            region=None,
            now=datetime.now(UTC),
        )
    opened: Source = imported("headroom.cli.sources.tables:tables")(
        where
    )  # boto3 is slow to import
    return opened
