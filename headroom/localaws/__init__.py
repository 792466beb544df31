"""A local AWS: moto on 127.0.0.1 with AWS's rules, alarms, schedules and functions in front of it.

`headroom.localaws.daemon` starts and stops it; nothing here imports moto until a server runs.
"""
