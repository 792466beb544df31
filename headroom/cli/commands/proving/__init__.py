"""The verbs that need no AWS account: the demo, simulations, comparisons, and the local endpoint.

May import every other room of the CLI; nothing but `main` imports a command.
`main` loads a command when it runs, so this door offers no names."""
