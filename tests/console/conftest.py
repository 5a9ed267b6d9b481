from collections.abc import Iterator

import pytest

from tests.console.site import Site


@pytest.fixture
def site(database_url: str) -> Iterator[Site]:
    """A console, once on each database."""
    made = Site(database_url)
    yield made
    made.close()


@pytest.fixture
def small_site(sqlite_url: str) -> Iterator[Site]:
    """The same on SQLite alone, for what no database has a part in."""
    made = Site(sqlite_url)
    yield made
    made.close()
