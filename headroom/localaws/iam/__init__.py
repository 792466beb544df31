"""IAM, evaluated: whether a deployed role may make a request, by the policies that its stack made.

May import `state`.
Offers: authorize, service_may, lets_account, credentials_of, report, denial, AccessDenied."""

from headroom.localaws.iam.answers import denial
from headroom.localaws.iam.cross_account import ORGANIZATION, lets_account
from headroom.localaws.iam.gate import AccessDenied, authorize, report, service_may
from headroom.localaws.iam.roles import credentials_of
