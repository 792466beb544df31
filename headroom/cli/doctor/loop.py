"""Checks of the stacks and of what runs in them: triggers, queues, functions, the sweep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from headroom.cli.doctor.deployed import Deployed, DeployedStacks, StackResource
from headroom.cli.doctor.findings import Fact, Finding, just_deployed
from headroom.cli.terminal.output import number, utc
from headroom.settings import FunctionSettings, SettingsError

COMPLETE = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE")
REDEPLOY = "deploy again (`cdk deploy --all`)"
RESTORE = "restore what the template defines (`cdk deploy --all --revert-drift`; this puts back the deployed policy too)"
"""A deployment of an unchanged template changes nothing, also not what somebody deleted."""
HOUR = timedelta(hours=1)
WAITING_S = 600
OVERDUE_S = 1_800
SWEEP_LATE = timedelta(minutes=10)
LONGEST_SCAN = timedelta(hours=24)
SCANS_LATE = 3
"""Scan periods after which the alarm on the age of the last complete scan goes off, too."""
SHORTEST_SCAN_PERIOD = 15
"""Minutes that alarms and this check assume at least: one scan may take this long."""

Found = Iterator[Finding | Fact]


def stacks(deployed: Deployed) -> Found:
    """Both stacks are there, complete, and name the tables and the topic."""
    for stack in deployed.stacks:
        if not stack.status:
            yield Finding(
                problem=f"there is no stack {stack.name}",
                fix=f"{REDEPLOY}, or name the stack of the functions with --loop-stack",
            )
        elif stack.status not in COMPLETE:
            moving = stack.status.endswith("_IN_PROGRESS")
            yield Finding(
                problem=f"stack {stack.name} is {stack.status}",
                fix="wait for it and run `headroom doctor` again" if moving
                else f"read the stack's events, remove the cause, and {REDEPLOY}",
            )  # fmt: skip
        else:
            yield Fact(text=f"{stack.name} is {stack.status}, {len(stack.resources)} resources")
    for name in ("RecordsTable", "StateTable", "TopicArn"):
        if deployed.output(name) is None:
            yield Finding(problem=f"no stack has the output {name}", fix=REDEPLOY)


def rule_place(deployed: DeployedStacks, rule: StackResource) -> tuple[dict[str, str], str]:
    """The arguments that name a rule's bus, and its name; a hub's rules are on its own bus."""
    bus, _, name = rule.physical.rpartition("|")
    own = [bus] if bus else [one.physical for one in deployed.of("AWS::Events::EventBus")]
    return dict(zip(("EventBusName",), own, strict=False)), name


def triggers(deployed: DeployedStacks) -> Found:
    """Rules are enabled and have targets; the schedule and the queue's mapping are enabled."""
    events = deployed.client("events")
    for rule in deployed.of("AWS::Events::Rule"):
        place, name = rule_place(deployed, rule)
        try:
            state = events.describe_rule(Name=name, **place)["State"]
        except events.exceptions.ResourceNotFoundException:
            yield Finding(problem=f"the rule {name} was deleted", fix=RESTORE)
            continue
        if not state.startswith("ENABLED"):
            yield Finding(
                problem=f"the rule {name} is {state}: its events do not wake Headroom",
                fix=f"aws events enable-rule --name {name}"
                + (f" --event-bus-name {place['EventBusName']}" if place else ""),
            )
        if not events.list_targets_by_rule(Rule=name, **place)["Targets"]:
            yield Finding(problem=f"the rule {name} has no target", fix=RESTORE)
    for schedule in deployed.of("AWS::Scheduler::Schedule"):
        group, _, name = schedule.physical.rpartition("|")
        place = {"GroupName": group} if group else {}
        scheduler = deployed.client("scheduler")
        try:
            state = scheduler.get_schedule(Name=name, **place).get("State", "ENABLED")
        except scheduler.exceptions.ResourceNotFoundException:
            yield Finding(
                problem=f"the schedule {name} was deleted: nothing is scanned", fix=RESTORE
            )
            continue
        if state != "ENABLED":
            yield Finding(
                problem=f"the schedule {name} is {state}: nothing is scanned or verified",
                fix="enable it in EventBridge Scheduler, or " + RESTORE,
            )
    for mapping in deployed.of("AWS::Lambda::EventSourceMapping"):
        functions = deployed.client("lambda")
        try:
            state = functions.get_event_source_mapping(UUID=mapping.physical)["State"]
        except functions.exceptions.ResourceNotFoundException:
            yield Finding(
                problem="nothing takes from the queue: its mapping was deleted", fix=RESTORE
            )
            continue
        if state in ("Disabled", "Disabling"):
            yield Finding(
                problem=f"the mapping of the queue is {state}: events wait unread",
                fix=f"aws lambda update-event-source-mapping --uuid {mapping.physical} --enabled",
            )
    yield Fact(text=f"{len(deployed.of('AWS::Events::Rule'))} rules, "
               f"{len(deployed.of('AWS::Scheduler::Schedule'))} schedule")  # fmt: skip


