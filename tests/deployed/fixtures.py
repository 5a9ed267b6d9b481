"""Sites of a system for tests: one for a module, or one for each test.

A suite says how its sites are made by a fixture `site_maker`, and takes these into its conftest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from tests.deployed.process import Process


class Site(Protocol):
    """A database and what is around it, on which processes can be started."""

    def start(self, *arguments: str, **knobs: str) -> Process: ...


SiteMaker = Callable[[Path, str, Mapping[str, str]], AbstractContextManager[Site]]
"""Makes a site in a folder, on a database, with knobs of its own."""


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def shared_database_url(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The URL of a database for the tests of a module, once for each dialect."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('database') / 'shared.db'}"
        return
    databases = request.getfixturevalue("reused_databases")
    url = databases.lend()
    yield url
    databases.take_back(url)


@pytest.fixture(scope="module")
def site(
    request: pytest.FixtureRequest,
    site_maker: SiteMaker,
    shared_database_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    """The site of a module, with the module's `KNOBS` and one process with its `ARGUMENTS`."""
    knobs = getattr(request.module, "KNOBS", {})
    arguments = getattr(request.module, "ARGUMENTS", ())
    with site_maker(tmp_path_factory.mktemp("site"), shared_database_url, knobs) as made:
        made.start(*arguments)
        yield made


@pytest.fixture
def site_with(
    site_maker: SiteMaker, database_url: str, tmp_path: Path
) -> Iterator[Callable[..., Site]]:
    """Makes a site of a test's own with these knobs, and one process."""
    with ExitStack() as closing:

        def make(**knobs: str) -> Site:
            made = closing.enter_context(site_maker(tmp_path, database_url, knobs))
            made.start()
            return made

        yield make
