"""What `headroom doctor` examines: the deployment, its rules and the fleet, each with its findings.

May import `sources`, `terminal` and everything that the commands may.
"""
