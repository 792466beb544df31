"""IAM, evaluated: whether a deployed role may make a request, by the policies that its stack made.

May import `state`.
Offers: authorize, service_may, lets_account, credentials_of, session_of, call_of, report, denial,
AccessDenied, UnknownRequest."""

from headroom.localaws.iam.answers import denial
from headroom.localaws.iam.cross_account import ORGANIZATION, lets_account
from headroom.localaws.iam.gate import AccessDenied, authorize, report, service_may
from headroom.localaws.iam.incoming import call_of
from headroom.localaws.iam.requests import UnknownRequest
from headroom.localaws.iam.roles import credentials_of, session_of
