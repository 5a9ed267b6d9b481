from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from apps.criticizer.tests.acceptance.running import Site, made_site


@pytest.fixture
def site_with(database_url: str, tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Makes a site of a test's own with these knobs, and one process."""
    with ExitStack() as closing:

        def make(**knobs: str) -> Site:
            made = closing.enter_context(made_site(tmp_path, database_url, knobs))
            made.start()
            return made

        yield make


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def shared_database_url(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The URL of a database for the tests of a module, once for each dialect."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('database') / 'criticizer.db'}"
        return
    databases = request.getfixturevalue("reused_databases")
    url = databases.lend()
    yield url
    databases.take_back(url)


@pytest.fixture(scope="module")
def site(
    request: pytest.FixtureRequest,
    shared_database_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    """The site of a module, with the module's `KNOBS` and one process."""
    knobs = getattr(request.module, "KNOBS", {})
    with made_site(tmp_path_factory.mktemp("site"), shared_database_url, knobs) as made:
        made.start()
        yield made
