"""A local AWS on 127.0.0.1: moto with AWS's rules, alarms, schedules and functions in front of it.

Uses the proving ground for rules and physics; only the command line and tests import it.
`daemon` starts and stops an endpoint without loading moto into the caller."""
