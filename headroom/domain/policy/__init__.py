"""The owner's limits: settings, selection by rule and tag, change windows, freezes.

May import: resources, catalog and state.
The door offers `Policy`, `Limits` and the limits that hold for one resource.
"""

from headroom.domain.policy.account_fields import ACCOUNT
from headroom.domain.policy.coverage import overrides, remarks_on_ceilings, remarks_on_kinds
from headroom.domain.policy.discount import discount_of, owner_prices
from headroom.domain.policy.enrolment import defaults_for
from headroom.domain.policy.events import (
    IN_SIGHT,
    LONGEST_NAME,
    MOST_EVENTS,
    SCHEDULE_PATTERN,
    KnownEvent,
    Occurrence,
    Schedule,
    last_chance,
    occurrences,
    parse_schedule,
)
from headroom.domain.policy.fields import FRIENDLY, SOME_TIME_SCHEMA, plain_value
from headroom.domain.policy.freezes import Freeze, frozen_until, unread
from headroom.domain.policy.hard_caps import (
    HARD_CAP,
    NO_CAPS,
    RESOURCE_TAG_CAP,
    HardCaps,
    Tag,
    hard_caps_of,
    tag_text,
)
from headroom.domain.policy.limits import RDS_CEILINGS, CodeOwned, Limits, Mode, OneWay, TagsMay
from headroom.domain.policy.policy import (
    EffectiveLimits,
    Policy,
    PolicyUnreadable,
    Rule,
    beyond_caps,
    events_of,
    limits_for,
    narrowed,
    with_caps,
)
from headroom.domain.policy.readers import (
    GROUP_TAG,
    LONGEST_KEY,
    LONGEST_VALUE,
    PRESETS,
    PolicyError,
    refuse,
    value_text,
)
from headroom.domain.policy.selector import Selector
from headroom.domain.policy.tags import MODE_TAG, PREFIX
from headroom.domain.policy.time_of_day import TimeOfDay, latest, zone_or_none
from headroom.domain.policy.windows import (
    WindowError,
    Windows,
    is_open,
    never_opens,
    next_closing,
    next_opening,
    parse_window,
)
