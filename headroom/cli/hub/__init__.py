"""`headroom hub`: people of a hub's account ask deployments in other accounts.

May import `sources`, `terminal` and what is below the command line.
Each module has verbs of the group `headroom hub`."""
