"""The exchange and the queues between main and graders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from grading.config import GradingConfig
from grading.messages.contract import CALLBACK, DLQ, REQUEST
from holdfast.bridges.rabbitmq import Queue, RabbitMq
from holdfast.errors import UsageError

DELIVERY_LIMIT: Final = 5
CELERY: Final = "holdfast"
"""The exchange by which due stages are announced to a Celery fleet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """Where messages go, and how that is declared.

    What the broker dead-letters by itself goes to `grading.request.dead` and
    `grading.callback.dead`; records that this system makes stay in `grading.dlq`.
    """

    url: str
    exchange: str
    exchange_type: str
    declares: bool
    prefix: str = ""
    """Stands before the names of all queues, where several installations share a broker."""

    @classmethod
    def of(cls, config: GradingConfig) -> Topology:
        """Return the topology of a configuration, or raise `UsageError` without a broker."""
        if config.broker_url is None:
            raise UsageError("there is no broker; set AMQP_URL")
        return cls(
            url=config.broker_url,
            exchange=config.exchange,
            exchange_type=config.exchange_type,
            declares=config.declares_topology,
            prefix=config.queue_prefix,
        )

    @property
    def requests(self) -> Queue:
        """The queue of requests."""
        return Queue(
            name=f"{self.prefix}{REQUEST}", types=(REQUEST,), delivery_limit=DELIVERY_LIMIT
        )

    @property
    def callbacks(self) -> Queue:
        """The queue of callbacks."""
        return Queue(
            name=f"{self.prefix}{CALLBACK}", types=(CALLBACK,), delivery_limit=DELIVERY_LIMIT
        )

    @property
    def records(self) -> Queue:
        """The queue of dead-letter records, for people and programs to look at."""
        return Queue(name=f"{self.prefix}{DLQ}", types=(DLQ,), delivery_limit=None)

    @property
    def celery_exchange(self) -> str:
        """The exchange of the fleet; its queue is this name, a dot and `grading`."""
        return f"{self.prefix}{CELERY}"

    @property
    def terms(self) -> dict[str, Any]:
        """What publishers and consumers have in common."""
        return {
            "exchange": self.exchange,
            "exchange_type": self.exchange_type,
            "declare": self.declares,
        }

    def transport(self) -> RabbitMq:
        """Return what publishes; all queues are declared with the exchange."""
        queues = (self.requests, self.callbacks, self.records)
        return RabbitMq(self.url, queues=queues, source="/grading", **self.terms)
