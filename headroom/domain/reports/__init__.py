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
from headroom.domain.reports.handoff import handoff_text
from headroom.domain.reports.message_rate import (
    Counts,
    Priority,
    RateDecision,
    RateWindow,
    admit_message,
    after_digest,
    parse_rate_window,
    rate_window_to_text,
    refund,
)
from headroom.domain.reports.monthly import (
    HOURS_PER_MONTH,
    Month,
    ResourceMonth,
    add_decisions,
    month_of,
)
