"""EC2's volume calls over HTTP: volumes under the rules of ModifyVolume, and their events.

May import `events`, `state`.
Offers: the API, the volumes of an account and Region, calls to create and delete them."""

from headroom.localaws.ebs.api import Ec2Api
from headroom.localaws.ebs.creation import delete_volume, make_volume, parse_bool
from headroom.localaws.ebs.events import put_volume_notification
from headroom.localaws.ebs.volumes import MODIFIED, VolumeStore, volume_store
