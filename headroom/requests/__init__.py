"""Requests of people: approvals, rejections, rollbacks, pauses and the hub's, checked and recorded.

May import the domain and `ports`.
The door offers the request's parts, and what executes one from this account or from a hub."""

from headroom.requests.hub import Caller, HubRoles, execute_request_for
from headroom.requests.requests import (
    LONGEST_PAUSE,
    LONGEST_REASON,
    Answer,
    InvalidRequest,
    Ledger,
    Request,
    Status,
    Verb,
    parse_request,
)
