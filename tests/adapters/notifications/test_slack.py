"""Blocks that Slack takes, whatever is in them."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headroom.adapters.notifications.messages import Message, Section
from headroom.adapters.notifications.slack import blocks, escaped
from headroom.adapters.notifications.text import subject, text_of_message
from headroom.adapters.notifications.topic import LARGEST, envelope
from headroom.domain.reports import Priority

TEXT = st.text(max_size=30) | st.builds(
    lambda part, times: part * times,
    st.text(alphabet="&<>é😀x", min_size=1, max_size=8),
    st.integers(1, 4_500),
)
MESSAGES = st.builds(
    Message,
    kind=st.just("applied"),
    priority=st.just(Priority.ROUTINE),
    headline=TEXT,
    lead=TEXT,
    facts=st.lists(st.tuples(TEXT, TEXT), max_size=6).map(tuple),
    sections=st.lists(
        st.builds(Section, title=TEXT, lines=st.lists(TEXT, max_size=12).map(tuple)), max_size=6
    ).map(tuple),
    pastes=st.lists(st.tuples(TEXT, TEXT | st.just("a = 1\nb = `2`\n```\nc")), max_size=3).map(
        tuple
    ),
    commands=st.lists(st.tuples(st.just("Undo"), TEXT), max_size=3).map(tuple),
    reference=st.lists(st.tuples(TEXT, TEXT), max_size=3).map(tuple),
)


def texts(found: list[Any]) -> list[str]:
    sections = [block["text"]["text"] for block in found if "text" in block]
    return sections + [e["text"] for block in found for e in block.get("elements", [])]


@given(MESSAGES)
def test_slack_takes_every_message(message: Message) -> None:
    found: list[Any] = blocks(message)
    assert 1 <= len(found) <= 50
    assert len(found[0]["text"]["text"]) <= 150
    assert all(len(text) <= 3_000 for text in texts(found))
    for text in texts(found[1:]):
        assert not re.search(r"[<>]", text)
        assert not re.search(r"&(?!amp;|lt;|gt;)", text), "no ampersand stands alone or is cut"
    assert len(subject(message)) < 100
    assert subject(message).isascii()
    assert subject(message).isprintable()


@given(MESSAGES)
def test_sns_takes_every_message(message: Message) -> None:
    whole = envelope(message)
    assert len(whole.encode("utf-8", "surrogatepass")) <= LARGEST
    parts = json.loads(whole)
    assert all(isinstance(part, str) for part in parts.values())
    assert parts["default"] == text_of_message(message)


@given(text=st.text(alphabet="&<>ab", max_size=400), most=st.integers(20, 200))
def test_escaping_keeps_within_its_limit(text: str, most: int) -> None:
    found = escaped(text, most)
    assert len(found) <= most
    assert not re.search(r"&(?!amp;|lt;|gt;)", found)


def test_a_mention_has_no_power() -> None:
    assert escaped("<!channel> a&b") == "&lt;!channel&gt; a&amp;b"


def test_what_does_not_fit_is_said_to_be_missing() -> None:
    long = Section(title="Many", lines=tuple(f"{n} " + "x" * 2_000 for n in range(60)))
    message = Message(
        kind="digest", priority=Priority.ROUTINE, headline="h", lead="l", sections=(long,),
        reference=(("Proof", "headroom audit"),),
    )  # fmt: skip
    found: list[Any] = blocks(message)
    assert found[-1]["type"] == "context"
    assert "The e-mail and the record have the rest" in found[-2]["text"]["text"]


def test_the_commands_are_there_however_long_the_message_is() -> None:
    message = Message(
        kind="awaiting", priority=Priority.NEEDS_YOU, headline="h", lead="l",
        pastes=tuple((f"file {n}", "x" * 2_900) for n in range(40)),
        commands=(("Approve", "headroom approve abc"),),
    )  # fmt: skip
    assert "headroom approve abc" in text_of_message(message)
    assert any("headroom approve abc" in text for text in texts(blocks(message)))
