"""`python -m tools.bench`."""

from tools.bench import main

main()
