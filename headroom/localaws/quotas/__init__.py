"""Request quotas in front of the endpoint, where they are asked for.

May import `iam`, `state`.
Offers: take_token, too_many, refusals, Throttled."""

from headroom.localaws.quotas.buckets import Throttled, refusals, take_token, too_many