def queues(deployed: DeployedStacks) -> Found:
    """Nothing is parked, and no event waits long."""
    sqs = deployed.client("sqs")
    for queue in deployed.of("AWS::SQS::Queue"):
        name = queue.physical.rsplit("/", 1)[-1]
        try:
            attributes = sqs.get_queue_attributes(
                QueueUrl=queue.physical, AttributeNames=["ApproximateNumberOfMessages"]
            )["Attributes"]
        except sqs.exceptions.QueueDoesNotExist:
            yield Finding(problem=f"the queue {name} was deleted", fix=RESTORE)
            continue
        count = int(attributes["ApproximateNumberOfMessages"])
        if "HubEvents" in queue.logical:
            if count:
                yield _not_forwarded(deployed, name, count)
            continue
        if "DeadLetter" in queue.logical:
            again = deployed.output("Redelivery")
            if count and again is not None:
                yield Finding(
                    problem=f"{count:,} events wait in {name}, because the hub's stream or log group did not take them",
                    fix=f"make sure that both exist and accept events, then store the events: {again}",
                )
            elif count:
                yield Finding(
                    problem=f"{count:,} messages are parked in {name}",
                    fix="read one and the functions' logs, remove the cause, then redrive the queue "
                    f"(aws sqs start-message-move-task), or purge it: {queue.physical}",
                )
            continue
        oldest_s = _oldest_s(deployed, name)
        if oldest_s > WAITING_S:
            yield Finding(
                problem=f"the oldest event in {name} has waited for {number(oldest_s / 60)} minutes",
                fix="check for errors and throttles of the function that takes from it",
            )
        yield Fact(text=f"{count:,} events wait in {name}")


def _oldest_s(deployed: DeployedStacks, queue: str) -> float:
    """Age of the oldest message of a queue in seconds; 0 where nothing is published."""
    ages = deployed.metric(
        "AWS/SQS", "ApproximateAgeOfOldestMessage", {"QueueName": queue}, statistic="Maximum",
        over=timedelta(minutes=15),
    )  # fmt: skip
    return ages[0][1] if ages else 0


def _not_forwarded(deployed: DeployedStacks, queue: str, count: int) -> Finding:
    hours = _oldest_s(deployed, queue) / HOUR.total_seconds()
    oldest = f", the oldest for {number(round(hours))} hours" if hours >= 1 else ""
    again = deployed.output("HubRedelivery") or "the command of the output HubRedelivery"
    return Finding(
        problem=f"{count:,} events wait in {queue}{oldest}, because the hub's bus did not take them; "
        "after 14 days they are lost to the hub",
        fix=f"let the bus exist and accept this account again, then send them: {again}",
    )


def functions(deployed: Deployed) -> Found:
    """Every function exists, is ready, has valid settings, runs the same code and does not fail."""
    there = {one["FunctionName"] for one in deployed.functions}
    for one in deployed.of("AWS::Lambda::Function"):
        if one.physical not in there:
            yield Finding(problem=f"the function {one.physical} was deleted", fix=RESTORE)
    for function in deployed.functions:
        yield from _function(deployed, function)
    if not there:
        yield Finding(problem="the stacks have no function: nothing is reconciled", fix=REDEPLOY)
    if len({one.get("CodeSha256") for one in deployed.functions}) > 1:
        yield Finding(
            problem="the functions run different code: an update was interrupted or one was edited",
            fix="give each the package that the template names (aws lambda update-function-code), or deploy a "
            "changed one: CloudFormation sees no drift of code",
        )
    if len(set(deployed.settings)) > 1:
        yield Finding(problem="the functions have different settings", fix=RESTORE)


