"""The `headroom` command: what a person types, reads and shows around."""
