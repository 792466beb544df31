"""Settings every test shares: the same examples on every machine, and no test is timed.

`make test` draws the same examples each time. `make fuzz` draws others: it loads the profile
`fuzz` and the rest of tests/fuzz.py, which keeps what it finds. `make test ORDER=n` runs the files,
and the tests in each, in an order drawn from n: no test may depend on another.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from functools import cache
from importlib import import_module
from random import Random
from threading import Thread
from typing import Any

import botocore.session
import pytest
from _pytest.pathlib import LOCK_TIMEOUT, cleanup_numbered_dir
from botocore import useragent
from botocore.client import ClientCreator
from botocore.hooks import BaseEventHooks, EventAliaser
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

gc.disable()  # until all tests are collected: what is imported stays
QUIET = (HealthCheck.too_slow,)
settings.register_profile(
    "headroom", derandomize=True, database=None, deadline=None, suppress_health_check=QUIET,
    max_examples=40,
    print_blob=True,
)  # fmt: skip
settings.register_profile(
    "fuzz", derandomize=False, database=None, deadline=None, suppress_health_check=QUIET,
    print_blob=True,
)  # fmt: skip
LONG = (
    "tests/localaws/endtoend/", "tests/packaging/", "tests/tools/", "tests/laws/", "tests/stacks/",
    "tests/proving/", "tests/cli/", "tests/upgrade/", "tests/test_serialization.py",
)  # fmt: skip
"""Where files take seconds: what comes last takes less, and both workers end together."""
CODE_FOLDER = "_LOCAL_AWS_CODE_FOLDER"
FUZZ = "HEADROOM_FUZZ" in os.environ
os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"  # 1,300 images, made anew for each test of EC2
# The CDK's own validation is half of a synth. test_app.py keeps it; cfn-lint checks every template.
os.environ["CDK_VALIDATION"] = "false"
settings.load_profile("fuzz" if FUZZ else "headroom")
if not FUZZ:  # else it draws constants of the modules that this worker has imported so far, too
    providers._get_local_constants = lambda: providers._local_constants
# Sessions share what they read of AWS's service models: half of the time of a new client.
botocore.session.create_loader = cache(botocore.session.create_loader)
# A request names its client twice, of the same parts each time: a fifth of the client's time.
useragent.sanitize_user_agent_string_component = cache(
    useragent.sanitize_user_agent_string_component
)
_CLASSES: dict[str, type] = {}
_class_of = ClientCreator._create_client_class


def _one_class_a_service(creator: ClientCreator, service: str, model: Any) -> type:
    """A new client of a service has the class of the last: a third of the time of a new client."""
    if service not in _CLASSES:
        _CLASSES[service] = _class_of(creator, service, model)
    return _CLASSES[service]


ClientCreator._create_client_class = _one_class_a_service
# A session registers 150 handlers, and a client 20 more. That all take keywords is known, and the
# name of an event is always the same: together a third of the rest.
BaseEventHooks._verify_accept_kwargs = lambda *_: None
_NAMES: dict[str, str] = {}
_name_of = EventAliaser._alias_event_name


def _known_name(aliaser: EventAliaser, event_name: str) -> str:
    if event_name not in _NAMES:
        _NAMES[event_name] = _name_of(aliaser, event_name)
    return _NAMES[event_name]


EventAliaser._alias_event_name = _known_name
_discover = ClientCreator._register_endpoint_discovery


def _discover_of_dynamodb(creator: ClientCreator, client: Any, *more: Any) -> None:
    """No other service here has endpoints to discover: to see that, a model of all of EC2 is made."""
    if client.meta.service_model.service_name == "dynamodb":
        _discover(creator, client, *more)


ClientCreator._register_endpoint_discovery = _discover_of_dynamodb
pytest_plugins = ["tests.fuzz"] if FUZZ else []


@pytest.hookimpl(trylast=True)  # pytest knows its temporary folder then
def pytest_configure(config: pytest.Config) -> None:
    """Endpoints unpack the functions' code into one folder of the run; those of earlier runs go meanwhile.

    pytest would remove them after the last test: half a minute of a slow disk, while nobody works.
    """
    if hasattr(config, "workerinput"):
        return
    made: pytest.TempPathFactory = config._tmp_path_factory  # type: ignore[attr-defined]
    os.environ[CODE_FOLDER] = str(made.getbasetemp() / "function-code")
    if config.option.basetemp is None and getattr(config.option, "numprocesses", None):
        root, dead = made.getbasetemp().parent, time.time() - LOCK_TIMEOUT
        what = (root, "pytest-", made._retention_count, dead)
        Thread(target=cleanup_numbered_dir, args=what, daemon=True).start()


def pytest_collection_finish() -> None:
    """Let moto answer as fast as in the endpoint, and collect no garbage among what was imported.

    A third of the CPU time went into such collections.
    """
    if "moto.dynamodb.models" in sys.modules:
        import_module("headroom.localaws.server.quick_answers").install()
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, or one worker ends long after the others; another order where one is asked for."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))
    order = os.environ.get("HEADROOM_ORDER")
    if order:
        draw, files = Random(order), dict[str, list[pytest.Item]]()
        for item in items:
            files.setdefault(item.nodeid.partition("::")[0], []).append(item)
        names = sorted(files)
        draw.shuffle(names)
        for name in names:
            draw.shuffle(files[name])
        items[:] = [item for name in names for item in files[name]]
