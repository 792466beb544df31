"""The `headroom` command.

May import everything below: rooms are imported by the verb that needs them, when it runs.
`main` is the entry point; `reference` writes docs/cli.md."""
