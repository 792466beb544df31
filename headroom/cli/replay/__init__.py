"""`headroom replay`: many resources replayed on all cores, as tables and a report.

May import `cli.sources`, `cli.views`, `cli.terminal`, `proving` and the metric history.
The door offers the batch, the clusters, the tables and the page."""
