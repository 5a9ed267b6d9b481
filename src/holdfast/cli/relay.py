"""`holdfast relay`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from holdfast.cli.invocation import Invocation, pass_invocation
from holdfast.cli.program import Command
from holdfast.errors import UsageError
from holdfast.settings import LOG_FORMATS, LOG_LEVELS

if TYPE_CHECKING:
    from holdfast.bridges.rabbitmq import RabbitMq

_COUNT: Final = "INTEGER"
_SPAN: Final = "DURATION"


@click.command("relay", cls=Command)
@click.option("--broker-url", metavar="URL", help="The broker, such as amqp://host/.")
@click.option("--exchange", metavar="NAME", help="The exchange that messages are published to.")
@click.option("--batch-size", metavar=_COUNT, help="Messages at a time.")
@click.option("--poll-interval", metavar=_SPAN, help="How often to look for messages unasked.")
@click.option("--stale-threshold", metavar=_SPAN, help="Warn of messages that wait longer.")
@click.option("--log-level", metavar="|".join(LOG_LEVELS), help="What to log, from there up.")
@click.option("--log-format", metavar="|".join(LOG_FORMATS), help="How to log, to stderr.")
@pass_invocation
def relay(invocation: Invocation, /, **options: str | None) -> int:
    """Publish the messages of the outbox to RabbitMQ until told to stop.

    Messages are marked once the broker has confirmed them; while it is away they wait. Any number
    of relays may run. SIGTERM and Ctrl-C end it after the batch under way.

    Exits with 0 after a clean end, with 1 when something had to be cut off, and with 2 when the
    broker has the exchange made otherwise.
    """
    for name, value in options.items():
        ours = name in {"broker_url", "exchange", "log_level", "log_format"}
        invocation.give(name if ours else f"outbox_{name}", f"--{name.replace('_', '-')}", value)
    if invocation.as_json:
        invocation.give("log_format", "--json", "json")
    settings = invocation.settings
    if settings.broker_url is None:
        raise UsageError(
            "a relay needs a broker; name it with --broker-url, or set HOLDFAST_BROKER_URL"
        )
    transport = _transport(settings.broker_url, exchange=settings.exchange)
    engine = invocation.engine()
    invocation.log("info")
    running = engine.relay(transport, options=settings.relay)
    status = running.run()
    if invocation.as_json:
        invocation.output.document({"relay": running.id, "clean": status == 0})
    return status


def _transport(url: str, *, exchange: str) -> RabbitMq:
    try:
        from holdfast.bridges.rabbitmq import RabbitMq  # noqa: PLC0415 - an extra brings it
    except ModuleNotFoundError as error:
        raise UsageError("RabbitMQ takes an extra: pip install 'holdfast[rabbitmq]'") from error
    return RabbitMq(url, exchange=exchange)
