"""Entry points of the deployed functions: parse, call, emit."""
