"""Plays the stories in lock-step on a local deployment and collects what happened.

May import `demo.stories`, `cli.views`, `cli.sources`, `localaws`.
The door offers the deployment, the script for each kind and the outcome of a story."""
