"""Write-back: what Headroom decided, as a patch of the code that defines the resource.

May import `sources`, `terminal` and everything that the commands may. Reads files; writes none.
"""
