"""`grading service`, `grading topology` and `grading callback`: the grader, and the broker."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import replace
from typing import IO, Final

import click

from grading.cli.opening import database_url, opened
from grading.cli.output import (
    ExitCode,
    document,
    exit_with,
    json_option,
    line,
    remark,
    reports_errors,
)
from grading.config import GradingConfig
from grading.messages.contract import CALLBACK
from grading.messages.topology import Topology
from grading.service import Together, grader_app, grader_services
from holdfast.config.logs import configure
from holdfast.errors import TopologyMismatch, UnavailableError, UsageError
from holdfast.messaging import Received

_MISSING: Final = re.compile(r"NOT_FOUND - no (?P<kind>queue|exchange) '(?P<name>[^']*)'")
"""What a broker answers a look for something that is not there."""


@click.command()
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
)
@click.option("--log-format", type=click.Choice(["auto", "console", "json"]), default="auto")
@reports_errors
def service(*, log_level: str, log_format: str) -> None:
    """Run the grader's side until stopped: requests in, callbacks and dead letters out.

    Needs AMQP_URL. The stages run in a Celery fleet, celery -A grading.fleet worker -Q
    holdfast.grading --prefetch-multiplier 1, or, with GRADING_RUNNER=worker, in this process.
    """
    config = _with_broker()
    configure(level=log_level, log_format=log_format, stream=sys.stderr)
    app, grader = grader_app(config, database_url=database_url())
    with app:
        code = Together(grader_services(app, grader)).run()
    sys.exit(code)


@click.group()
def topology() -> None:
    """Look at the exchange and the queues of grading, or declare them."""


@topology.command()
@json_option
@reports_errors
def check(*, as_json: bool) -> None:
    """Say whether every exchange and queue is there; change nothing.

    Ends with 6 where one is missing or made otherwise.
    """
    flaw = topology_flaw(replace(_topology(), declares=False))
    if as_json:
        document({"ok": flaw is None, "flaw": flaw})
    elif flaw is None:
        remark("every exchange and queue is there")
    if flaw is not None:
        exit_with(ExitCode.ATTENTION, None if as_json else flaw)


@topology.command()
@json_option
@reports_errors
def declare(*, as_json: bool) -> None:
    """Declare the exchange and the queues; what is there already stays."""
    flaw = topology_flaw(replace(_topology(), declares=True))
    if as_json:
        document({"ok": flaw is None, "flaw": flaw})
    elif flaw is None:
        remark("every exchange and queue is declared")
    if flaw is not None:
        exit_with(ExitCode.ATTENTION, None if as_json else flaw)


def topology_flaw(wanted: Topology) -> str | None:
    """Return what is wrong with the exchange and the queues, None where nothing is.

    Raises `UnavailableError` when the broker cannot be reached.
    """
    transport = wanted.transport()
    try:
        trouble = transport.ready()
    except TopologyMismatch as error:
        return str(error)
    finally:
        transport.close()
    if trouble is None:
        return None
    missing = _MISSING.search(trouble.error)
    if missing is None:
        raise UnavailableError(f"the broker cannot be used: {trouble.error}")
    return (
        f"the {missing['kind']} {missing['name']!r} is not there; declare it, or have it declared"
    )


@click.group()
def callback() -> None:
    """Hand callbacks to main, while a grader is being developed."""


@callback.command()
@click.argument("file", type=click.File("rb"))
@json_option
@reports_errors
def send(*, file: IO[bytes], as_json: bool) -> None:
    """Hand main the callback in FILE, as if it had come by message; `-` reads stdin."""
    try:
        body = json.load(file)
    except ValueError as error:
        raise UsageError(f"that is not JSON: {error}") from error
    event_id = body.get("eventId") if isinstance(body, dict) else None
    received = Received(id=str(event_id), type=CALLBACK, subject=None, payload=body)
    with opened() as system:
        handled = system.callbacks.take(received)
    if as_json:
        document({"submissionId": handled.submission_id, "standing": handled.standing.value})
    else:
        line(f"{handled.submission_id}  {handled.standing.value}")


def _topology() -> Topology:
    return Topology.of(_with_broker())


def _with_broker() -> GradingConfig:
    config = GradingConfig.from_environment(os.environ)
    if config.broker_url is None:
        raise UsageError("there is no broker: set AMQP_URL, such as amqp://host/")
    return config
