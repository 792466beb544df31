"""The verbs `headroom policy check`, `show` and `test`, and what they display.

May import `cli.terminal`, `proving` and the domain.
The door offers `in_force`, the view and synthetic storage to show a policy on."""
