"""The application's ports in memory: the deployed ledger, fixed policy and prices, open calendars.

May import `adapters.ledger`, and nothing of the proving ground.
Offers: the in-memory ledger, ports_in_memory, with_raises."""

from headroom.proving.memory.beside import with_raises
from headroom.proving.memory.ledger import LAST, InMemoryLedger, TrialLedger
from headroom.proving.memory.ports import OpenCalendars, ports_in_memory
