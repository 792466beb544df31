"""Blocks and attributes are found whatever comments, templates and heredocs stand around them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.cli.writeback.hcl import Unreadable, parse

NOISE = [
    "# } a comment {\n", "// = \n", "/* iops = 1\n } */\n", "\n", "  \t\n",
    'note = "a } ${f({ a = "}" })} %{ if x }\\"%{ endif } $${"\n',
    "text = <<EOT\n  iops = 2 }\n  EOT2\nEOT\n", "list = [ # ]\n  <<-X\n    }\n    X\n  , 1,\n]\n",
    'map = {\n  iops = 3\n  "}" : { b = [for k, v in m : k if v != "}"] }\n}\n', "yes = a == b ? 1 / 2 : -3\n",
    'dynamic "x" {\n  content { iops = 4 }\n}\n', "empty {}\n", "one { iops = 5 }\n",
]  # fmt: skip
VALUES = ["3000", '"gp3"', "var.iops", "max(1,\n  2 // three\n)", "<<E\n3000\nE"]


def distinct(parts: list[str]) -> list[str]:
    """Each attribute's name once, as HCL wants it."""
    return [part.replace(" = ", f"{number} = ", 1) if part[0].isalpha() else part
            for number, part in enumerate(parts)]  # fmt: skip


@given(st.lists(st.sampled_from(NOISE)), st.sampled_from(VALUES), st.lists(st.sampled_from(NOISE)))
def test_an_attribute_is_found_with_exactly_its_value(
    before: list[str], value: str, after: list[str]
) -> None:
    noise = [part for part in distinct([*before, *after]) if "EOT" not in part or "<<" in part]
    first, last = "".join(noise[: len(before)]), "".join(noise[len(before) :])
    why = "" if value.startswith("<<") else "  # why"
    text = f'{first}resource "t" "n" {{\n{first}  iops = {value}{why}\n{last}}}\n{last}'
    (block,) = parse(text).of("resource")
    attribute = block.attribute("iops")
    assert attribute is not None
    assert text[attribute.value_start : attribute.value_end] == value
    assert block.labels == ("t", "n")
    assert text[block.opened] == "{"
    assert text[block.closed] == "}"


@pytest.mark.parametrize(
    "text",
    ["a {", "}", "a = ", "a = (1\n", 'a = "b\n', "a = <<E\nb\n", "/* a", "a b = 1", "a = 1]", '"a" = 1',
     "a = \"${b\n", "a [ {\n}"],
)  # fmt: skip
def test_another_grammar_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(Unreadable, match="line 2: "):
        parse(f"# first\n{text}")
