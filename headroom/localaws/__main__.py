"""`python -m headroom.localaws`: one endpoint until SIGTERM, or until standard input ends."""

from __future__ import annotations

import argparse
import gc
import json
import logging
import os
import signal
import sys
import threading
from datetime import timedelta
from functools import cache
from pathlib import Path

import botocore.session

# What is imported stays: to look for garbage in it is a quarter of a start.
gc.set_threshold(1_000_000)
# moto makes sessions while it is imported; they share what they read of AWS's service models.
botocore.session.create_loader = cache(botocore.session.create_loader)

from headroom.localaws.server import RunningEndpoint  # noqa: E402
from headroom.localaws.state import ClockMode, Options  # noqa: E402
from headroom.proving.awsrules import Delays  # noqa: E402

READY_FILE = "endpoint.json"


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m headroom.localaws", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--clock", choices=[mode.value for mode in ClockMode], default="real")
    parser.add_argument("--metric-delay-minutes", type=float, default=2.0)
    parser.add_argument("--modifying-minutes", type=float, default=1.0)
    parser.add_argument("--effect-minutes", type=float, default=10.0)
    parser.add_argument("--completed-minutes", type=float, default=120.0)
    parser.add_argument("--refusal-without-instant", action="store_true")
    parser.add_argument("--no-cloudtrail", action="store_true")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--no-iam", action="store_true")
    parser.add_argument("--quotas", action="store_true")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--until-stdin-ends", action="store_true")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    """Serve until a signal or the end of standard input; writes endpoint.json into the state directory when ready."""
    arguments = _arguments(argv)
    options = Options(
        state_dir=arguments.state_dir.resolve(),
        metric_delay_minutes=arguments.metric_delay_minutes,
        delays=Delays(
            modifying=timedelta(minutes=arguments.modifying_minutes),
            effect=timedelta(minutes=arguments.effect_minutes),
            completed=timedelta(minutes=arguments.completed_minutes),
        ),
        names_instant=not arguments.refusal_without_instant,
        cloudtrail=not arguments.no_cloudtrail,
        seed=arguments.seed,
        evaluate_iam=not arguments.no_iam,
        quotas=arguments.quotas,
        workers=arguments.workers,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    endpoint = RunningEndpoint(options, port=arguments.port, mode=ClockMode(arguments.clock))
    endpoint.start()
    gc.freeze()  # moto and botocore's models stay: collecting them again is a third of the work
    gc.set_threshold(100_000, 20, 50)
    ready = options.state_dir / READY_FILE
    fresh = ready.with_suffix(".new")
    fresh.touch(mode=0o600)
    content = {"url": endpoint.url, "pid": os.getpid(), "access_key": options.access_key}
    fresh.write_text(json.dumps(content))
    os.replace(fresh, ready)
    if arguments.until_stdin_ends:
        threading.Thread(target=_await_end, args=(stop,), daemon=True).start()
    try:
        stop.wait()
    finally:
        endpoint.stop()
        ready.unlink(missing_ok=True)


def _await_end(stop: threading.Event) -> None:
    sys.stdin.buffer.read()
    stop.set()


if __name__ == "__main__":
    main()
