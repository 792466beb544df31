"""Storage of RDS instances through the RDS API: read instances, and modify their storage.

May import `adapters.ebs` (instance limits), `adapters.errors`, `ports` and the domain.
The door offers `RdsStorage`, selection by tag, and what Aurora shares: refusals, operations, bookmarks."""

from headroom.adapters.rds.bookmarks import Bookmarks
from headroom.adapters.rds.refusals import rds_refusal_of
from headroom.adapters.rds.selection import select_databases
from headroom.adapters.rds.shapes import applied_with
from headroom.adapters.rds.storage import RdsStorage
