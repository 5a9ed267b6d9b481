"""Fleets of Celery's on both databases, and on what a test may take away from them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.testing.rabbitmq.server import PrivateRabbitmq
from holdfast.testing.servers.proxy import PostgresProxy
from tests.crash.celery_fleet import CeleryFleet


@pytest.fixture
def fleet(database_url: str, amqp_url: str, tmp_path: Path) -> Iterator[CeleryFleet]:
    made = CeleryFleet(database_url, broker_url=amqp_url, folder=tmp_path)
    try:
        yield made
    finally:
        made.end()


@pytest.fixture
def postgres_fleet(postgres_url: str, amqp_url: str, tmp_path: Path) -> Iterator[CeleryFleet]:
    made = CeleryFleet(postgres_url, broker_url=amqp_url, folder=tmp_path)
    try:
        yield made
    finally:
        made.end()


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[PostgresProxy]:
    with PostgresProxy(postgres_url) as made:
        yield made


@pytest.fixture
def cut_fleet(proxy: PostgresProxy, amqp_url: str, tmp_path: Path) -> Iterator[CeleryFleet]:
    """A fleet whose way to the database is a proxy."""
    made = CeleryFleet(proxy.url, broker_url=amqp_url, folder=tmp_path)
    try:
        yield made
    finally:
        proxy.pass_through()
        made.end()


@pytest.fixture
def hurt_fleet(
    postgres_url: str, rabbitmq_server: PrivateRabbitmq, tmp_path: Path
) -> Iterator[CeleryFleet]:
    """A fleet on a broker of its own, which takes deliveries back after five seconds."""
    made = CeleryFleet(postgres_url, broker_url=rabbitmq_server.url, folder=tmp_path, hold_s=2.0)
    try:
        yield made
    finally:
        rabbitmq_server.start()
        made.end()
