from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.crash.fleet", "tests.crash.verdict")

from tests.crash.fleet import Fleet  # noqa: E402 - after its assertions were made to explain
from tests.crash.postbox import Postbox  # noqa: E402 - as above

FLEETS = ("fleet", "newcomers", "postgres_fleet", "sqlite_fleet", "relays", "consumers")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Let a failing test tell what its workers said and what their handlers did."""
    report = yield
    if report.when == "call" and report.failed:
        for name in FLEETS:
            if name in item.funcargs:
                report.sections.append(("what the workers did", item.funcargs[name].story()))
    return report


@pytest.fixture
def postbox(tmp_path: Path) -> Iterator[Postbox]:
    """A provider whose ledger outlives every worker."""
    made = Postbox(tmp_path)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def fleet(database_url: str, tmp_path: Path) -> Iterator[Fleet]:
    """Workers on a fresh database, once for each dialect; all are ended with the test."""
    made = Fleet(database_url, folder=tmp_path)
    try:
        yield made
    finally:
        made.end()


@pytest.fixture
def newcomers(empty_database_url: str, tmp_path: Path) -> Iterator[Fleet]:
    """Workers on a database that nobody has migrated, once for each dialect."""
    made = Fleet(empty_database_url, folder=tmp_path)
    try:
        yield made
    finally:
        made.end()


@pytest.fixture
def postgres_fleet(postgres_url: str, tmp_path: Path) -> Iterator[Fleet]:
    """Workers on a fresh PostgreSQL database."""
    made = Fleet(postgres_url, folder=tmp_path)
    try:
        yield made
    finally:
        made.end()


@pytest.fixture
def sqlite_fleet(sqlite_url: str, tmp_path: Path) -> Iterator[Fleet]:
    """Workers on a fresh SQLite database."""
    made = Fleet(sqlite_url, folder=tmp_path)
    try:
        yield made
    finally:
        made.end()
