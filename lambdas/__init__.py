"""Entry points of the deployed functions: parse, call, emit."""

import gc

from lambdas import methods

# What is made while a function starts are imports and clients, which stay: scanning them again and
# again would take a tenth of the time.
gc.set_threshold(100_000, 20, 50)

methods.use()
