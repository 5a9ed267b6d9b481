"""PgBouncer for the tests: one for each worker of the run, in front of the shared PostgreSQL."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from holdfast.errors import UnavailableError
from holdfast.testing.postgres.pgbouncer import PrivatePgbouncer
from tests.plugins.postgres import SharedServer, missing_server

POOL_SIZE = 4
"""Enough for tests in which several transactions wait for each other, and few."""


@pytest.fixture(scope="session")
def pgbouncer(shared_postgres: SharedServer) -> Iterator[PrivatePgbouncer]:
    """A pooler in transaction mode, which all tests of a worker share."""
    with ExitStack() as stack:
        try:
            pooler = PrivatePgbouncer(shared_postgres.url, pool_size=POOL_SIZE)
            stack.enter_context(pooler)
        except UnavailableError as error:
            missing_server(str(error))
        yield pooler


@pytest.fixture
def pgbouncer_url(pgbouncer: PrivatePgbouncer, postgres_url: str) -> Iterator[str]:
    """The database of `postgres_url`, through a pooler in transaction mode."""
    yield pgbouncer.url_of(postgres_url)
    pgbouncer.forget(postgres_url)
