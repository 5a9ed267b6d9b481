"""The store through a pooler in transaction mode, with few connections of the server."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from holdfast.store.contract import Store
from holdfast.store.postgres.store import PostgresStore
from holdfast.testing.conformance import StoreConformance


@pytest.fixture
def store_url(pgbouncer_url: str) -> str:
    return pgbouncer_url


@pytest.fixture
def open_store(postgres_url: str) -> Iterator[Callable[[str], Store]]:
    """Opens stores that listen past the pooler, and closes them in the end."""
    with ExitStack() as opened:
        yield lambda url: opened.enter_context(closing(PostgresStore(url, direct_url=postgres_url)))


class TestStoreThroughPgbouncer(StoreConformance):
    @pytest.fixture
    def other_store(self, other_store: Store) -> Store:
        return other_store
