"""`headroom plan --all` and `headroom assess`: a whole fleet, read in batches, decided by the same engine.

May import `cli.sources`, `cli.replay`, `cli.views`, `cli.terminal`, `proving` and the adapters.
The door offers the screen of a fleet, the plans, the assessment and their tables."""
