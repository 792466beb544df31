"""How each record moves the state of its resource: transitions, reservations, budget, publishing cursor.

May import: resources to aurora.
The door offers `transition` functions and record builders, shared by the DynamoDB and the in-memory ledger.
"""

from headroom.domain.ledger import admission
from headroom.domain.ledger.admission import WHY, admit_change
from headroom.domain.ledger.budget import Budget, Holding, budget
from headroom.domain.ledger.publishing import (
    PublishingCursor,
    advance_cursor,
    cursor_to_text,
    lease_cursor,
    parse_publishing_cursor,
    record_key,
)
from headroom.domain.ledger.record_builders import (
    answer_summary,
    breaker_closed_record,
    breaker_opened_record,
    breaker_opened_text,
    first_record,
    gone_record,
    may_follow,
    next_record,
    notice_of,
    pause_record,
    policy_record,
    rejection_record,
    rollback_request_record,
    withdrawal_text,
)
from headroom.domain.ledger.reservation import (
    CombinedReservation,
    IntentRefusal,
    Reservation,
    combined_reservation,
    intended_body,
    refusal_of,
    reservation,
)
from headroom.domain.ledger.state_view import resource_state_of
from headroom.domain.ledger.transitions import (
    RELEASING_STEPS,
    after_closed,
    after_decided,
    after_intended,
    after_step,
    breaker_opened_by,
    why_not_recordable,
    why_not_releasable,
)
