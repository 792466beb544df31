"""A message as Slack's Block Kit has it, within its limits.

At most 50 blocks in a message, 3,000 characters in a section's text and 150 in a header, which is
plain text; in mrkdwn `&`, `<` and `>` are escaped and nothing else, which also takes the power out
of mentions such as `<!channel>`. `verbatim` keeps Slack from linking what looks like a name or an
address. Source: Slack reference, "Blocks" and "Formatting text for app surfaces" (2026-03).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headroom.adapters.notifications.messages import Message, clipped

BLOCKS = 50
SECTION = 3_000
HEADER = 150
ALL_CHARACTERS = 30_000
"""Of all sections together, so that a message fits into one of SNS four times."""

Block = dict[str, object]


def blocks(message: Message) -> list[Block]:
    """Header, what happened, facts, commands to copy, sections, and the reference."""
    found: list[Block] = [
        {"type": "header", "text": {"type": "plain_text", "text": clipped(message.headline, HEADER),
                                    "emoji": False}}
    ]  # fmt: skip
    body = [_section(escaped(message.lead, SECTION))] if message.lead else []
    body += _sections(f"*{escaped(label)}:* {escaped(value)}" for label, value in message.facts)
    # Commands before what may be long: what is cut for want of room is never the answer.
    body += _sections(f"*{escaped(label)}:* `{escaped(c)}`" for label, c in message.commands)
    for part in message.sections:
        head = f"*{escaped(part.title)}*"
        body += _sections([head, *(f"• {escaped(line)}" for line in part.lines)])
    for where, text in message.pastes:
        body += [_section(escaped(where)), _section(f"```{escaped(text, SECTION - 6)}```")]
    tail: list[Block] = []
    if message.reference:
        reference = " · ".join(f"{escaped(label)}: {escaped(v)}" for label, v in message.reference)
        tail = [{"type": "context", "elements": [_mrkdwn(_cut(reference))]}]
    return [*found, *_fitting(body, BLOCKS - len(found) - len(tail)), *tail]


def escaped(text: str, most: int = SECTION) -> str:
    """Text in mrkdwn, at most `most` characters once escaped."""
    found = _escape(text)
    if len(found) <= most:
        return found
    kept = text[: most - 3]
    while len(_escape(kept)) > most - 3:
        kept = kept[: len(kept) - max(1, (len(_escape(kept)) - most + 3) // 5)]
    return f"{_escape(kept)}..."


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _sections(lines: Iterable[str]) -> list[Block]:
    """Lines as few sections as they fit into; a line that is too long by itself is cut."""
    return [_section("\n".join(chunk)) for chunk in _chunks(lines)]


def _chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    size = 0
    for line in lines:
        cut = _cut(line)
        if chunk and size + len(cut) + 1 > SECTION:
            yield chunk
            chunk, size = [], 0
        chunk.append(cut)
        size += len(cut) + 1
    if chunk:
        yield chunk


def _cut(line: str) -> str:
    """A line of at most SECTION - 1 characters that does not end within an escape."""
    if len(line) < SECTION:
        return line
    kept = line[: SECTION - 4]
    start = kept.rfind("&", len(kept) - 5)
    if start >= 0 and ";" not in kept[start:]:
        kept = kept[:start]
    return f"{kept}..."


def _fitting(body: list[Block], most: int) -> list[Block]:
    """As many blocks as there is room for; the last one says so if some were left out."""
    kept: list[Block] = []
    size = 0
    for number, block in enumerate(body):
        size += len(str(block))
        left = len(body) - number
        if size > ALL_CHARACTERS or (len(kept) == most - 1 and left > 1):
            return [*kept[: most - 1], _section("_The e-mail and the record have the rest._")]
        kept.append(block)
    return kept


def _section(text: str) -> Block:
    return {"type": "section", "text": _mrkdwn(text)}


def _mrkdwn(text: str) -> Block:
    return {"type": "mrkdwn", "text": text, "verbatim": True}