def _function(deployed: Deployed, function: Mapping[str, Any]) -> Found:
    name = function["FunctionName"]
    for state, good in (("State", "Active"), ("LastUpdateStatus", "Successful")):
        if function.get(state, good) not in (good, "Inactive", "InProgress"):
            yield Finding(
                problem=f"{name}: {state} is {function[state]}: "
                f"{function.get(f'{state}Reason', 'no reason given')}",
                fix=REDEPLOY,
            )
    try:
        settings = FunctionSettings.from_environment(
            function.get("Environment", {}).get("Variables", {})
        )
    except SettingsError as problem:
        yield Finding(
            problem=f"{name}: {str(problem).removesuffix('.')}",
            fix=f"{RESTORE}; if nobody edited it, the function is of another release than this command",
        )
    else:
        for setting, output in (("records_table", "RecordsTable"), ("state_table", "StateTable"),
                                ("topic_arn", "TopicArn")):  # fmt: skip
            if deployed.output(output) not in (None, getattr(settings, setting)):
                yield Finding(
                    problem=f"{name} uses {getattr(settings, setting)} and the stack's {output} is "
                    f"{deployed.output(output)}",
                    fix=RESTORE,
                )
    limit = deployed.client("lambda").get_function_concurrency(FunctionName=name)
    if limit.get("ReservedConcurrentExecutions") == 0:
        yield Finding(
            problem=f"{name} may not run: its reserved concurrency is 0",
            fix=f"aws lambda delete-function-concurrency --function-name {name}",
        )
    for metric, what in (("Errors", "failed"), ("Throttles", "was throttled")):
        values = deployed.metric(
            "AWS/Lambda", metric, {"FunctionName": name}, statistic="Sum", over=HOUR
        )
        times = sum(value for _, value in values)
        if times:
            last = max(at for at, value in values if value)
            yield Finding(
                problem=f"{name} {what} {times:,.0f} times in the last hour, last at {utc(last)}",
                fix="read its log: "
                f"aws logs tail {function.get('LoggingConfig', {}).get('LogGroup', '/aws/lambda/' + name)}"
                if metric == "Errors"
                else "raise the account's Lambda concurrency, or limit other functions",
            )
    changed = datetime.fromisoformat(function["LastModified"])
    yield Fact(text=f"{name}: {function['Runtime']}, changed {utc(changed)}")


def sweep(deployed: Deployed) -> Found:
    """The sweep completes every minute, its scans complete, and nothing is overdue."""
    variables: dict[str, str] = {}
    for function in deployed.functions:
        variables |= function.get("Environment", {}).get("Variables", {})
    namespace = variables.get("POWERTOOLS_METRICS_NAMESPACE", "Headroom")
    service = {"service": variables.get("POWERTOOLS_SERVICE_NAME", "headroom")}
    scan_every = int(variables.get("HEADROOM_SCAN_EVERY_MINUTES", SHORTEST_SCAN_PERIOD))

    def own(name: str, over: timedelta, statistic: str = "Sum") -> list[tuple[datetime, float]]:
        return deployed.metric(namespace, name, service, statistic=statistic, over=over)

    log = "check the schedule and the functions' logs: they name what could not be read"
    done = [at for at, value in own("SweepCompleted", LONGEST_SCAN) if value]
    if not done and deployed.settled_at is not None:
        yield just_deployed("no sweep has completed yet", deployed.settled_at)
    elif not done:
        yield Finding(problem="no sweep has completed in 24 hours", fix=log)
    elif deployed.now - done[0] > SWEEP_LATE:
        yield Finding(problem=f"the last sweep completed at {utc(done[0])}", fix=log)
    else:
        yield Fact(text=f"the last sweep completed at {utc(done[0])}")
    # Both ages are published only where they are too high.
    age = max((value for _, value in own("ScanAgeSeconds", SWEEP_LATE, "Maximum")), default=0) / 60
    if age > SCANS_LATE * max(SHORTEST_SCAN_PERIOD, scan_every):
        text = f"the last complete scan of the fleet began {number(round(age))} minutes ago"
        yield Finding(problem=text, fix=log)
    overdue = max((value for _, value in own("OldestDueSeconds", SWEEP_LATE, "Maximum")), default=0)
    if overdue > OVERDUE_S:
        yield Finding(
            problem=f"a reconciliation has been due for {number(overdue / 60)} minutes",
            fix="check the sweep's log for a throttled API, or a fleet too large for one sweep",
        )
    for name, what in (
        ("FailedReconciliations", "resources could not be reconciled"),
        ("NotPublished", "records could not be published"),
        ("FailedNotifications", "messages could not be sent"),
        ("RejectedSignals", "events were not understood"),
    ):
        count = sum(value for _, value in own(name, HOUR))
        if count:
            yield Finding(
                problem=f"{count:,.0f} {what} in the last hour",
                fix="the functions' logs say which and why (docs/operate/runbook.md)",
            )
