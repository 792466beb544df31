"""The demo's stories as data: the resource, its load, who else changes it.

May import the domain and `proving`.
The door offers the stories of volumes, databases and clusters, and the program."""
