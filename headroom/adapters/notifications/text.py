"""A message as plain text, for e-mail and whoever reads no blocks."""

from __future__ import annotations

from headroom.adapters.notifications.messages import Message, clipped, single_line

SUBJECT = 99
"""Characters of a subject: "less than 100", no line breaks or control characters; ASCII, because
older clients of SNS ask for it. Source: SNS API reference, Publish (botocore 1.44, 2026-11)."""
LONGEST = 30_000
"""Characters of a text: six protocols share one message of 256 KiB."""


def subject(message: Message) -> str:
    """One line of ASCII, shorter than 100 characters: what happened to what."""
    text = single_line(f"Headroom: {message.headline}").encode("ascii", "replace").decode()
    return clipped(text, SUBJECT)


def text_of_message(message: Message) -> str:
    """What happened, facts, commands, and where the proof is."""
    lines = [message.lead]
    if message.facts:
        lines += ["", *(f"{label}: {value}" for label, value in message.facts)]
    if message.commands:
        lines += ["", *(f"{label}: {command}" for label, command in message.commands)]
    for section in message.sections:
        lines += ["", section.title, *(f"- {line}" for line in section.lines)]
    for where, text in message.pastes:
        lines += ["", where, text.rstrip("\n")]
    if message.reference:
        lines += ["", *(f"{label}: {value}" for label, value in message.reference)]
    return clipped("\n".join(lines), LONGEST)
