"""What messages of the outbox are published through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from holdfast.core.values.outbox import NotTaken, OutboxMessage, Publication


class Transport(Protocol):
    """Takes messages for others: a broker, a log, a queue service.

    It is used by one thread at a time, decides nothing and keeps nothing: what it was handed and
    has not confirmed is handed to it again, under the same id.
    """

    name: str

    def ready(self) -> NotTaken | None:
        """Connect where that is needed; return why nothing can be published now, or None.

        It takes a bounded time. What a person has to repair first, such as a queue that is made
        otherwise, is raised as a `UsageError`.
        """
        ...

    def publish(
        self, runs: Sequence[Sequence[OutboxMessage]], *, timeout_s: float
    ) -> Mapping[str, Publication]:
        """Publish messages and return what became of each, by its id, within about `timeout_s`.

        The messages of one run go one after the other, each once the one before it is confirmed;
        behind one that was not taken nothing of its run is sent. Runs go side by side. A message
        that was not handed over is left out, or `Untried`, or `Postponed` to an instant.
        """
        ...

    def close(self) -> None:
        """Give everything back; what is under way may be published, and counts as unconfirmed."""
        ...
