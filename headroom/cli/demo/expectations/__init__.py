"""Checks how each story ended against what is expected.

May import `demo.script`, `demo.stories` and `cli.views`.
The door offers one check for each kind of storage."""
