"""The only code that knows AWS's shapes; clients are passed in."""
