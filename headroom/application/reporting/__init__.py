"""What people and other programs are told of the records: events on the bus, and the daily digest.

May import: the domain and `ports`.
The door offers `publish_records` and `send_digest`."""

from headroom.application.reporting.digest import LISTED, MOST_COUNTED, MOST_READ, send_digest
from headroom.application.reporting.publishing import PublishedRecords, publish_records
