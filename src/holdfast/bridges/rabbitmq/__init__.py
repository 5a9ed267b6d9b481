"""RabbitMQ: publishes what relays lease, and consumes."""

from holdfast.bridges.rabbitmq.publisher import RabbitMq
from holdfast.bridges.rabbitmq.topology import Binding, ExchangeType, Queue

__all__ = ["Binding", "ExchangeType", "Queue", "RabbitMq"]
