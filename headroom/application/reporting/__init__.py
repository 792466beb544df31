"""What others learn of the records: people by messages and the daily digest, other programs by events.

May import: the domain and `ports`.
The door offers `notify_people`, `publish_records` and `send_digest`."""

from headroom.application.reporting.digest import send_digest
from headroom.application.reporting.notify import NotificationReport, notify_people
from headroom.application.reporting.publishing import PublishedRecords, publish_records
