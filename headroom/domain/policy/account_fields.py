"""The settings of a policy that hold for an account and Region as a whole.

Each is read, written and described here once: the reader of policies, the canonical text and the
JSON Schema are made from this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType

from headroom.domain.policy.account import SCHEDULE_AND_CONCURRENCY, AccountSetting, unchanged
from headroom.domain.policy.fields import MONEY_SCHEMA
from headroom.domain.policy.readers import (
    ACCOUNT_PRICE,
    CODE_TAGS,
    GROUP_TAG_KEY,
    LONGEST_KEY,
    LONGEST_VALUE,
    code_tags,
    group_tag,
    money,
    refuse,
    value_text,
    written_code_tags,
    written_money,
)
from headroom.domain.policy.time_of_day import FORM, TimeOfDay, time_of_day

MESSAGES = "messages_per_hour"
DIGEST = "digest"
OFF = "off"
MOST_MESSAGES = 1_000
GROUP_TAG_PATTERN = "^(headroom:group|(?!headroom|aws:).+)$"
_VALUE = {"type": "string", "maxLength": LONGEST_VALUE}


def _written_price(value: object) -> object:
    return written_money(value if isinstance(value, Decimal) else Decimal(0))


def _written_code_tags(value: object) -> object:
    return written_code_tags(value if isinstance(value, tuple) else ())


def _messages(value: object, source: str, path: str) -> object:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_MESSAGES:
        wanted = f"a whole number from 1 to {MOST_MESSAGES:,}, written without commas"
        raise refuse(source, path, f"is {value_text(value)}; it must be {wanted}")
    return value


def _digest(value: object, source: str, path: str) -> object:
    if value is False or value == OFF:  # YAML 1.1 reads a bare `off` as false
        return None
    if isinstance(value, str):
        try:
            return time_of_day(value)
        except ValueError:
            pass
    wanted = 'a time of day in quotes, such as "07:00" or "07:00 Europe/Berlin", or off'
    raise refuse(source, path, f"is {value_text(value)}; it must be {wanted}")


def _written_digest(value: object) -> object:
    return str(value) if isinstance(value, TimeOfDay) else OFF


ACCOUNT: Mapping[str, AccountSetting] = MappingProxyType(
    {
        ACCOUNT_PRICE: AccountSetting(
            name="account_increase_usd", read=money, write=_written_price, schema=MONEY_SCHEMA,
            meaning="The most all increases in force may add up to in each account and Region, "
            "in USD a month.",
        ),
        CODE_TAGS: AccountSetting(
            name="code_tags", read=code_tags, write=_written_code_tags,
            schema={
                "type": "object",
                "propertyNames": {"minLength": 1, "maxLength": LONGEST_KEY},
                "additionalProperties": {
                    "anyOf": [_VALUE, {"type": "array", "items": _VALUE, "minItems": 1}],
                    "description": "Values.",
                },
            },
            meaning="Tags that say that code owns a volume: keys with their values, in any case.",
        ),
        GROUP_TAG_KEY: AccountSetting(
            name="group_tag", read=group_tag, write=unchanged,
            schema={
                "type": "string", "minLength": 1, "maxLength": LONGEST_KEY,
                "pattern": GROUP_TAG_PATTERN,
            },
            meaning="Key of the tag that names the striped set of a volume.",
        ),
        MESSAGES: AccountSetting(
            name="messages_per_hour", read=_messages, write=unchanged,
            schema={"type": "integer", "minimum": 1, "maximum": MOST_MESSAGES},
            meaning="The most messages to people within any 60 minutes; what exceeds it goes "
            "together in one message.",
        ),
        DIGEST: AccountSetting(
            name="digest", read=_digest, write=_written_digest,
            schema={
                "oneOf": [
                    {"type": "string", "pattern": f"^{FORM}$"},
                    {"enum": [OFF, False]},
                ]
            },
            meaning="When the one message a day is sent: a time, with a time zone unless it is "
            "UTC, or off.",
        ),
        **SCHEDULE_AND_CONCURRENCY,
    }
)  # fmt: skip
"""Every setting by the name it has in a policy's account section."""
