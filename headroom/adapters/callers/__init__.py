"""Who sent a request: a proof made with the caller's credentials, and STS's word for it.

May import botocore. Offers: `prove`, `caller_of`, `sts_url`, Proof, NotProven, HEADER."""

from headroom.adapters.callers.proof import HEADER, NotProven, Proof, caller_of, prove, sts_url
