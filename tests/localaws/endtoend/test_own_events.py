"""Headroom's own events on the local endpoint: a rule receives them, Headroom's own rules do not."""

from __future__ import annotations

import json

from headroom.adapters.events import EventBus
from headroom.adapters.events.bus import entry
from headroom.ports import Delivery
from tests.adapters.events.test_bus import EVERY
from tests.localaws.conftest import Program


def test_a_rule_receives_headrooms_events_and_the_signal_rules_none(program: Program) -> None:
    events = program.client("events")
    heard, all_of_it = program.queue("heard"), '{"source":["headroom"]}'
    woken = program.queue("woken")
    patterns = {
        "others": (all_of_it, heard[1]),
        "alarms": ('{"source":["aws.cloudwatch"]}', woken[1]),
        "volumes": ('{"source":["aws.ec2"]}', woken[1]),
    }
    for name, (pattern, arn) in patterns.items():
        events.put_rule(Name=name, EventPattern=pattern, State="ENABLED")
        events.put_targets(Rule=name, Targets=[{"Id": "1", "Arn": arn}])
    some = EVERY[:12]
    assert EventBus(lambda: events).publish(some) == (Delivery.ACCEPTED,) * 12
    answer = [json.loads(body) for body in program.messages(heard[0])]
    wanted = [json.loads(entry(one)["Detail"])["record_hash"] for one in some]
    assert sorted(e["detail"]["record_hash"] for e in answer) == sorted(wanted)
    assert {e["detail-type"] for e in answer} >= {"Headroom Decision", "Headroom Change"}
    assert program.messages(woken[0]) == []
