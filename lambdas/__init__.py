"""Entry points of the deployed functions: parse, call, emit."""

import gc

from lambdas import methods

# What is made while a function starts are imports, which stay: scanning them again and again would
# take a tenth of the time. Each function freezes them when it has started, else the first collection
# scans all of them just when it makes its first client.
gc.set_threshold(100_000, 20, 50)

methods.use()
