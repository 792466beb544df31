"""Storage mode of Aurora clusters through the RDS API.

May import `adapters.rds` (errors, bookmarks), `adapters.errors`, `ports` and the domain.
The door offers `AuroraStorage`."""

from headroom.adapters.aurora.storage import AuroraClusterStorage
