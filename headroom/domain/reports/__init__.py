"""What people receive, as values: the daily digest, the message rate, the month, the values to write back.

May import: resources to ledger.
The door offers the digest of a day, the sums of a month and the limit on messages.
"""

from headroom.domain.reports import daily_digest
from headroom.domain.reports.daily_digest import (
    MOST_QUEUED,
    BlockedSaving,
    Change,
    DailyDigest,
    DigestCursor,
    ObservedChange,
    PendingApproval,
    RecordCount,
)
from headroom.domain.reports.handoff import handoff_text, handoff_values
from headroom.domain.reports.message_rate import (
    Counts,
    Priority,
    RateWindow,
    give_place_back,
    lease_sending,
    parse_rate_window,
    priority_at,
    priority_of,
    rate_window_to_text,
    release_sending,
    take_place,
)
from headroom.domain.reports.monthly import (
    HOURS_PER_MONTH,
    Month,
    ResourceMonth,
    add_decisions,
    add_ledger,
    month_of,
)
from headroom.domain.reports.open_escalations import LOOKED_BACK, reported_once, still_open
