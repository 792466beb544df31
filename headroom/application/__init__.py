"""The order of things: reconcile one resource, execute, verify, dispatch and do work, report.

May import the domain and `ports`; no AWS, no clock.
The door offers the dispatcher, the worker, `sweep` (both in one process), signals, digest and publishing."""

from headroom.application.alarms import apply_alarm_plan
from headroom.application.dispatch import DispatchReport, dispatch
from headroom.application.dry_run import DryRunResult, decide_dry_run, input_dry_run
from headroom.application.reporting import (
    NotificationReport,
    PublishedRecords,
    notify_people,
    publish_records,
    send_digest,
)
from headroom.application.scan import read_page
from headroom.application.sweep import remediate, sweep
from headroom.application.work import APART, WorkReport, items_of_event, work
