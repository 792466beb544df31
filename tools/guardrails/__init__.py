"""Write docs/guardrails.md, a table and a section per guardrail, from the code. `python -m tools.guardrails`

Beside its member of Guardrail, its function and its line in GUARDRAILS
(headroom/domain/guardrails/registry.py), a new guardrail needs one entry in
tools/guardrails/entries.py, in the group where people should find it:

    Guardrail.MINE: Entry(
        settings=("my_setting",), clears="when the batch ends", do="Wait, or set `my_setting`.",
        example="`my_setting: 3`, with four in flight.", blocked=lambda case: replace(case, ...),
    ),

`blocked` gets a case that every guardrail allows and returns one that this guardrail blocks. Leave
`clears` out when a block never clears by itself (the verdict is not `temporary`). The docstring of
the function says what it blocks and begins with "Block". tests/laws/test_guardrails.py then judges
the example, holds the new guardrail to the laws of all of them, and fails while the page differs:
run this and commit what it wrote.
"""
