"""`holdfast dispatch`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from holdfast.cli.processes.serving import broker_of, give_options, log_options, run_service
from holdfast.cli.shell.invocation import Invocation, pass_invocation
from holdfast.cli.shell.program import Command
from holdfast.cli.shell.setting_option import setting_option
from holdfast.errors import UsageError

if TYPE_CHECKING:
    from holdfast.bridges.celery.carrier import CeleryCarrier

_SPAN: Final = "DURATION"


@click.command(
    "dispatch", cls=Command, example="holdfast dispatch -A app:app --broker-url amqp://broker/"
)
@setting_option("--broker-url", metavar="URL", help="The broker, such as amqp://host/.")
@setting_option("--exchange", metavar="NAME", help="The exchange, and what its queues begin with.")
@setting_option("-q", "--queues", multiple=True, metavar="NAME[,NAME]", help="Queues to look at.")
@setting_option("--poll", metavar=_SPAN, help="How often to look for due jobs without a wake-up.")
@setting_option("--sweep", metavar=_SPAN, help="How often to look for lost workers.")
@setting_option("--deadline-check", metavar=_SPAN, help="How often to look for passed deadlines.")
@log_options
@pass_invocation
def dispatch(invocation: Invocation, /, queues: tuple[str, ...], **options: str | None) -> int:
    """Send the workers of a Celery fleet the ids of due jobs, until it is stopped.

    Runs no jobs itself. Looks after lost workers, deadlines, deliveries and what is old, as a
    worker does. Any number may run; a job that is sent twice runs once.

    Exits with 0 after a clean end, with 1 when something had to be cut off, and with 2 when the
    broker has a queue made otherwise.
    """
    give_options(invocation, options)
    invocation.give("queues", "--queues", ",".join(queues) or None)
    settings = invocation.settings
    carrier = _carrier(broker_of(invocation, "dispatch"), exchange=settings.exchange)
    app = invocation.application()
    invocation.log("info")
    running = app.dispatcher(carrier, queues=settings.queues or None, options=settings.worker)
    return run_service(invocation, "dispatcher", running)


def _carrier(url: str, *, exchange: str) -> CeleryCarrier:
    try:
        from holdfast.bridges.celery.carrier import CeleryCarrier  # noqa: PLC0415 - an extra's
    except ModuleNotFoundError as error:
        raise UsageError("Celery takes an extra: pip install 'holdfast[celery]'") from error
    return CeleryCarrier(url, exchange=exchange)
