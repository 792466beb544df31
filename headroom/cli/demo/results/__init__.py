"""The demo's results as a table, an HTML report and one JSON object.

May import every other room of the demo and `cli.views`.
The door offers the summary and a section for each story."""
