import logging
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


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """Put logging back: commands that a test runs in this process set it up for themselves."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
