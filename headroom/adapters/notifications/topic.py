"""Sends messages to an SNS topic, in words that people can act on."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from headroom.adapters.notifications.batch import summary_message
from headroom.adapters.notifications.breakers import breaker_message
from headroom.adapters.notifications.digest import digest_message
from headroom.adapters.notifications.messages import (
    SWITCHED,
    Message,
    decision_message,
    plain_message,
    switch_message,
)
from headroom.adapters.notifications.slack import blocks, escaped
from headroom.adapters.notifications.text import subject, text_of_message
from headroom.domain.reports import DailyDigest
from headroom.domain.state import Notice, Step
from headroom.ports import NoticeDetail, NotSent

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient

LARGEST = 262_144
"""Bytes of one message with the texts for all protocols together. Source: SNS API reference,
Publish: 256 KiB unless the topic says more (botocore 1.44, 2026-11)."""
MACHINES = ("https", "http", "sqs", "lambda")
"""Protocols whose subscribers get the JSON document; all others get plain text."""
_log = logging.getLogger(__name__)


class SnsNotifier:
    """Publishes to one topic."""

    def __init__(self, client: SNSClient, *, topic_arn: str) -> None:
        self._client = client
        self._topic_arn = topic_arn

    def notify(self, detail: NoticeDetail) -> None:
        """Send one message a person can act on."""
        self.send(message_of(detail))

    def summarize(self, notices: Sequence[Notice]) -> None:
        """Send one message about several notices."""
        self.send(summary_message(notices))

    def report(self, day: DailyDigest) -> None:
        """Send the daily digest, which the hourly limit does not count."""
        self.send(digest_message(day))

    def send(self, message: Message) -> None:
        """Publish a message; raises NotSent if SNS refused it, else what botocore raises."""
        try:
            self._client.publish(
                TopicArn=self._topic_arn,
                Subject=subject(message),
                MessageStructure="json",
                Message=envelope(message),
            )
        except ClientError as refusal:
            raise NotSent(str(refusal)) from refusal


def message_of(detail: NoticeDetail) -> Message:
    """The message about a notice; a plain one if its decision cannot be described."""
    notice, decision = detail.notice, detail.decision
    try:
        if notice.step.value in SWITCHED:
            return switch_message(notice)
        if notice.step is Step.BREAKER_OPENED:
            return breaker_message(notice, decision)
        if decision is not None:
            return decision_message(decision, notice.step, notice.text)
    except Exception:
        _log.exception("decision %s cannot be described", notice.decision_id)
    return plain_message(notice)


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
