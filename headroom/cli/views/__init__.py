"""Decisions, plans, bills and stops as tables, sentences, JSON and the HTML report.

May import `cli.sources`, `cli.terminal` and the domain; nothing of the proving ground.
The door offers one module for each thing that is displayed."""
