"""The demo: starvation stories played on a local AWS, checked and reported.

May import `localaws`, `proving` and the rooms of the CLI below it.
Rooms: `stories` (data), `script` (plays them), `expectations` (checks), `results` (what is displayed)."""
