"""The streams, exit codes, file names and resource names of the command line.

May import the domain only.
The door offers tables, money and times as text, `Problem` and `BadRequest`."""
