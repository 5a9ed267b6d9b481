"""What deliveries are sent through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from holdfast.core.promise import Promise


class Evidence(NamedTuple):
    """What a provider says about a message it has accepted."""

    notification_id: str | None
    """Its own id for the message, where it gives one."""


class Provider(Protocol):
    """Takes messages for recipients: an e-mail service, a mail server, a webhook.

    One call is one request: whatever a client library would repeat by itself is switched off, so
    that attempts are counted once. What is raised is classified like the exceptions of handlers;
    `outcome_known` of the failure says whether the message may have been accepted all the same.
    """

    name: str
    promise: Promise

    def send(self, message: Mapping[str, Any], *, token: str, timeout_s: float) -> Evidence:
        """Hand a frozen message over; `token` is the same for every try of one delivery.

        `message` is what was to be told, with the recipient under `to`. `timeout_s` is for the
        call as a whole.
        """
        ...

    def lookup(
        self, *, token: str, notification_id: str | None, timeout_s: float
    ) -> Evidence | None:
        """Return what the provider knows of an earlier `send`, or None when it knows nothing.

        Called only where the promise says that it can look up.
        """
        ...
