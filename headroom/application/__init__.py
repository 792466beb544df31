"""The order of things: reconcile one resource, execute, verify, handle requests, sweep, report.

May import the domain and `ports`; no AWS, no clock.
The door offers `reconcile`, `sweep`, `signals`, `digest` and `publishing`."""

from headroom.application.digest import send_digest
from headroom.application.dry_run import DryRunResult, decide_dry_run
from headroom.application.publishing import PublishedRecords, publish_records
from headroom.application.signals import remediate
from headroom.application.sweep import sweep
