"""The outbox: messages for a broker, and trying one again."""

from __future__ import annotations

from typing import Final, NamedTuple

from starlette.responses import Response

from holdfast.console.rendering.filters import short_id
from holdfast.console.rendering.rendering import ACT_ON_ALL, LOOK_AT_ALL, Console
from holdfast.console.requests.ask import Ask, Done
from holdfast.console.requests.tabs import tabs
from holdfast.console.requests.visit import Visit
from holdfast.core.values.outbox import OutboxMessage, OutboxStatus
from holdfast.errors import InvalidValue, UsageError
from holdfast.store.tables.outbox import OutboxFilter

PAGE: Final = 50
_STATES: Final = (
    ("All", None),
    *((status.value.capitalize(), status.value) for status in OutboxStatus),
)


def add_to(console: Console) -> None:
    """Route to the list and to trying again."""
    console.page("/outbox", LOOK_AT_ALL, lambda visit: outbox(console, visit))
    console.action("/outbox/{message_id}/retry", ACT_ON_ALL, RetryMessage(console))


def outbox(console: Console, visit: Visit) -> Response:
    """Return matching messages, newest first, and how many wait."""
    engine, trouble = console.engine, None
    found: list[OutboxMessage] = []
    status = visit.asked("status")
    try:
        wanted = OutboxFilter(status=None if status is None else _status(status))
        found = engine.outbox.find(wanted, before=visit.asked("before"), limit=PAGE + 1)
    except UsageError as error:
        trouble = str(error)
    shown = found[:PAGE]
    return console.render(
        visit,
        "outbox.html",
        screen="outbox",
        status=200 if trouble is None else 422,
        messages=shown,
        standing=engine.outbox.standing(),
        filtered=status is not None,
        tabs=tabs(visit, "status", _STATES),
        next_href=visit.href(before=shown[-1].id) if len(found) > PAGE else None,
        first_href=visit.href(before=None) if visit.asked("before") else None,
        trouble=trouble,
    )


class RetryMessage(NamedTuple):
    """Have a message tried now."""

    console: Console

    def ask(self, visit: Visit) -> Ask:
        """Ask about the message as it stands."""
        message = self.console.engine.outbox.get(visit.part("message_id"))
        return Ask(
            title=f"Try message {short_id(message.id)} now?",
            sentences=[
                f"It is {message.status.value}, of type {message.message_type}.",
                f"It was tried in vain {message.retry_count} times.",
                "A relay publishes it as soon as it can, with a new budget.",
            ],
            touches="This touches 1 message.",
            verb="Try it now",
            back="/outbox",
        )

    def do(self, visit: Visit) -> Done:
        """Make it due, unless it is published or being sent."""
        self.console.engine.outbox.retry(
            visit.part("message_id"), by=visit.who.name, reason=visit.reason()
        )
        return Done("/outbox", "message-retried")


def _status(text: str) -> OutboxStatus:
    try:
        return OutboxStatus(text)
    except ValueError:
        known = ", ".join(OutboxStatus)
        raise InvalidValue("outbox", field="status", value=text, limit=f"one of {known}") from None
