"""The exchange and the queues between main and graders."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from grading.config import GradingConfig
from grading.messages.contract import CALLBACK, REQUEST
from holdfast.bridges.rabbitmq import Queue, RabbitMq

DELIVERY_LIMIT: Final = 5
REQUEST_DEAD: Final = "grading.request.dead"
CALLBACK_DEAD: Final = "grading.callback.dead"


class Topology(NamedTuple):
    """Where messages go, and how that is declared."""

    url: str
    exchange: str
    exchange_type: str
    declares: bool

    @classmethod
    def of(cls, config: GradingConfig) -> Topology:
        """Return the topology of a configuration with a broker."""
        if config.broker_url is None:
            raise ValueError("there is no broker: set AMQP_URL")
        return cls(
            config.broker_url, config.exchange, config.exchange_type, config.declares_topology
        )

    def transport(self) -> RabbitMq:
        """Return what publishes; all queues are declared with the exchange."""
        return RabbitMq(self.url, queues=QUEUES, source="/grading", **self.terms)

    @property
    def terms(self) -> dict[str, Any]:
        """What publishers and consumers have in common."""
        return {
            "exchange": self.exchange,
        }


REQUESTS: Final = Queue(
    name=REQUEST, types=(REQUEST,), delivery_limit=DELIVERY_LIMIT, dead_letters=REQUEST_DEAD
)
CALLBACKS: Final = Queue(
    name=CALLBACK, types=(CALLBACK,), delivery_limit=DELIVERY_LIMIT, dead_letters=CALLBACK_DEAD
)
QUEUES: Final = (REQUESTS, CALLBACKS)
