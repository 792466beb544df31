"""The work queue: messages of the workers, on SQS.

May import `adapters.errors`, `adapters.ledger`, `ports` and the domain.
The door offers `SqsWorkQueue`, `read_message`, `Work`, and for how long what fails is retried."""

from headroom.adapters.retries import retry_delay_s, tries_before_parking
from headroom.adapters.work.messages import Work, read_message
from headroom.adapters.work.sqs import SqsWorkQueue
