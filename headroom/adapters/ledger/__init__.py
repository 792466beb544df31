"""The ledger on DynamoDB: append-only record chains, and the state of each resource beside them.

May import `adapters.errors`, `ports`, `serialization` and the domain.
The door offers `DynamoLedger` and what reads single items; `adapters/tables.py` defines both tables, also for the stacks."""

from headroom.adapters.ledger.budget import account_sum, read_budget
from headroom.adapters.ledger.items import Item, moment, readable, ref_of, stamped, unwire, wire
from headroom.adapters.ledger.ledger import DynamoLedger
from headroom.adapters.ledger.reads import Reads
from headroom.adapters.ledger.seals import SealCheck, Sealer
