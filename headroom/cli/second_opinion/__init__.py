"""Compute Optimizer's recommendations beside Headroom's decisions, and why the two disagree.

May import `cli.sources`, `cli.views`, `cli.terminal`, the adapters and the domain.
The door offers what is read (`SecondOpinions`), a comparison (`SecondOpinion`) and its words."""
