"""What `headroom compare` displays: tables, Markdown and an HTML page.

May import `cli.views`, `cli.terminal` and `proving`.
The door offers one renderer for each format."""
