"""What commands that run until stopped have in common."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from holdfast.cli.shell.invocation import Invocation
from holdfast.cli.shell.setting_option import setting_option
from holdfast.config.values import LOG_FORMATS, LOG_LEVELS
from holdfast.errors import HoldfastError, UsageError

if TYPE_CHECKING:
    from holdfast.bridges.rabbitmq import RabbitMq

LOGGER: Final = logging.getLogger("holdfast.cli")
_F = TypeVar("_F", bound=Callable[..., Any])


class Service(Protocol):
    """A worker, a relay or a dispatcher."""

    @property
    def id(self) -> str:
        """Under which name it is known to others."""
        ...

    def run(self) -> int:
        """Work until stopped; return 0 after a clean end."""
        ...


def log_options(command: _F) -> _F:
    """Give a command the options that say how it logs."""
    for option in (
        setting_option(
            "--log-format", metavar="|".join(LOG_FORMATS), help="How to log, to stderr."
        ),
        setting_option(
            "--log-level", metavar="|".join(LOG_LEVELS), help="What to log, from there up."
        ),
    ):
        command = option(command)
    return command


def give_options(
    invocation: Invocation,
    options: Mapping[str, str | None],
    *,
    called: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Take options as settings of their own names, or as those are `called`."""
    for name, value in options.items():
        invocation.give(called.get(name, name), f"--{name.replace('_', '-')}", value)
    if invocation.as_json:
        invocation.give("log_format", "--json", "json")


def broker_of(invocation: Invocation, who: str) -> str:
    """Return the URL of the broker, or raise that none is given."""
    url = invocation.settings.broker_url
    if url is None:
        raise UsageError(
            f"a {who} needs a broker; name it with --broker-url, or set HOLDFAST_BROKER_URL"
        )
    return url


def transport_of(url: str, *, exchange: str, reply_to: str | None = None) -> RabbitMq:
    """Return what carries messages to a broker, or raise that it is not installed."""
    try:
        from holdfast.bridges.rabbitmq import RabbitMq  # noqa: PLC0415 - an extra brings it
    except ModuleNotFoundError as error:
        raise UsageError("RabbitMQ takes an extra: pip install 'holdfast[rabbitmq]'") from error
    return RabbitMq(url, exchange=exchange, reply_to=reply_to)


def on_hangup(invocation: Invocation, stop: Callable[[], None]) -> None:
    """Read the log level again; what runs on a terminal that is gone ends instead."""
    from holdfast.config import logs  # noqa: PLC0415 - configured by now

    if sys.stdin.isatty():
        stop()
        return
    try:
        level = invocation.read_settings().log_level
    except HoldfastError as error:
        LOGGER.warning("the log level stays as it is: %s", error)
        return
    logs.set_level(level)
    LOGGER.info("log level read again", extra={"event": "log_level", "log_level": level})


def run_service(invocation: Invocation, kind: str, service: Service) -> int:
    """Run it to its end, say how that was, and return the exit status."""
    status = service.run()
    if invocation.as_json:
        invocation.output.document({kind: service.id, "clean": status == 0})
    return status
