"""The one place that builds tables, functions, permissions, triggers and alarms."""
