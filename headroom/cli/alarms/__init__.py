"""`headroom alarms`: the alarms on single resources that a deployment made.

May import `sources`, `terminal` and what is below the command line."""
