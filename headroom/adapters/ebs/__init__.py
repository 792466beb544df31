"""EBS volumes through the EC2 API: read the fleet and one volume, and modify a volume.

May import `adapters.errors`, `ports` and the domain.
The door offers `EbsStorage`, `EbsFleet` (many volumes in one read), selection by tag or id, and EC2's shapes for instance limits."""

from headroom.adapters.ebs import shapes
from headroom.adapters.ebs.fleet import EbsFleet
from headroom.adapters.ebs.lookup import volumes_by_id
from headroom.adapters.ebs.selection import select_volumes
from headroom.adapters.ebs.storage import EbsStorage
