"""Tells people through an SNS topic, in words they can act on, never more than the policy's rate."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from headroom.adapters.notifications.digest import digest_message
from headroom.adapters.notifications.messages import (
    Message,
    decision_message,
    switch_message,
    withheld_counts,
)
from headroom.adapters.notifications.slack import blocks, escaped
from headroom.adapters.notifications.text import subject, text_of_message
from headroom.domain.decision import Decision, Hold
from headroom.domain.policy import Policy
from headroom.domain.reports import (
    DailyDigest,
    Priority,
    RateDecision,
    RateWindow,
    admit_message,
    parse_rate_window,
    rate_window_to_text,
    refund,
)
from headroom.domain.state import Record, Step
from headroom.ports import Notes, Policies

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient

LARGEST = 262_144
"""Bytes of one message with the texts for all protocols together. Source: SNS API reference,
Publish: 256 KiB unless the topic says more (botocore 1.44, 2026-11)."""
MACHINES = ("https", "http", "sqs", "lambda")
"""Protocols whose subscribers get the JSON document; all others get plain text."""
NOTE = "messages"
NEVER_RATE_LIMITED = 5
"""Messages of one invocation that are sent though the ledger cannot count them."""
_log = logging.getLogger(__name__)


class SnsNotifier:
    """Publishes to one topic.

    `unsent` counts messages that could not be sent, `withheld` those that the rate did not allow.
    """

    def __init__(
        self,
        client: SNSClient,
        *,
        topic_arn: str,
        notes: Notes,
        policies: Policies,
        clock: Callable[[], datetime],
    ) -> None:
        self._client = client
        self._topic_arn = topic_arn
        self._notes = notes
        self._policies = policies
        self._clock = clock
        self._uncounted = 0
        self.unsent = 0
        self.withheld = 0

    def tell(self, decision: Decision, step: Step, summary: str) -> None:
        """Send one message, except for a Hold; never raises (a failure is counted)."""
        if isinstance(decision.answer, Hold):
            return
        self._tell(decision.decision_id, lambda: decision_message(decision, step, summary))

    def announce(self, record: Record) -> None:
        """Notify of a pause, its end, or a breaker that a person closed; never raises."""
        self._tell(record.decision_id, lambda: switch_message(record))

    def report(self, day: DailyDigest) -> None:
        """Send the daily digest, which the hourly limit does not count; raises when it could not be sent."""
        self.send(digest_message(day))

    def send(self, message: Message) -> None:
        """Publish a message that the hourly limit does not count; raises what SNS raises."""
        self._client.publish(
            TopicArn=self._topic_arn,
            Subject=subject(message),
            MessageStructure="json",
            Message=envelope(message),
        )

    def _tell(self, what: str, make: Callable[[], Message]) -> None:
        try:
            message = make()
            admission = self._admitted(message.kind, message.priority)
            if not admission.allowed:
                self.withheld += 1
                _log.info("withheld over the hourly limit: %s of %s", message.kind, what)
                return
            try:
                self.send(with_withheld(message, admission))
            except Exception:
                self._put_back(message.kind, admission)
                raise
        except Exception as error:  # a failed notification must not undo a change that is on record
            self.unsent += 1
            _log.warning("could not send the notification of decision %s: %s", what, error)

    def _admitted(self, kind: str, priority: Priority) -> RateDecision:
        """Whether the hourly limit allows it; while messages cannot be counted, a few urgent ones are sent."""
        policy = self._policies.current()
        rules = policy if isinstance(policy, Policy) else Policy(version="")

        def ask(text: str) -> tuple[str, RateDecision]:
            rate_window, answer = admit_message(
                _ration(text), kind, priority, now=self._clock(), most=rules.messages_per_hour
            )
            return rate_window_to_text(rate_window), answer

        try:
            return self._notes.amend(NOTE, ask)
        except Exception:
            self._uncounted += 1
            if priority is Priority.ROUTINE or self._uncounted > NEVER_RATE_LIMITED:
                raise
            _log.exception("the ledger could not count messages; this one is sent anyway")
            return RateDecision(allowed=True)

    def _put_back(self, kind: str, admission: RateDecision) -> None:
        def again(text: str) -> tuple[str, None]:
            return rate_window_to_text(
                refund(_ration(text), kind, admission, now=self._clock())
            ), None

        try:
            self._notes.amend(NOTE, again)
        except Exception as error:
            _log.warning("a message that was not sent is not counted either: %s", error)


def _ration(text: str) -> RateWindow:
    """The stored rate window; an empty one where it cannot be read, so that counting starts again."""
    try:
        return parse_rate_window(text)
    except (ValueError, TypeError, KeyError):
        return RateWindow()


def with_withheld(message: Message, admission: RateDecision) -> Message:
    """The message with a fact about the messages withheld before it."""
    if not admission.dropped:
        return message
    since, region = admission.since, message.data.get("region", "")
    began = "" if since is None else f" since {since.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    command = "headroom audit"
    if since is not None:
        command += f" --since {since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return replace(
        message,
        facts=(*message.facts, ("Withheld", f"{withheld_counts(admission.dropped)}{began}, by the "
                                "policy's rate of messages")),
        commands=(*message.commands, ("List the withheld messages", f"{command} --region {region}")),
        data={**message.data, "withheld": dict(admission.dropped)},
    )  # fmt: skip


def document(message: Message) -> str:
    """The JSON document for machines: `text` and `blocks` as Slack takes them, and the facts."""
    return json.dumps(
        {
            "version": "1",
            "kind": message.kind,
            "subject": subject(message),
            "text": escaped(f"{message.headline}: {message.lead}"),
            "plain_text": text_of_message(message),
            "blocks": blocks(message),
            "headroom": dict(message.data),
            "commands": dict(message.commands),
        },
        ensure_ascii=False,
    )


def envelope(message: Message) -> str:
    """What SNS delivers to each protocol (MessageStructure `json`); plain text for all if too large."""
    text = text_of_message(message)
    parts = {"default": text, "email": text, "sms": subject(message)}
    whole = json.dumps({**parts, **dict.fromkeys(MACHINES, document(message))}, ensure_ascii=False)
    if len(whole.encode()) <= LARGEST:
        return whole
    return json.dumps(parts, ensure_ascii=False)
