"""What is known from before, as values only: modifications, open chain, requests, pauses, breakers, concurrency.

May import: resources and catalog.
The door offers `ResourceState` (what a decision sees), `StoredState` (what the ledger keeps) and the values they hold.
"""

from headroom.domain.state.breakers import (
    FAILURE_STEPS,
    FAILURES_CAUSE,
    INDEFINITE,
    MAX_FAILURES,
    WORKER_VANISHED,
    AccountStopState,
    Breaker,
    Pause,
    StopState,
    account_after_breaker_closed,
    account_state_after,
    active_pause,
    is_failure,
)
from headroom.domain.state.concurrency import (
    AWAITED,
    MOST_IN_FLIGHT,
    MOST_PER_HOUR,
    SHOWS,
    AvailableConcurrency,
    BlastRadius,
    ConcurrencyState,
    InFlight,
    Landed,
    after_change_ended,
    after_change_started,
    available_concurrency,
    hourly_limit_clears_at,
    quota_usage,
)
from headroom.domain.state.effect_time import REMEMBERED, SlowEffect, effect_takes, slower
from headroom.domain.state.event_records import EventOutcome, EventRecord, LedTo, event_record
from headroom.domain.state.fleet_scan import (
    OpenPage,
    ScanProgress,
    page_begun,
    page_listed,
    page_read,
    page_rejected,
    pages_claimed,
    scan_begun,
)
from headroom.domain.state.formats import (
    DECISION_FORMAT,
    PROFILE_FORMAT,
    RECORD_FORMAT,
    STATE_FORMAT,
    WrongFormat,
    require_format,
)
from headroom.domain.state.limit_history import LARGE_MIB, LimitHistory, ServedByHdd, served_by_hdd
from headroom.domain.state.modification_history import (
    after_modifications,
    after_resource_gone,
    changes_of_settings,
    earliest_instant,
    merge_modifications,
    owners_choice,
    recent_modifications,
    reduced_from,
    unknown_modification,
    without_resource,
)
from headroom.domain.state.notices import Notice, Notify
from headroom.domain.state.outcome import (
    BRIEF,
    NOT_SENT,
    TRANSIENT,
    AlreadyThere,
    Applied,
    Outcome,
    Refusal,
    Refused,
    Stale,
    Unknown,
    declined,
    first_in_a_row,
    in_a_row,
)
from headroom.domain.state.owner_changes import at_present_prices, never_made
from headroom.domain.state.profile import (
    HOUR,
    IOPS_LEVELS,
    IOPS_SCALE,
    MIBPS_LEVELS,
    MIBPS_SCALE,
    MOST_HOURS,
    LoadProfile,
    ProfileHour,
    ProfileSummary,
    hour_of,
    level_of,
    merged,
    on_scale,
)
from headroom.domain.state.promises import (
    QUARTER,
    QUARTER_MINUTES,
    Points,
    Promised,
    just_before,
    own_load,
    promised_beside,
)
from headroom.domain.state.queue_entry import QueueEntry
from headroom.domain.state.records import (
    GENESIS,
    NEXT,
    TRIED_AGAIN,
    Record,
    RecordSummary,
    Step,
    broken_link,
    link_problem,
    plain_cents,
    seal,
    step_of,
    successors,
)
from headroom.domain.state.requests import (
    AUTO_ROLLBACK_INTERVAL,
    DAY,
    LONGEST_REQUEST,
    MAX_UNANSWERED,
    QUIET_AFTER_REJECTION,
    QUIET_AFTER_ROLLBACK,
    ROLLBACK_TTL,
    ApprovalRequest,
    Declined,
    RollbackRequest,
    RolledBack,
)
from headroom.domain.state.resource_state import (
    BY_HEADROOM,
    MODIFICATION_RETENTION,
    ROLLBACK,
    WINDOW,
    CalendarState,
    KnownModification,
    OpenChain,
    ResourceState,
    Signature,
    new_resource_state,
)
from headroom.domain.state.stored_state import Notified, Reserved, StoredState, micro_usd, usd
