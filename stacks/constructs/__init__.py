"""The one place that builds tables, functions, permissions, triggers and alarms.

May import `settings`, `adapters.actions` and the ledger's schema.
The door offers one construct for each module; names and detection queries are shared here."""
