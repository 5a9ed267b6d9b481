"""RabbitMQ for the tests: one broker for the whole run, and one of its own for who hurts it.

Under xdist the controller launches the broker and tells the workers its URL, without waiting: the
first test that needs it does. Without xdist it starts when the first test asks for it.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest

from holdfast.errors import UnavailableError
from holdfast.testing.rabbitmq.server import URL_VARIABLE, PrivateRabbitmq, wait_until_ready
from tests.plugins.postgres import missing_server
from tests.plugins.servers import NOT_ALLOWED, runs_without_servers

CONSUMER_TIMEOUT_S = 5
"""After which the hurt broker takes a delivery back that nobody has settled."""


@dataclass(frozen=True)
class SharedBroker:
    """The broker of this run, or why there is none."""

    url: str = ""
    missing: str = ""


@dataclass
class _BrokerOfThisRun:
    allowed: bool
    cleanup: ExitStack = field(default_factory=ExitStack)
    broker: SharedBroker | None = None

    def get(self) -> SharedBroker:
        if self.broker is None:
            self.broker = self._provide()
        return self.broker

    def _provide(self) -> SharedBroker:
        if not self.allowed:
            return SharedBroker(missing=NOT_ALLOWED)
        given = os.environ.get(URL_VARIABLE)
        if given:
            return SharedBroker(url=given)
        try:
            private = PrivateRabbitmq()
        except UnavailableError as error:
            return SharedBroker(missing=str(error))
        self.cleanup.callback(private.close)
        private.launch()
        return SharedBroker(url=private.url)


_BROKER = pytest.StashKey[_BrokerOfThisRun]()
_WORKER_INPUT = "holdfast_rabbitmq"


def pytest_configure(config: pytest.Config) -> None:
    owned = config.stash[_BROKER] = _BrokerOfThisRun(not runs_without_servers(config))
    told = getattr(config, "workerinput", {}).get(_WORKER_INPUT)
    if told is not None:
        owned.broker = SharedBroker(**told)


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_BROKER].cleanup.close()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:
    """Called by xdist in the controller, before it starts a worker."""
    node.workerinput[_WORKER_INPUT] = vars(node.config.stash[_BROKER].get())


@pytest.fixture(scope="session")
def amqp_url(pytestconfig: pytest.Config) -> str:
    """The URL of the broker that all tests share; names on it must be a test's own."""
    broker = pytestconfig.stash[_BROKER].get()
    if broker.missing:
        missing_server(broker.missing)
    try:
        wait_until_ready(broker.url)
    except UnavailableError as error:
        missing_server(str(error))
    return broker.url


@pytest.fixture(scope="session")
def _broker_to_hurt() -> Iterator[PrivateRabbitmq]:
    try:
        broker = PrivateRabbitmq(
            settings={"consumer_timeout": CONSUMER_TIMEOUT_S * 1000},
            variables={"channel_tick_interval": 500},
        )
    except UnavailableError as error:
        missing_server(str(error))
    with broker:
        yield broker


@pytest.fixture
def rabbitmq_server(_broker_to_hurt: PrivateRabbitmq) -> Iterator[PrivateRabbitmq]:
    """A broker that no other process uses, to stop, kill, block and start again.

    It is the same one for all such tests of a process, because a start takes many seconds.
    """
    _broker_to_hurt.start()
    yield _broker_to_hurt
    _broker_to_hurt.start()
