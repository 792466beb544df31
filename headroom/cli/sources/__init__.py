"""Where a command reads: an account, a deployment's ledger, a records file, live storage.

May import `cli.terminal`, `wiring` and the adapters.
The door offers `Account`, `Deployment`, `Source` and the options that name them."""
