"""One module for each verb of `headroom`, with its options.

May import every other room of the CLI; nothing but `main` imports a command.
`main` loads a command when it runs, so this door offers no names."""
