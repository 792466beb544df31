"""The application's ports in memory: the ledger, fixed policy and prices, open calendars.

May import nothing of the proving ground; the contract tests hold it to the DynamoDB ledger.
Offers: the in-memory ledger, ports_in_memory."""

from headroom.proving.memory.ledger import InMemoryLedger
from headroom.proving.memory.ports import OpenCalendars, ports_in_memory
