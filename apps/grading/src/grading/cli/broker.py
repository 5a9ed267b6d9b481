"""`grading service`, `grading topology` and `grading callback`: the grader's side and the broker."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

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
from grading.messages.topology import check_topology, declare_topology, described
from grading.service import run_service
from holdfast.errors import UsageError


@click.command()
@click.option("--log-level", default="info", show_default=True, help="debug, info, warning, error.")
@reports_errors
def service(*, log_level: str) -> None:
    """Run the grader's side: intake, relay of callbacks and dead letters, until stopped.

    Needs AMQP_URL. The stages run in a Celery fleet, celery -A grading.fleet worker -Q
    holdfast.grading, or, with GRADING_RUNNER=worker, in this process.
    """
    exit_with(ExitCode(run_service(os.environ, log_level=log_level)))


@click.group()
def topology() -> None:
    """Look at the exchange and the queues of grading, or declare them."""


@topology.command()
@json_option
@reports_errors
def check(*, as_json: bool) -> None:
    """Say whether every exchange and queue is there as it should be; change nothing.

    Ends with 6 where something is missing or made otherwise.
    """
    flaws = check_topology(_with_broker())
    if as_json:
        document({"flaws": flaws})
    else:
        for flaw in flaws:
            line(flaw)
    if flaws:
        exit_with(ExitCode.ATTENTION)
    if not as_json:
        remark("every exchange and queue is as it should be")


@topology.command()
@json_option
@reports_errors
def declare(*, as_json: bool) -> None:
    """Declare the exchange and the queues; what is there already stays."""
    config = _with_broker()
    declare_topology(config)
    if as_json:
        document(described(config))
    else:
        for name, what in described(config).items():
            line(f"{name:<28}  {what}")


@click.group()
def callback() -> None:
    """Send callbacks by hand, while one side is being developed."""


@callback.command()
@click.argument("file", type=click.File("rb"))
@json_option
@reports_errors
def send(*, file: click.utils.LazyFile, as_json: bool) -> None:
    """Publish the callback in FILE to the broker; its schema is checked first."""
    from grading.messages.publish import publish_callback  # noqa: PLC0415 - takes the broker client

    config = _with_broker()
    body = file.read()
    try:
        message = json.loads(body)
    except ValueError as error:
        raise UsageError(f"{Path(file.name).name} is not JSON: {error}") from error
    event_id = publish_callback(config, message)
    if as_json:
        document({"eventId": event_id})
    else:
        line(event_id)


def _with_broker() -> GradingConfig:
    config = GradingConfig.from_environment(os.environ)
    if config.broker_url is None:
        raise UsageError("there is no broker: set AMQP_URL, such as amqp://host/")
    return config
