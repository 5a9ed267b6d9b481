from collections.abc import Iterator

import pytest

from tests.api.routes.operating.desk import Desk


@pytest.fixture
def desk(database_url: str) -> Iterator[Desk]:
    made = Desk(database_url)
    yield made
    made.close()


@pytest.fixture
def sqlite_desk(sqlite_url: str) -> Iterator[Desk]:
    """For what never reaches a store."""
    made = Desk(sqlite_url)
    yield made
    made.close()
