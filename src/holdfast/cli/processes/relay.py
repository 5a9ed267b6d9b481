"""`holdfast relay`."""

from __future__ import annotations

from typing import Final

import click

from holdfast.cli.processes.serving import (
    broker_of,
    give_options,
    log_options,
    run_service,
    transport_of,
)
from holdfast.cli.shell.invocation import Invocation, pass_invocation
from holdfast.cli.shell.program import Command
from holdfast.cli.shell.setting_option import setting_option

_COUNT: Final = "INTEGER"
_SPAN: Final = "DURATION"
_CALLED: Final = {
    name: f"outbox_{name}" for name in ("batch_size", "poll_interval", "stale_threshold")
}


@click.command(
    "relay", cls=Command, example="holdfast relay --broker-url amqp://broker/ --exchange events"
)
@setting_option("--broker-url", metavar="URL", help="The broker, such as amqp://host/.")
@setting_option("--exchange", metavar="NAME", help="The exchange that messages are published to.")
@setting_option("--reply-to", metavar="NAME", help="The queue in which replies are awaited.")
@setting_option(
    "--batch-size", setting=_CALLED["batch_size"], metavar=_COUNT, help="Messages at a time."
)
@setting_option(
    "--poll-interval",
    setting=_CALLED["poll_interval"],
    metavar=_SPAN,
    help="How often to look for messages unasked.",
)
@setting_option(
    "--stale-threshold",
    setting=_CALLED["stale_threshold"],
    metavar=_SPAN,
    help="Warn of messages that wait longer.",
)
@click.option("--types", metavar="TYPE[,TYPE]", help="Publish messages of these types only.")
@click.option(
    "--without-types", metavar="TYPE[,TYPE]", help="Leave messages of these types to another relay."
)
@log_options
@pass_invocation
def relay(
    invocation: Invocation,
    /,
    *,
    types: str | None,
    without_types: str | None,
    **options: str | None,
) -> int:
    """Publish the messages of the outbox to RabbitMQ until stopped.

    Messages are marked once the broker has confirmed them; while it is away they wait. Any number
    of relays may run. SIGTERM and Ctrl-C end it after the batch under way.

    Exits with 0 after a clean end, with 1 when something had to be cut off, and with 2 when the
    broker has the exchange made otherwise.
    """
    give_options(invocation, options, called=_CALLED)
    settings = invocation.settings
    transport = transport_of(
        broker_of(invocation, "relay"), exchange=settings.exchange, reply_to=settings.reply_to
    )
    engine = invocation.engine()
    invocation.log("info")
    running = engine.relay(
        transport,
        options=settings.relay,
        types=None if types is None else _listed(types),
        without_types=_listed(without_types or ""),
    )
    return run_service(invocation, "relay", running)


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]
