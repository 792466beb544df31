"""What `headroom simulate` displays: a report of a volume, the bill of a cluster.

May import `cli.views`, `cli.terminal` and `proving`.
The door offers the page and the run for clusters."""
